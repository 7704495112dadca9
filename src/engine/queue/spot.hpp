#pragma once
// Where jobs start, as queues see it.

#include <compare>
#include <optional>

#include "model/geometry.hpp"
#include "model/ids.hpp"

namespace cleave {

/// An instance, there or to be made; without a placement the whole GPU with MIG off.
struct Spot {
  GpuId gpu{};
  std::optional<PlacementId> placement;
  friend auto operator<=>(const Spot&, const Spot&) = default;
};

/// Spots of one GPU.
struct Room {
  bool whole = false;
  PlacementSet placements;
  PlacementSet theirs;  // what stands there and is not ours
  [[nodiscard]] bool empty() const { return !whole && placements.empty(); }
};

/// Whether both cannot be in use at a time; of one GPU.
[[nodiscard]] inline bool in_each_others_way(const Geometry& geometry, std::optional<PlacementId> a,
                                             std::optional<PlacementId> b) {
  return !a || !b || *a == *b || geometry[*a].conflicts.contains(*b);
}

}  // namespace cleave
