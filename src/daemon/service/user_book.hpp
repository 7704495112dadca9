#pragma once
// Who the users of this system are: name and groups by number. Asked of the system (getpwuid_r,
// getgrouplist) and kept for a minute, since a directory service may take its time.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "control/job_record.hpp"

namespace cleave {

struct UserFacts {
  std::string name;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;  // all, the first one too
};

class UserBook {
 public:
  /// Empty: the system knows no such user.
  [[nodiscard]] const std::optional<UserFacts>& user(std::uint32_t uid, Duration now);
  /// The owner of a job with the groups that he has now. Fails where the system says that he is not
  /// there any more; as he was where it cannot say, as when a directory service does not answer.
  [[nodiscard]] Result<JobOwner> owner_now(const JobOwner& owner, Duration now);
  [[nodiscard]] static std::optional<std::uint32_t> uid_of(const std::string& name);
  [[nodiscard]] static std::optional<std::uint32_t> gid_of(const std::string& group);

 private:
  struct Entry {
    std::optional<UserFacts> facts;
    bool sure = true;  // that there is none
    Duration until{};
  };
  Entry& entry(std::uint32_t uid, Duration now);
  static Entry ask_the_system(std::uint32_t uid);

  std::unordered_map<std::uint32_t, Entry> entries_;
};

}  // namespace cleave
