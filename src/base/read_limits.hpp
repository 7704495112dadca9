#pragma once
// How much is read of a file: a device, an endless pipe and a gzip bomb end in an error before
// memory does.

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace cleave {

/// How much is read of one file.
struct ReadLimits {
  std::size_t bytes = std::size_t{256} << 20;  // of text, once inflated
  /// How many times its compressed size a gzip file may inflate to, once that is more than
  /// `inflates_freely`. Tables inflate 5 to 50 times, gzip reaches 1,032.
  std::size_t inflation = 200;
  std::size_t inflates_freely = std::size_t{64} << 20;
};

/// Of traces and workloads, which may hold years of a large site.
inline constexpr ReadLimits trace_limits{.bytes = std::size_t{4} << 30};

/// As read_text() with the usual limits.
[[nodiscard]] Result<std::string> read_text(const std::string& path, const ReadLimits& limits);

}  // namespace cleave
