#include "nvmlsim/energy.hpp"

#include <time.h>

#include <algorithm>
#include <array>

#include "base/random.hpp"
#include "nvmlsim/gpu_rules.hpp"
#include "nvmlsim/monitors_abi.hpp"
#include "physics/power.hpp"

namespace cleave::sim {

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

PowerLimits power_limits(const Board& board) {
  const GpuPower& power = gpu_power(*board.model);
  return {in_watts(power.cap), in_watts(power.idle)};
}

namespace {

/// The highest clock that the settings allow.
std::uint32_t allowed_mhz(const Board& board, const GpuSettings& settings) {
  std::uint32_t most = board.row.sm_mhz;
  if (settings.sm_target_mhz != 0) most = std::min(most, settings.sm_target_mhz);
  if (settings.sm_most_mhz != 0) most = std::min(board.row.sm_mhz, settings.sm_most_mhz);
  return most;
}

/// What the processes draw. Work at a lower clock asks for less in proportion, and a lower power
/// limit lowers the clock as physics/power.hpp has it.
PowerSplit split_of(const Board& board, const GpuRecord& record) {
  const double kappa = static_cast<double>(allowed_mhz(board, record.settings)) / board.row.sm_mhz;
  // The loads of all compute instances, and last that of the whole GPU. How much open contexts
  // raise the idle part and how heavy the work is are unknown: both factors are 1.
  std::array<InstanceLoad, instance_slots + 1> loads{};
  for (std::size_t slot = 0; slot < loads.size(); ++slot) {
    const double slices =
        slot == instance_slots ? board.model->compute.value : record.compute_instances[slot].slices;
    loads[slot] = {slices / board.model->compute.value, 0, kappa};
  }
  for (std::uint32_t i = 0; i < std::min(record.process_count, most_processes); ++i) {
    const ProcessRecord& process = record.processes[i];
    loads[find_compute_instance(record, process.compute).value_or(instance_slots)].busy +=
        process.busy;
  }
  PowerOptions options;
  if (record.settings.power_limit_mw != 0) options.cap = Milliwatts{record.settings.power_limit_mw};
  return power_of(*board.model, loads, options);
}

}  // namespace

double draw_watts(const Board& board, const GpuRecord& record) {
  return in_watts(split_of(board, record).total);
}

double shown_watts(const GpuRecord& record, const Uuid& gpu, std::int64_t at) {
  constexpr double most_of_mean = 0.005;
  const auto window = static_cast<std::uint64_t>(std::max<std::int64_t>(at, 0) / jitter_ns);
  const std::uint64_t bits = mixed_bits(gpu.low ^ mixed_bits(window / 2));
  const double size = most_of_mean * static_cast<double>(bits >> 11U) * 0x1p-53;
  return record.power_w * (window % 2 == 0 ? 1 + size : 1 - size);
}

// Invented: the highest clock that is allowed while anything runs, else a quarter of the highest.
ClockState sm_clock(const Board& board, const GpuRecord& record) {
  const GpuSettings& settings = record.settings;
  const std::uint32_t most = allowed_mhz(board, settings);
  const std::uint32_t least = std::min(most, settings.sm_least_mhz);
  const bool set = most < board.row.sm_mhz;
  if (record.process_count == 0)
    return {std::clamp(board.row.sm_mhz / 4, least, most), nvml::clocks_idle};
  const PowerSplit split = split_of(board, record);
  const auto capped = static_cast<std::uint32_t>(split.clock * most);
  return {split.capped ? capped : most,
          (set ? nvml::clocks_set : 0) | (split.capped ? nvml::clocks_power_cap : 0)};
}

namespace {

/// Seconds since the record was changed. After a reboot the clock restarts, and `since_ns` lies in
/// the future.
double unaccounted(const GpuRecord& record, std::int64_t now) {
  return static_cast<double>(now - std::clamp<std::int64_t>(record.since_ns, 0, now)) * 1e-9;
}

}  // namespace

double energy_joules(const GpuRecord& record, std::int64_t now) {
  return record.energy_j + record.power_w * unaccounted(record, now);
}

double busy_seconds(const Board& board, const GpuRecord& record, std::optional<std::size_t> slot,
                    std::int64_t now) {
  const double before = slot ? record.gpu_instances[*slot].busy_s : record.busy_s;
  const double share = slot ? busy_share(board, record, *slot) : busy_share(board, record);
  return before + share * unaccounted(record, now);
}

void account_before(const Board& board, GpuRecord& record, std::int64_t now) {
  record.busy_s = busy_seconds(board, record, std::nullopt, now);
  for (std::size_t slot = 0; slot < instance_slots; ++slot)
    if (GpuInstanceRecord& instance = record.gpu_instances[slot]; instance.serial != 0)
      instance.busy_s = busy_seconds(board, record, slot, now);
  record.energy_j = energy_joules(record, now);
  record.since_ns = now;
}

void account_after(const Board& board, GpuRecord& record) {
  record.power_w = draw_watts(board, record);
}

}  // namespace cleave::sim
