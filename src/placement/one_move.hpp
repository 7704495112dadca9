#pragma once
// When a request fits by size and not by position: the cheapest single move that makes room for it.
// The instance that moves goes to a place that is free while it still runs (replica first), on the
// same GPU or another of its model.

#include <functional>
#include <optional>

#include "placement/fleet.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// A move, and the place for the request that it makes.
struct OneMove {
  GpuId gpu;           // where the request then goes ...
  PlacementId placed;  // ... and at which placement
  PlacementId from;    // the instance on that GPU that moves
  GpuId to_gpu;
  PlacementId to;
};

/// Least memory to move, then lowest GPU, then the same GPU before another, then lowest target;
/// nullopt where no single move helps. `movable` is asked of held instances only.
std::optional<OneMove> one_move(const Fleet& fleet, const ResolvedRequest& request,
                                const std::function<bool(GpuId, PlacementId)>& movable);

}  // namespace cleave
