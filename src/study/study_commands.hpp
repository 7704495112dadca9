#pragma once
// The commands of cleave-study, by group: `cleave bench` and `cleave reproduce`, and what
// `cleave arena` does. What each measures is said at the top of its file.

#include "cli/command.hpp"

namespace cleave::cli {

AddCommand add_benches, add_reproductions, add_arena_options;

}  // namespace cleave::cli
