#pragma once
// What the controller writes down: devices whose place is kept for a pod while others are evicted,
// which the nodes read, and which owners' pods were evicted when. Both are in one ConfigMap, so
// that a controller that takes over goes on from there.

#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "kubecontrol/eviction_plan.hpp"
#include "kubenode/room_notes.hpp"

namespace cleave {

/// What it says.
struct ControlNotes {
  std::vector<KeptRoom> kept;
  EvictionHistory evicted;
};

/// What cannot be read is as good as not there.
[[nodiscard]] ControlNotes read_notes(const Json& config_map);
/// As data of the ConfigMap; evictions before `since` are forgotten.
[[nodiscard]] Json notes_data(const ControlNotes& notes, Instant since);

}  // namespace cleave
