#pragma once
// Use of GPUs that is over: what fair shares count of the time before an engine was made.

#include <cstdint>
#include <string>

#include "base/time.hpp"

namespace cleave {

/// Compute slices that were held by a job of this user from one time to the other.
struct PastUse {
  std::string account, user;  // as JobFacts names them
  std::int64_t slices = 0;
  Instant from{}, to{};
  friend bool operator==(const PastUse&, const PastUse&) = default;
};

}  // namespace cleave
