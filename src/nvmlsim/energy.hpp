#pragma once
// Power and energy of a simulated GPU. Power depends on how busy its processes keep it and is
// constant between two changes of its record, so energy is power times time, added up at each
// change.

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

double draw_watts(const Board& board, const GpuRecord& record);
/// The energy used until `now`.
double energy_joules(const GpuRecord& record, std::int64_t now);

/// Call these before and after changing a record.
void account_before(GpuRecord& record, std::int64_t now);
void account_after(const Board& board, GpuRecord& record);

}  // namespace cleave::sim
