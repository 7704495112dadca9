#pragma once
// For several places at once, the spots in whose way the fewest memory slices of running jobs are:
// exactly, over all choices of spots that can be had together.

#include <functional>
#include <optional>
#include <vector>

#include "engine/queue/holders.hpp"
#include "placement/gang_room.hpp"

namespace cleave {

/// The best spots of one GPU for each number of places, from one on.
struct WaysOnGpu {
  struct Way {
    int in_the_way = 0, slices = 0;  // memory slices: of jobs, and the spots' own
    PlacementSet placements;         // none: the whole GPU
  };
  std::vector<Way> by_places;
};
[[nodiscard]] WaysOnGpu ways_on(const Holders& holders, const StateGraph& graph, GpuId gpu,
                                const Room& room);

/// How many places each part is to have, where `costs[part][n - 1]` is what n of them cost there,
/// and what that costs in all. Among equals the lower parts have more. Empty: there is no room.
struct PlacesByPart {
  std::int64_t cost = 0;
  std::vector<std::uint32_t> places;  // by part
};
[[nodiscard]] std::optional<PlacesByPart> distribute(const std::vector<std::vector<int>>& costs,
                                                     std::uint32_t places);

/// The spots on the fleet; `room` says which of a GPU there are. Empty: there is no room.
[[nodiscard]] std::optional<std::vector<Spot>> least_in_the_way(
    const Fleet& fleet, const Holders& holders, const FleetNodes& nodes, const Request& request,
    const std::function<Room(GpuId)>& room);

}  // namespace cleave
