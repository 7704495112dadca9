#pragma once
// Compaction of a running fleet by the planner (*Optimal Workload Placement*, 2.3.2 and 4.2): which
// jobs move so that GPUs become empty. Carried out by `online` every so often.

#include <span>
#include <vector>

#include "placement/fleet.hpp"

namespace cleave {

/// One job moves, replica first. Moves are in the order of the plan's waves.
struct CompactionMove {
  GpuId from{};
  PlacementId from_placement = 0;
  GpuId to{};
  PlacementId to_placement = 0;
};

/// The moves of the planner's rules, at most `most`; `fixed` is held by what may not move, by GPU.
/// None where no GPU would become empty, where fragmentation would be higher in the sum of all
/// GPUs, or where a place would have to be used twice. Jobs stay on GPUs of their model: profiles
/// of one name differ in memory and speed between models.
[[nodiscard]] std::vector<CompactionMove> plan_compaction(const Fleet& fleet,
                                                          std::span<const PlacementSet> fixed,
                                                          std::size_t most);

}  // namespace cleave
