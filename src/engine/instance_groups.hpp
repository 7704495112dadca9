#pragma once
// The sizes of instances of a fleet, from small to large, for schedulers that choose among
// instances that are there. Instances of one size and GPU model are a group: what a job may run on
// is a list of groups.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/state_graph.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// All placements of one profile on one GPU model.
struct InstanceGroup {
  std::size_t kind;         // the GPU model, by its place among the fleet's
  int profile;              // index into the model's profiles
  PlacementSet placements;  // all of that profile
};

/// By the GB in the profile's name, compute slices, plain before special ones, then in the order of
/// the models. (Usable memory would be the better measure, but not everyone has published it.)
std::vector<InstanceGroup> instance_groups(
    const std::vector<std::shared_ptr<const StateGraph>>& graphs);

/// The groups whose instances hold the request, by place in `groups`, ascending: smallest first.
std::vector<std::uint16_t> groups_that_hold(const ResolvedRequest& request,
                                            std::span<const InstanceGroup> groups);

}  // namespace cleave
