#include "runner/supervisor/job_user.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

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

/// The one of root's login, in which its secrets may be, stays behind. A system without keyrings,
/// or one that keeps programs from them, has nothing to leave.
bool leave_session_keyring() {
  return ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0 || errno == ENOSYS ||
         errno == EPERM;
}

}  // namespace

Result<void> become_user(const Launch& launch) {
  const auto [uid, gid] = std::pair(launch.uid, launch.gid);
  const std::string place = fmt::format("user {}", uid);
  const bool root = ::geteuid() == 0;
  if (root) {
    if (::setgroups(launch.groups.size(), launch.groups.data()) != 0)
      return system_error_at(place, "the supplementary groups cannot be set");
    if (::setresgid(gid, gid, gid) != 0) return system_error_at(place, "the group cannot be set");
    if (::setresuid(uid, uid, uid) != 0) return system_error_at(place, "the user cannot be set");
    // On some systems a process can be inspected after it has changed its user.
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return system_error_at(place, "is not closed");
    if (!leave_session_keyring())
      return system_error_at(place, "a session keyring of its own cannot be made");
  }
  errno = 0;
  if (!is_user_and_group(uid, gid) || (root && !has_groups(launch.groups)))
    return fail(ErrorKind::infeasible, place, "this process cannot become that user and group",
                root ? "" : "only root can start jobs of other users");
  if (uid != 0 && (::setuid(0) == 0 || ::seteuid(0) == 0))
    return fail(ErrorKind::internal, place, "there was a way back to root");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return system_error_at(place, "new privileges cannot be given up");
  return {};
}

Result<void> make_files_as(std::uint32_t uid, std::uint32_t gid) {
  if (::geteuid() != 0) return {};
  ::setfsgid(gid);
  ::setfsuid(uid);
  // They say which one it was before, and nothing of failures.
  constexpr auto ask = static_cast<uid_t>(-1);
  if (static_cast<gid_t>(::setfsgid(ask)) != gid || static_cast<uid_t>(::setfsuid(ask)) != uid)
    return fail(ErrorKind::infeasible, fmt::format("user {}", uid),
                "files cannot be made as this user");
  return {};
}

FilesAsDaemon::FilesAsDaemon(std::uint32_t uid, std::uint32_t gid) : uid_(uid), gid_(gid) {
  (void)make_files_as(::geteuid(), ::getegid());
}
FilesAsDaemon::~FilesAsDaemon() {
  (void)make_files_as(uid_, gid_);
}

void give_up_reserves() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> held{};
  if (::syscall(SYS_capget, &header, held.data()) != 0) return;
  held[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective &= ~CAP_TO_MASK(CAP_SYS_RESOURCE);
  (void)::syscall(SYS_capset, &header, held.data());
}

void forget_daemons_priorities() {
  const Descriptor score(::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
  char text[16] = {};
  // Only one that spares it: a job may well be the first to go.
  if (score && ::read(score.number(), text, sizeof text - 1) > 0 && text[0] == '-')
    (void)write_all(score.number(), "0");
  const sched_param usual{};
  if (::sched_getscheduler(0) != SCHED_OTHER) (void)::sched_setscheduler(0, SCHED_OTHER, &usual);
  if (::getpriority(PRIO_PROCESS, 0) < 0) (void)::setpriority(PRIO_PROCESS, 0, 0);
}

}  // namespace cleave
