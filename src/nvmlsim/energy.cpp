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

double energy_joules(const GpuRecord& record, std::int64_t now) {
  // After a reboot the clock restarts, and `since_ns` lies in the future.
  const auto time =
      static_cast<double>(now - std::clamp<std::int64_t>(record.since_ns, 0, now)) * 1e-9;
  return record.energy_j + record.power_w * time;
}

void account_before(GpuRecord& record, std::int64_t now) {
  record.energy_j = energy_joules(record, now);
  record.since_ns = now;
}

void account_after(const Board& board, GpuRecord& record) {
  record.power_w = draw_watts(board, record);
}

}  // namespace cleave::sim
