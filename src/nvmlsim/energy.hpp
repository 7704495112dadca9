#pragma once
// Power and energy of a simulated GPU. Power follows from how busy its processes keep it and stays
// the same between two changes of its record, so energy is power times time, added up at each
// change.

#include "nvmlsim/board.hpp"
#include "nvmlsim/state.hpp"

namespace cleave::sim {

/// Nanoseconds since boot, the same for all processes.
std::int64_t now_ns();

struct PowerLimits {
  double cap_w, idle_w;
};
PowerLimits power_limits(const Board& board);

double draw_watts(const Board& board, const GpuRecord& record);
/// Until `now`.
double energy_joules(const GpuRecord& record, std::int64_t now);

/// To be called before a record is changed, and after.
void account_before(GpuRecord& record, std::int64_t now);
void account_after(const Board& board, GpuRecord& record);

}  // namespace cleave::sim
