#pragma once
// The rules of a GPU as counters that its devices share, so that the scheduler, which knows nothing
// of MIG, cannot allocate what cannot exist together. One for each memory slice, one for the
// compute slices, and one for each rule of the model that slices do not imply:
//
//   media          one instance with the spare media engines
//   media-engines  an instance with all of them takes the share of every other, but of those
//   without at-most-X      the limit on the number of profile X
//
// The law: a set of devices fits the counters if and only if the model allows it. The test walks
// every state of every model.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/geometry.hpp"

namespace cleave {

/// Names and amounts, in a fixed order.
using KubeCounters = std::vector<std::pair<std::string, std::int64_t>>;

/// What a GPU has.
[[nodiscard]] KubeCounters counters_of(const Geometry& geometry);
/// What an instance there takes of it.
[[nodiscard]] KubeCounters consumed_by(const Geometry& geometry, PlacementId placement);

}  // namespace cleave
