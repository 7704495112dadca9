#pragma once
// Other programs that a command starts and waits for. They get an empty input, and end with this
// program, however that ends.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// Starts a program, looked for on PATH if its name has no slash; `out` and `err` become its
/// outputs where they are not negative. Fails if there is no such program.
[[nodiscard]] Result<pid_t> start_child(const std::vector<std::string>& command, int out, int err);

/// Waits until it has ended; its status as `waitpid` gives it.
int wait_for_child(pid_t pid);

/// Runs a program to its end, its error output as ours. What it printed, if `keep`; fails where it
/// does not end with 0.
[[nodiscard]] Result<std::string> run_to_end(const std::vector<std::string>& command, bool keep);

}  // namespace cleave
