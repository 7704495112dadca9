#pragma once
// What jobs of an array learn from one another: those that wait and named no size ask for what one
// that has ended well held. Pure functions.
//
// All jobs of an array run one command, so that one without an application is its own. What the
// largest of them held counts, and a twentieth more, as for applications
// (verdicts/size_by_measurements.hpp).

#include <string>
#include <vector>

#include "control/node/node_state.hpp"

namespace cleave {

/// The jobs of the ended one's array that wait, named no size, never ran, and ask for less than
/// `size` or for nothing yet.
[[nodiscard]] std::vector<JobNumber> to_be_sized(const NodeState& node, const LiveJob& ended,
                                                 MiB size);

/// "1229 MiB, as jobs of array 12 that have ended held, and a twentieth more"; empty where the
/// job's size did not come from them.
[[nodiscard]] std::string size_from_siblings(const JobRecord& job);

}  // namespace cleave
