#pragma once
// Reads a file as text, inflating gzip. Readers of fleets, workloads and traces take text; programs
// that have a path open it here.

#include <string>

#include "base/result.hpp"

namespace cleave {

/// The whole file, inflated if it is gzip; "-" is standard input. At most 4 GiB of text. Errors
/// name the file and are of kind bad_input.
[[nodiscard]] Result<std::string> read_text(const std::string& path);

}  // namespace cleave
