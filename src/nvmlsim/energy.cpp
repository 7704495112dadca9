#include "nvmlsim/energy.hpp"

#include <time.h>

#include <algorithm>
#include <array>

#include "nvmlsim/gpu_rules.hpp"
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

double draw_watts(const Board& board, const GpuRecord& record) {
  // The loads of all compute instances, and last that of the whole GPU. How much open contexts
  // raise the idle part and how heavy the work is are unknown; both factors are 1.
  std::array<InstanceLoad, instance_slots + 1> loads{};
  for (std::size_t slot = 0; slot < loads.size(); ++slot) {
    const double slices =
        slot == instance_slots ? board.model->compute.value : record.compute_instances[slot].slices;
    loads[slot] = {slices / board.model->compute.value, 0};
  }
  for (std::uint32_t i = 0; i < std::min(record.process_count, most_processes); ++i) {
    const ProcessRecord& process = record.processes[i];
    loads[find_compute_instance(record, process.compute).value_or(instance_slots)].busy +=
        process.busy;
  }
  return in_watts(power_of(*board.model, loads).total);
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
