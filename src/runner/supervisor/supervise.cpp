#include "runner/supervisor/supervise.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/format.hpp"
#include "runner/job_directory.hpp"
#include "runner/supervisor/job_user.hpp"
#include "runner/supervisor/supervisor.hpp"

namespace cleave {

namespace {

/// Above all others: descriptors are closed in their order when the process is killed, so that the
/// lock is free before the daemon sees the end of the connection.
constexpr int high_descriptor = 100;
/// Enough for this one and for the one that job_process.cpp passes on.
constexpr rlim_t fewest_descriptors = 256;

Result<Descriptor> take_over(int given, int at_least) {
  Descriptor taken(::fcntl(given, F_DUPFD_CLOEXEC, at_least));
  if (!taken) return system_error_at("supervisor", "the daemon left no descriptor open for it");
  ::close(given);
  return taken;
}

/// The daemon may have raised its limit, which jobs should not inherit.
void limit_descriptors(std::uint64_t soft) {
  rlimit limit{};
  if (soft == 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(std::max<rlim_t>(soft, fewest_descriptors), limit.rlim_max);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

bool is_only_for(const struct stat& facts, uid_t owner, mode_t forbidden) {
  return facts.st_uid == owner && (facts.st_mode & forbidden) == 0;
}

/// The folder of all jobs and that of this one, which belong to the daemon's user: no other user
/// can have changed them.
Result<void> open_folders(SupervisorPlaces& places, const std::string& directory) {
  const std::size_t slash = directory.rfind('/');
  if (slash == std::string::npos || slash == 0)
    return fail(ErrorKind::bad_usage, directory, "expected JOBS/NUMBER.ATTEMPT");
  auto parent = open_folder(directory.substr(0, slash));
  if (!parent) return std::unexpected(parent.error());
  auto folder = open_folder_in(parent->number(), directory.substr(slash + 1));
  if (!folder) return std::unexpected(folder.error());
  struct stat of_parent {
  }, of_folder{};
  if (::fstat(parent->number(), &of_parent) != 0 || ::fstat(folder->number(), &of_folder) != 0)
    return system_error_at(directory, "cannot be examined");
  const uid_t me = ::geteuid();
  if (!is_only_for(of_parent, me, S_IWGRP | S_IWOTH) ||
      !is_only_for(of_folder, me, S_IWGRP | S_IWOTH))
    return fail(ErrorKind::infeasible, directory,
                "users other than the daemon's could have changed it");
  places.parent = std::move(*parent);
  places.folder = std::move(*folder);
  places.path = directory;
  return {};
}

/// The folder that belongs to the job's user, whom alone it admits.
Result<void> open_user_folder(SupervisorPlaces& places, uid_t user) {
  auto folder = open_folder_in(places.folder.number(), user_folder);
  if (!folder) return std::unexpected(folder.error());
  struct stat facts {};
  if (::fstat(folder->number(), &facts) != 0)
    return system_error_at(user_folder, "cannot be examined");
  if (!is_only_for(facts, user, S_IRWXG | S_IRWXO))
    return fail(ErrorKind::infeasible, user_folder, "it is not the job's user's alone");
  places.user = std::move(*folder);
  return {};
}

/// Creates what lies in the daemon's folder, while this process has the daemon's rights there.
Result<void> make_daemons_files(SupervisorPlaces& places) {
  auto outcome = make_outcome_file(places.folder.number());
  if (!outcome) return std::unexpected(outcome.error());
  if (::fchdir(places.folder.number()) != 0)
    return system_error_at(places.path, "cannot be entered");
  auto control = listen_for_peers();
  if (!control) return std::unexpected(control.error());
  places.outcome = std::move(*outcome);
  places.control = std::move(*control);
  return {};
}

Result<void> check_lock(const SupervisorPlaces& places) {
  struct stat held {
  }, there{};
  if (::fstat(places.lock.number(), &held) != 0 ||
      ::fstatat(places.folder.number(), lock_file, &there, AT_SYMLINK_NOFOLLOW) != 0)
    return system_error_at(lock_file, "cannot be examined");
  if (held.st_dev != there.st_dev || held.st_ino != there.st_ino)
    return fail(ErrorKind::infeasible, lock_file, "the lock that was handed over is another one");
  if (::flock(places.lock.number(), LOCK_EX | LOCK_NB) != 0)
    return system_error_at(lock_file, "cannot be taken");
  return {};
}

Result<Launch> read_launch_of(const SupervisorPlaces& places, const std::string& directory) {
  auto launch = read_launch(places.folder.number());
  if (launch && !directory.ends_with(fmt::format("/{}", directory_name(launch->key))))
    return fail(ErrorKind::bad_input, launch_file, "it is of another job than its folder");
  return launch;
}

Result<Supervisor> prepare(SupervisorPlaces& places, const std::string& directory) {
  if (const auto opened = open_folders(places, directory); !opened)
    return std::unexpected(opened.error());
  if (const auto locked = check_lock(places); !locked) return std::unexpected(locked.error());
  auto launch = read_launch_of(places, directory);
  if (!launch) return std::unexpected(launch.error());
  places.daemon_uid = ::geteuid();
  if (const auto opened = open_user_folder(places, launch->uid); !opened)
    return std::unexpected(opened.error());
  const auto mark = job_mark(places.folder.number(), launch->key);
  if (!mark) return std::unexpected(mark.error());
  places.mark = mark->text;
  places.groups = groups_of(*launch, *mark);
  if (const auto made = make_daemons_files(places); !made) return std::unexpected(made.error());
  if (const auto made =
          places.groups.make(launch->limits, launch->fence ? &*launch->fence : nullptr);
      !made)
    return std::unexpected(made.error());
  if (const auto users = make_files_as(launch->uid, launch->gid); !users)
    return std::unexpected(users.error());
  if (::fchdir(places.user.number()) != 0) return system_error_at(directory, "cannot be entered");
  return Supervisor::open(std::move(*launch), places);
}

void say(int connection, const SupervisorMessage& message) {
  const std::string text = message_text(message);
  (void)::send(connection, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

int supervise(const std::string& directory, std::uint64_t descriptors) {
  ::umask(077);
  limit_descriptors(descriptors);
  // No other program may inspect it; it adopts orphans of the job.
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    return 1;
  SupervisorPlaces places;
  auto connection = take_over(connection_descriptor, high_descriptor);
  if (!connection) return 1;
  places.first = std::move(*connection);
  const int daemon = places.first.number();
  auto lock = take_over(lock_descriptor, connection_descriptor);
  if (!lock) return 1;
  places.lock = std::move(*lock);
  errno = 0;
  auto supervisor = prepare(places, directory);
  if (!supervisor) {
    const int code = errno;
    (void)make_files_as(::geteuid(), ::getegid());
    (void)places.groups.remove();
    say(daemon, SupervisorFailed{supervisor.error().text(), code});
    places.lock.close();
    return 1;
  }
  say(daemon, SupervisorReady{});
  supervisor->run();
  return 0;
}

}  // namespace cleave
