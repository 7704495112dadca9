#pragma once
// What keeps jobs apart on this machine: control groups, and fences around device nodes.

#include <optional>
#include <string>
#include <vector>

#include "daemon/config.hpp"
#include "runner/control_groups.hpp"

namespace cleave {

/// What is in force while the daemon runs.
struct JobIsolation {
  GroupPlaces groups;                 // none where jobs have no control groups
  std::optional<DriverNodes> fenced;  // where jobs get the nodes of their own devices only
  // In words, a line each: what holds, and what does not and why.
  std::vector<std::string> holds, lacks;
};
/// Makes the place for groups, if the settings want them and the system lets it. With simulated
/// GPUs only nodes that the settings name are fenced: this machine's are those of other GPUs.
[[nodiscard]] JobIsolation isolation_of(const DaemonSettings& settings, bool simulated);

}  // namespace cleave
