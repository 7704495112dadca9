#pragma once
// What one user may hold at a time.

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cleave {

/// Empty: no limit.
struct UserLimits {
  std::optional<std::size_t> jobs;     // that run
  std::optional<std::int64_t> slices;  // compute slices of the instances and GPUs they run on
  friend bool operator==(const UserLimits&, const UserLimits&) = default;
};

}  // namespace cleave
