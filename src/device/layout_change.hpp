#pragma once
// From the instances that stand on a GPU to a layout that somebody wants: which go, which come, in
// which order. Pure: nothing is tried on the GPU. The change has the fewest destroys, and with them
// the fewest creates, that lead there; of several ways to place what has no start, the one whose
// new instances stand where the driver likes them best. Every step is legal when it is taken, and a
// new instance is made as soon as what is in its way is gone, so that capacity is missing for a
// short time.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/geometry.hpp"

namespace cleave {

/// An instance that stands on the GPU.
struct StandingInstance {
  PlacementId placement = 0;
  bool ours = true;   // others stay whatever the goal says, and are part of what comes out
  bool busy = false;  // a process runs in it: it may stay but not go
  /// It has a compute instance. Ours without one is destroyed and made anew where the goal has it;
  /// one that is not ours cannot be part of the goal.
  bool usable = true;
  bool half_made = false;  // perhaps ours, for messages
  std::string name;        // for messages: "MIG-..." or "GPU instance 3"
  std::string take_over;   // for messages: the command that destroys it though it is not ours
};

/// One instance of the goal: at this start, or where there is room.
struct WantedInstance {
  const Profile* profile;
  std::optional<int> start;
};

/// "4g.20gb@0,2g.10gb@4", "3g.20gb,3g.20gb" or mixed; empty for the empty GPU.
[[nodiscard]] Result<std::vector<WantedInstance>> parse_wanted_layout(std::string_view text,
                                                                      const Geometry& geometry);

struct LayoutStep {
  enum class Kind { destroy, create } kind;
  PlacementId placement;
};

struct LayoutChange {
  PlacementSet now, result, kept;  // instances that are not ours are in all three
  // What is in `now` and `result` but not in `kept` is destroyed and made anew at its place.
  std::vector<LayoutStep> steps;
  [[nodiscard]] int destroys() const { return (now - kept).size(); }
  [[nodiscard]] int creates() const { return (result - kept).size(); }
};

/// Why these cannot stand together although their memory slices could: the rule of the GPU's that
/// forbids it. Empty where there is none, which leaves the places.
[[nodiscard]] std::string rule_against(const Geometry& geometry, PlacementSet standing,
                                       const std::vector<WantedInstance>& goal);

/// A goal with a start names the instance that stands there already, ours or not; one without a
/// start never means one that is not ours. The error says why there is no way: the goal breaks a
/// rule of the GPU's (bad input), or instances that are not ours, or busy ones, are in its way
/// (infeasible, named).
[[nodiscard]] Result<LayoutChange> plan_layout_change(const Geometry& geometry,
                                                      const std::vector<StandingInstance>& standing,
                                                      const std::vector<WantedInstance>& goal);

}  // namespace cleave
