#pragma once
// The users of this system: name and groups by uid. Asked of the system (getpwuid_r, getgrouplist)
// and kept for a minute, since a directory service may be slow.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "control/job_record.hpp"

namespace cleave {

/// What the system says of a user.
struct UserFacts {
  std::string name;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;  // all, with the primary one
};

/// Looks up users and remembers them for a minute.
class UserBook {
 public:
  /// Empty if the system does not know the user.
  [[nodiscard]] const std::optional<UserFacts>& user(std::uint32_t uid, Duration now);
  /// The owner of a job with their current groups. Fails if the system says that the user no longer
  /// exists, or that the uid is that of an account with another name now. Returns `owner` unchanged
  /// if it cannot say, as when a directory service does not answer.
  [[nodiscard]] Result<JobOwner> owner_now(const JobOwner& owner, Duration now);
  [[nodiscard]] static std::optional<std::uint32_t> uid_of(const std::string& name);
  [[nodiscard]] static std::optional<std::uint32_t> gid_of(const std::string& group);
  /// Its number where the system knows no name.
  [[nodiscard]] static std::string group_name(std::uint32_t gid);

 private:
  struct Entry {
    std::optional<UserFacts> facts;
    bool sure = true;  // if there are no facts: that the user does not exist
    Duration until{};
  };
  Entry& entry(std::uint32_t uid, Duration now);
  static Entry ask_the_system(std::uint32_t uid);

  std::unordered_map<std::uint32_t, Entry> entries_;
};

}  // namespace cleave
