#include "physics/power.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/model_table.hpp"

namespace cleave {

namespace {

constexpr Milliwatts watts(std::int64_t value) {
  return {1000 * value};
}
constexpr bool inferred = true, known = false;

/// The power of one model.
struct PowerRow {
  GpuModelId id;
  GpuPower power;
};

// "Captures" are printed screens of nvidia-smi in public text.
constexpr PowerRow power_rows[] = {
    {GpuModelId::a30_24gb,
     {watts(165), watts(30), "cap: Dyna-P, table 2; idle: five captures, 28 to 35 W", known,
      known}},
    {GpuModelId::a100_40gb,
     {watts(400), watts(50),
      "SXM4; two captures, 45 to 55 W idle, about 50 with MIG (the PCIe board: 250 W, 32 to 42)",
      known, known}},
    {GpuModelId::a100_80gb,
     {watts(400), watts(50),
      "SXM4; the cap of NVIDIA/DCGM issue 152; idle as the 40 GB board, captures of the PCIe board "
      "(300 W) say 43 to 62",
      known, inferred}},
    {GpuModelId::h100_80gb_sxm5,
     {watts(700), watts(70), "three captures, 68 to 75 W idle", known, known}},
    {GpuModelId::h100_80gb_pcie,
     {watts(350), watts(50),
      "cap: NVIDIA product brief PB-11133-001; idle as PCIe boards of its time", known, inferred}},
    {GpuModelId::h100_94gb_nvl,
     {watts(400), watts(60),
      "cap: NVIDIA's data sheet, 350 to 400 W by configuration; idle between the PCIe and the SXM5 "
      "board",
      known, inferred}},
    {GpuModelId::h100_96gb_gh200,
     {watts(700), watts(70), "cap: Taming GPU Underutilization, V-B1; idle as the H100 SXM5", known,
      inferred}},
    {GpuModelId::h20_96gb,
     {watts(400), watts(70),
      "as its family: the cap as published by sellers, idle as the H100 SXM5", inferred, inferred}},
    {GpuModelId::h200_141gb,
     {watts(700), watts(70),
      "cap: NVIDIA's data sheet, SXM5 (the NVL board: 600 W); idle as the H100 SXM5", known,
      inferred}},
    {GpuModelId::gh200_144gb,
     {watts(700), watts(70), "as the GH200 with 96 GB", inferred, inferred}},
    {GpuModelId::b200_180gb,
     {watts(1000), watts(100), "cap: NVIDIA's data sheet; idle a tenth of it, as the H100 SXM5",
      known, inferred}},
    {GpuModelId::gb200_186gb,
     {watts(1200), watts(120), "cap: NVIDIA's data sheet; idle a tenth of it, as the H100 SXM5",
      known, inferred}},
    {GpuModelId::b300_269gb,
     {watts(1100), watts(110), "as its family: the cap as published by sellers, idle a tenth of it",
      inferred, inferred}},
    {GpuModelId::gb300_278gb,
     {watts(1400), watts(140), "as its family: the cap as published by sellers, idle a tenth of it",
      inferred, inferred}},
    {GpuModelId::rtx_pro_6000_bw_96gb,
     {watts(600), watts(30),
      "cap: NVIDIA's data sheet (Max-Q: 300 W); idle as PCIe boards of Ampere", known, inferred}},
};
static_assert(has_every_model(power_rows));

/// What is assumed of a GPU that only its driver describes.
struct FamilyRow {
  Architecture architecture;
  GpuPower power;
};
constexpr FamilyRow families[] = {
    {Architecture::ampere,
     {watts(400), watts(50), "nothing is known: as the A100 SXM4", inferred, inferred}},
    {Architecture::hopper,
     {watts(700), watts(70), "nothing is known: as the H100 SXM5", inferred, inferred}},
    {Architecture::blackwell,
     {watts(1000), watts(100), "nothing is known: as the B200", inferred, inferred}},
    {Architecture::other,
     {watts(700), watts(70), "nothing is known, not even its family: as the H100 SXM5", inferred,
      inferred}},
};

/// `value` cut to between `least` and `most`; `least` for what is not a number.
double within(double value, double least, double most) {
  return value > least ? std::min(value, most) : least;
}

}  // namespace

const GpuPower& gpu_power(const GpuModel& model) {
  if (const PowerRow* row = row_of(power_rows, model.id)) return row->power;
  for (const FamilyRow& family : families)
    if (family.architecture == model.architecture) return family.power;
  return std::end(families)[-1].power;
}

PowerBounds power_bounds(const GpuModel& model, const PowerOptions& options) {
  const GpuPower& power = gpu_power(model);
  const double idle = static_cast<double>(power.idle.value) * within(options.idle_factor, 1, 2);
  PowerBounds bounds{power.cap, std::min(power.cap, Milliwatts{std::llround(idle)}), {}};
  bounds.span = power.cap - bounds.idle;
  if (options.cap)
    bounds.cap = std::clamp(*options.cap, std::min(bounds.cap, bounds.idle + watts(1)), bounds.cap);
  return bounds;
}

Milliwatts power_asked(const PowerBounds& bounds, const InstanceLoad& load) {
  // Rounded down, but for what arithmetic loses: shares that make up a GPU never pass its cap.
  constexpr double lost = 1e-6;
  return {static_cast<std::int64_t>(static_cast<double>(bounds.span.value) *
                                        within(load.kappa, 0, 100) * within(load.share, 0, 1) *
                                        within(load.busy, 0, 1) +
                                    lost)};
}

double divide_cap(const PowerBounds& bounds, double beta, std::span<Milliwatts> asked) {
  const auto room = static_cast<double>((bounds.cap - bounds.idle).value);
  double sum = 0;
  for (const Milliwatts each : asked) sum += static_cast<double>(each.value);
  if (sum <= room) return 1;
  const double scale = room / sum;
  // Round what the first k draw together and give each the difference: the parts then add up.
  double together = 0;
  Milliwatts given;
  for (Milliwatts& each : asked) {
    together += static_cast<double>(each.value);
    const Milliwatts until{std::llround(std::min(room, together * scale))};
    each = until - given;
    given = until;
  }
  return std::pow(scale, 1 / within(beta, least_beta, most_beta));
}

PowerSplit power_of(const GpuModel& model, std::span<const InstanceLoad> loads,
                    const PowerOptions& options) {
  const PowerBounds bounds = power_bounds(model, options);
  PowerSplit split;
  split.idle = bounds.idle;
  for (const InstanceLoad& load : loads) split.instances.push_back(power_asked(bounds, load));
  split.clock = divide_cap(bounds, options.beta, split.instances);
  split.capped = split.clock < 1;
  split.total = std::accumulate(split.instances.begin(), split.instances.end(), split.idle);
  return split;
}

}  // namespace cleave
