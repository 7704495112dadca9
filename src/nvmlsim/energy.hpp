#pragma once
// Power, energy and busy time of a simulated GPU. How busy its processes keep it, and so its power,
// are constant between two changes of its record; energy and busy time are added up at each change.

#include "nvmlsim/board.hpp"
#include "nvmlsim/state.hpp"

namespace cleave::sim {

/// Nanoseconds since boot, the same for all processes.
std::int64_t now_ns();

/// The range of a board's power.
struct PowerLimits {
  double cap_w, idle_w;
};
PowerLimits power_limits(const Board& board);

/// The clock of the processors, and why it is not the highest: bits of NVML's.
struct ClockState {
  std::uint32_t mhz;
  std::uint64_t reasons;
};
ClockState sm_clock(const Board& board, const GpuRecord& record);

/// The mean power, on which energy is counted.
double draw_watts(const Board& board, const GpuRecord& record);
/// What a sensor shows at `at`: within half a percent of the mean, and the mean itself over two
/// windows of `jitter_ns`. The same for all programs.
double shown_watts(const GpuRecord& record, const Uuid& gpu, std::int64_t at);
inline constexpr std::int64_t jitter_ns = 100'000'000;
/// The energy used until `now`.
double energy_joules(const GpuRecord& record, std::int64_t now);

/// How long it has been busy until `now`: the GPU instance of this slot, or the whole GPU. An hour
/// at half of its processors is half an hour.
double busy_seconds(const Board& board, const GpuRecord& record, std::optional<std::size_t> slot,
                    std::int64_t now);

/// Call these before and after changing a record.
void account_before(const Board& board, GpuRecord& record, std::int64_t now);
void account_after(const Board& board, GpuRecord& record);

}  // namespace cleave::sim
