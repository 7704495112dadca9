#include "runner/supervisor/supervisor_start.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "runner/job_directory.hpp"
#include "runner/supervisor/supervise.hpp"

namespace cleave {

namespace {

/// Where duplicates go first, so that none takes the number meant for another.
constexpr int out_of_the_way = 10;

struct Ends {
  Descriptor ours, theirs;
};

Result<Ends> make_connection() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error_at("supervisor", "no connection can be made");
  return Ends{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Input and outputs are /dev/null; two descriptors, no blocked signal, a session of its own, an
/// empty environment.
Result<pid_t> spawn_supervisor(const std::string& program, const std::string& directory,
                               int connection, int lock, std::uint64_t descriptors) {
  const Descriptor theirs(::fcntl(connection, F_DUPFD_CLOEXEC, out_of_the_way));
  const Descriptor held(::fcntl(lock, F_DUPFD_CLOEXEC, out_of_the_way));
  if (!theirs || !held) return system_error_at("supervisor", "no descriptor is free");
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&files, 0, 1);
  ::posix_spawn_file_actions_adddup2(&files, 0, 2);
  ::posix_spawn_file_actions_adddup2(&files, theirs.number(), connection_descriptor);
  ::posix_spawn_file_actions_adddup2(&files, held.number(), lock_descriptor);
  ::posix_spawn_file_actions_addclosefrom_np(&files, lock_descriptor + 1);
  ::posix_spawnattr_init(&how);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setsigdefault(&how, &all);
  ::posix_spawnattr_setflags(&how,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = "cleave-supervise", argument = directory,
              limit = fmt::format("{}", descriptors);
  std::array<char*, 4> arguments = {name.data(), argument.data(), limit.data(), nullptr};
  std::array<char*, 1> environment = {nullptr};
  pid_t pid = 0;
  errno = ::posix_spawn(&pid, program.c_str(), &files, &how, arguments.data(), environment.data());
  const int why = errno;
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&how);
  errno = why;
  if (why != 0) return system_error_at(program, "cannot be run");
  return pid;
}

Result<void> make_user_folder(int folder, const Launch& launch) {
  if (::mkdirat(folder, user_folder, 0700) != 0)
    return system_error_at(user_folder, "cannot be made");
  if (::geteuid() != 0) return {};
  if (::fchownat(folder, user_folder, launch.uid, launch.gid, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::fchown(folder, 0, launch.gid) != 0 || ::fchmod(folder, 0710) != 0)
    return system_error_at(user_folder, "cannot be given to the job's user");
  return {};
}

}  // namespace

Result<NewJobFolder> make_job_folder(int jobs, const Launch& launch) {
  const std::string name = directory_name(launch.key), fresh = fmt::format(".new-{}", name);
  if (::mkdirat(jobs, fresh.c_str(), 0700) != 0)
    return system_error_at(name, "its folder cannot be made");
  auto folder = open_folder_in(jobs, fresh);
  if (!folder) return std::unexpected(folder.error());
  if (const auto shared = make_user_folder(folder->number(), launch); !shared)
    return std::unexpected(shared.error());
  auto lock = take_job_lock(folder->number());
  if (!lock) return std::unexpected(lock.error());
  errno = 0;
  if (!*lock) return fail(ErrorKind::infeasible, name, "another process is making this attempt");
  if (const auto written = write_new_file_in(folder->number(), launch_file, launch_text(launch));
      !written)
    return std::unexpected(written.error());
  if (::renameat2(jobs, fresh.c_str(), jobs, name.c_str(), RENAME_NOREPLACE) != 0)
    return system_error_at(name, "its folder cannot be made");
  return NewJobFolder{std::move(*folder), std::move(**lock)};
}

std::expected<StartedSupervisor, NotStarted> start_supervisor(const std::string& program,
                                                              const std::string& directory,
                                                              const Descriptor& lock,
                                                              std::uint64_t descriptors) {
  auto connection = make_connection();
  if (!connection) return std::unexpected(NotStarted(connection.error(), errno));
  const auto pid =
      spawn_supervisor(program, directory, connection->theirs.number(), lock.number(), descriptors);
  if (!pid) return std::unexpected(NotStarted(pid.error(), errno));
  return StartedSupervisor{*pid, std::move(connection->ours)};
}

Result<Descriptor> connect_to_supervisor(int folder) {
  // Through the open folder: the path is never too long and cannot lead elsewhere.
  const std::string path = fmt::format("/proc/self/fd/{}/{}", folder, control_socket);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return system_error_at(control_socket, "the supervisor cannot be reached");
  // The user at the time it began to listen.
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
      peer.uid != ::geteuid())
    return fail(ErrorKind::infeasible, control_socket, "a process of another user listens there");
  return socket;
}

}  // namespace cleave
