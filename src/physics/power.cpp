#include "physics/power.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

namespace {

constexpr Milliwatts watts(std::int64_t value) {
  return {1000 * value};
}
constexpr bool inferred = true, known = false;

struct Row {
  std::string_view model;  // its key
  GpuPower power;
};

// clang-format off
constexpr Row rows[] = {
    // "captures" are printed screens of nvidia-smi in public text.
    {"A30-24GB", {watts(165), watts(30), "cap: Dyna-P, table 2; idle: five captures, 28 to 35 W", known, known}},
    {"A100-40GB", {watts(400), watts(50), "SXM4; two captures, 45 to 55 W idle, about 50 with MIG (the PCIe board: 250 W, 32 to 42)", known, known}},
    {"A100-80GB", {watts(400), watts(50), "SXM4; the cap of NVIDIA/DCGM issue 152; idle as the 40 GB board, captures of the PCIe board (300 W) say 43 to 62", known, inferred}},
    {"H100-80GB-SXM5", {watts(700), watts(70), "three captures, 68 to 75 W idle", known, known}},
    {"H100-80GB-PCIe", {watts(350), watts(50), "cap: NVIDIA product brief PB-11133-001; idle as PCIe boards of its time", known, inferred}},
    {"H100-94GB-NVL", {watts(400), watts(60), "cap: NVIDIA's data sheet, 350 to 400 W by configuration; idle between the PCIe and the SXM5 board", known, inferred}},
    {"H100-96GB-GH200", {watts(700), watts(70), "cap: Taming GPU Underutilization, V-B1; idle as the H100 SXM5", known, inferred}},
    {"H20-96GB", {watts(400), watts(70), "as its family: the cap as published by sellers, idle as the H100 SXM5", inferred, inferred}},
    {"H200-141GB", {watts(700), watts(70), "cap: NVIDIA's data sheet, SXM5 (the NVL board: 600 W); idle as the H100 SXM5", known, inferred}},
    {"GH200-144GB", {watts(700), watts(70), "as the GH200 with 96 GB", inferred, inferred}},
    {"B200-180GB", {watts(1000), watts(100), "cap: NVIDIA's data sheet; idle a tenth of it, as the H100 SXM5", known, inferred}},
    {"GB200-186GB", {watts(1200), watts(120), "cap: NVIDIA's data sheet; idle a tenth of it, as the H100 SXM5", known, inferred}},
    {"B300-269GB", {watts(1100), watts(110), "as its family: the cap as published by sellers, idle a tenth of it", inferred, inferred}},
    {"GB300-278GB", {watts(1400), watts(140), "as its family: the cap as published by sellers, idle a tenth of it", inferred, inferred}},
    {"RTX-PRO-6000-BW-96GB", {watts(600), watts(30), "cap: NVIDIA's data sheet (Max-Q: 300 W); idle as PCIe boards of Ampere", known, inferred}},
};

/// For models without a row, by architecture.
constexpr Row families[] = {
    {"Ampere", {watts(400), watts(50), "nothing is known: as the A100 SXM4", inferred, inferred}},
    {"Hopper", {watts(700), watts(70), "nothing is known: as the H100 SXM5", inferred, inferred}},
    {"Blackwell", {watts(1000), watts(100), "nothing is known: as the B200", inferred, inferred}},
    {"", {watts(700), watts(70), "nothing is known, not even its family: as the H100 SXM5", inferred, inferred}},
};
// clang-format on

/// Between `least` and `most`; what is no number is `least`.
double within(double value, double least, double most) {
  return value > least ? std::min(value, most) : least;
}

/// What the load draws of the span between idle and the cap.
double demand(const InstanceLoad& load) {
  return within(load.kappa, 0, 100) * within(load.share, 0, 1) * within(load.busy, 0, 1);
}

}  // namespace

const GpuPower& gpu_power(const GpuModel& model) {
  for (const Row& row : rows)
    if (row.model == model.key) return row.power;
  for (const Row& family : families)
    if (family.model == model.architecture) return family.power;
  return std::end(families)[-1].power;
}

double power_share(const GpuModel& model, const Profile& profile) {
  return static_cast<double>(profile.compute.value) / model.compute.value;
}

PowerSplit power_of(const GpuModel& model, std::span<const InstanceLoad> loads,
                    const PowerOptions& options) {
  const GpuPower& power = gpu_power(model);
  PowerSplit split;
  const double idle = static_cast<double>(power.idle.value) * within(options.idle_factor, 1, 2);
  split.idle = std::min(power.cap, Milliwatts{std::llround(idle)});
  const auto span = static_cast<double>((power.cap - split.idle).value);
  double sum = 0;
  for (const InstanceLoad& load : loads) sum += demand(load);
  split.capped = sum > 1;
  const double scale = split.capped ? 1 / sum : 1;
  if (split.capped) split.clock = std::pow(scale, 1 / within(options.beta, least_beta, most_beta));
  // What the first k draw together is rounded, and each gets the difference: nothing is lost by
  // rounding.
  double together = 0;
  Milliwatts given;
  for (const InstanceLoad& load : loads) {
    together += demand(load);
    const Milliwatts until{std::llround(span * std::min(1.0, together * scale))};
    split.instances.push_back(until - given);
    given = until;
  }
  split.total = split.idle + given;
  return split;
}

}  // namespace cleave
