#pragma once
// The records that jobs taught, by user and at most as many as the operator keeps. A plain value;
// the store has the same (control/store.hpp).

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/learnt_profile.hpp"

namespace cleave {

/// What changed, to be written: records as they are now, and those that went.
struct LearntChange {
  std::vector<LearntProfile> now;
  std::vector<LearntKey> gone;
};

/// Records by user.
class LearntProfiles {
 public:
  /// Puts in what was kept before, as it was.
  void recall(const std::vector<LearntProfile>& kept);
  /// Merges the record into those of the user, by the mean. Beyond `most` records the oldest go, of
  /// the user who has most, so that users who teach much push out their own. The new one may be
  /// among those.
  LearntChange learn(std::uint32_t uid, const ProfileRecord& record, std::size_t most);
  /// Lets go of what is beyond `most`.
  LearntChange keep(std::size_t most);

  /// Null where the user's jobs taught nothing.
  [[nodiscard]] const ProfileRepository* of(std::uint32_t uid) const;
  [[nodiscard]] const std::map<std::uint32_t, ProfileRepository>& by_user() const {
    return by_user_;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  /// By date, the oldest first.
  using Ages = std::set<std::pair<std::string, ProfileKey>>;
  void drop_oldest(std::vector<LearntKey>& gone);

  std::map<std::uint32_t, ProfileRepository> by_user_;
  std::map<std::uint32_t, Ages> ages_;
  std::size_t size_ = 0;
};

}  // namespace cleave
