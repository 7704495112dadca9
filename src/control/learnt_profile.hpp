#pragma once
// What jobs taught of their application: a record of a profile repository, and whose jobs they
// were. What one user's jobs taught is never used for another user's.

#include <compare>
#include <cstdint>

#include "forecast/choice/profile_repository.hpp"

namespace cleave {

/// Which record of which user.
struct LearntKey {
  std::uint32_t uid = 0;
  ProfileKey profile;
  friend auto operator<=>(const LearntKey&, const LearntKey&) = default;
};

/// One record. Its date is when it was last added to, and it never has offload.
struct LearntProfile {
  std::uint32_t uid = 0;
  ProfileRecord record;

  [[nodiscard]] LearntKey key() const { return {uid, record.key}; }
  friend bool operator==(const LearntProfile&, const LearntProfile&) = default;
};

}  // namespace cleave
