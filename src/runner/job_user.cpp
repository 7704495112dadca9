#include "runner/job_user.hpp"

#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/format.hpp"
#include "runner/descriptor.hpp"

namespace cleave {

namespace {

bool is_user_and_group(uid_t uid, gid_t gid) {
  uid_t users[3];
  gid_t of_groups[3];
  if (::getresuid(&users[0], &users[1], &users[2]) != 0) return false;
  if (::getresgid(&of_groups[0], &of_groups[1], &of_groups[2]) != 0) return false;
  return std::ranges::all_of(users, [&](uid_t each) { return each == uid; }) &&
         std::ranges::all_of(of_groups, [&](gid_t each) { return each == gid; });
}

bool has_groups(std::vector<std::uint32_t> wanted) {
  const int count = ::getgroups(0, nullptr);
  if (count < 0) return false;
  std::vector<gid_t> held(static_cast<std::size_t>(count));
  if (::getgroups(count, held.data()) != count) return false;
  const auto set_of = [](std::vector<std::uint32_t>& list) {
    std::ranges::sort(list);
    list.erase(std::ranges::unique(list).begin(), list.end());
  };
  std::vector<std::uint32_t> has(held.begin(), held.end());
  set_of(has);
  set_of(wanted);
  return has == wanted;
}

}  // namespace

Result<void> become_user(std::uint32_t uid, std::uint32_t gid,
                         const std::vector<std::uint32_t>& groups) {
  const std::string place = fmt::format("user {}", uid);
  const bool root = ::geteuid() == 0;
  if (root) {
    if (::setgroups(groups.size(), groups.data()) != 0)
      return system_error_at(place, "the supplementary groups cannot be set");
    if (::setresgid(gid, gid, gid) != 0) return system_error_at(place, "the group cannot be set");
    if (::setresuid(uid, uid, uid) != 0) return system_error_at(place, "the user cannot be set");
  }
  if (!is_user_and_group(uid, gid) || (root && !has_groups(groups)))
    return fail(ErrorKind::infeasible, place, "this process cannot become that user and group",
                root ? "" : "only root can start jobs of other users");
  if (uid != 0 && (::setuid(0) == 0 || ::seteuid(0) == 0))
    return fail(ErrorKind::internal, place, "there was a way back to root");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return system_error_at(place, "new privileges cannot be given up");
  return {};
}

}  // namespace cleave
