#pragma once
// Reads a file as text, inflating gzip. Readers of fleets, workloads and traces take text; programs
// that have a path open it here.

#include <optional>
#include <string>

#include "base/result.hpp"

namespace cleave {

/// The whole file, inflated if it is gzip, up to the limits of read_limits.hpp; "-" is standard
/// input. What holds bytes of zero is not text. Errors name the file and are of kind bad_input.
[[nodiscard]] Result<std::string> read_text(const std::string& path);

/// A text and where it is from, as errors call it.
struct NamedText {
  std::string place, text;
};
/// The file as read_text() reads it; nothing where the path is empty.
[[nodiscard]] Result<std::optional<NamedText>> read_if_named(const std::string& path);

}  // namespace cleave
