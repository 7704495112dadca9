#include "nvmlsim/energy.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "nvmlsim/gpu_rules.hpp"

namespace cleave::sim {

namespace {

struct WattRow {
  std::string_view key;
  PowerLimits watts;
};
// Caps of data sheets; idle watts of printed `nvidia-smi` where there is one, else of the family.
constexpr WattRow watts[] = {
    {"A30-24GB", {165, 30}},        {"A100-40GB", {400, 50}},
    {"A100-80GB", {400, 50}},       {"H100-80GB-SXM5", {700, 70}},
    {"H100-80GB-PCIe", {350, 50}},  {"H100-94GB-NVL", {400, 70}},
    {"H100-96GB-GH200", {700, 70}}, {"H200-141GB", {700, 70}},
    {"B200-180GB", {1000, 140}},    {"RTX-PRO-6000-BW-96GB", {600, 40}},
};

}  // namespace

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

PowerLimits power_limits(const Board& board) {
  const auto* found = std::ranges::find(watts, board.model->key, &WattRow::key);
  return found == std::end(watts) ? PowerLimits{700, 70} : found->watts;
}

double draw_watts(const Board& board, const GpuRecord& record) {
  std::array<double, instance_slots + 1> busy{};  // of each compute instance, at the end of the whole GPU
  for (std::uint32_t i = 0; i < std::min(record.process_count, most_processes); ++i) {
    const ProcessRecord& process = record.processes[i];
    busy[find_compute_instance(record, process.compute).value_or(instance_slots)] += process.busy;
  }
  double share = 0;
  for (std::size_t slot = 0; slot < busy.size(); ++slot) {
    const double slices =
        slot == instance_slots ? board.model->compute.value : record.compute_instances[slot].slices;
    share += std::isfinite(busy[slot])
                 ? std::clamp(busy[slot], 0.0, 1.0) * std::min(1.0, slices / board.model->compute.value)
                 : 0;
  }
  const auto [cap, idle] = power_limits(board);
  return std::min(cap, idle + share * (cap - idle));
}

double energy_joules(const GpuRecord& record, std::int64_t now) {
  // The clock begins anew when the machine does, and then `since_ns` lies ahead.
  const auto time = static_cast<double>(now - std::clamp<std::int64_t>(record.since_ns, 0, now)) * 1e-9;
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
