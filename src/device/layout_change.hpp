#pragma once
// From the instances on a GPU to a wanted layout: which to destroy, which to create, in which
// order. Pure: nothing is tried on the GPU. The change has the fewest destroys, and among those the
// fewest creates, that reach the goal; where instances have no given start, they go where the
// driver prefers them. Every step is legal when it is taken, and a new instance is created as soon
// as nothing is in its way, so that capacity is missing only briefly.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/geometry.hpp"

namespace cleave {

/// An instance that exists on the GPU.
struct StandingInstance {
  PlacementId placement = 0;
  bool ours = true;   // others stay, whatever the goal says, and are part of the result
  bool busy = false;  // a process runs in it: it may stay but not go
  /// It has a compute instance. One of ours without it is destroyed, and created again if the goal
  /// has it; one that is not ours cannot be part of the goal then.
  bool usable = true;
  bool half_made = false;  // perhaps ours, for messages
  std::string name;        // for messages: "MIG-..." or "GPU instance 3"
  std::string take_over;   // for messages: the command that destroys it though it is not ours
};

/// One instance of the goal: at this start, or wherever it fits.
struct WantedInstance {
  const Profile* profile;
  std::optional<int> start;
};

/// "4g.20gb@0,2g.10gb@4", "3g.20gb,3g.20gb" or mixed; empty for the empty GPU.
[[nodiscard]] Result<std::vector<WantedInstance>> parse_wanted_layout(std::string_view text,
                                                                      const Geometry& geometry);

/// One operation of a change.
struct LayoutStep {
  enum class Kind { destroy, create } kind;
  PlacementId placement;
};

/// All operations that lead to the goal, in order.
struct LayoutChange {
  PlacementSet now, result, kept;  // instances that are not ours are in all three
  // What is in `now` and `result` but not in `kept` is destroyed and created again in its place.
  std::vector<LayoutStep> steps;
  [[nodiscard]] int destroys() const { return (now - kept).size(); }
  [[nodiscard]] int creates() const { return (result - kept).size(); }
};

/// The rule of the GPU that forbids these instances together although their memory slices would
/// fit. Empty if no rule does, so that only the placements are in the way.
[[nodiscard]] std::string rule_against(const Geometry& geometry, PlacementSet standing,
                                       const std::vector<WantedInstance>& goal);

/// A wanted instance with a start means the one that is there already, ours or not; without a start
/// it never means one that is not ours. Fails if the goal breaks a rule of the GPU (bad input), or
/// if instances that are busy or not ours are in its way (infeasible; the error names them).
[[nodiscard]] Result<LayoutChange> plan_layout_change(const Geometry& geometry,
                                                      const std::vector<StandingInstance>& standing,
                                                      const std::vector<WantedInstance>& goal);

}  // namespace cleave
