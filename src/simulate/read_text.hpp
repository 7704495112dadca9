#pragma once
// Files as text, gzip or not: the one place where traces touch the disk.

#include <string>

#include "base/result.hpp"

namespace cleave {

/// The whole of a regular file, inflated when it is gzip; "-" is standard input. At most 4 GiB of
/// text.
[[nodiscard]] Result<std::string> read_text(const std::string& path);

}  // namespace cleave
