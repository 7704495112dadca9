#include "daemon/http/socket_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr int backlog = 512;
/// A daemon that was killed while it started a job leaves its descriptors, with the lock and the
/// socket, to the child it was making, until that child has become the supervisor.
constexpr std::chrono::milliseconds patience{2000}, pause_between{20};

/// Whether the condition is true, or becomes so before that time is over.
template <class Condition>
bool soon_true(std::chrono::milliseconds longest, Condition is) {
  const auto until = std::chrono::steady_clock::now() + longest;
  while (!is()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(pause_between);
  }
  return true;
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path ||
      path.find('\0') != std::string::npos)
    return fail(ErrorKind::bad_input, shown(path, 200),
                fmt::format("the path of a socket must have 1 to {} bytes; this one has {}",
                            sizeof address.sun_path - 1, path.size()),
                "name a shorter one with --socket");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

bool is_answered(const sockaddr_un& address) {
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return false;
  if (::connect(probe.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return true;
  return errno == EAGAIN;  // its queue is full, so there is a program
}

std::unexpected<Error> taken(const std::string& path) {
  return fail(ErrorKind::infeasible, shown(path, 200), "another daemon uses this socket",
              "end it first, or name another socket and another state directory");
}

}  // namespace

Result<SocketFile> SocketFile::listen(const SocketPlace& place, bool everybody) {
  SocketFile listening(place, everybody);
  if (const auto made = listening.make(patience); !made) return std::unexpected(made.error());
  return listening;
}

Result<void> SocketFile::renew() {
  return make({});
}

bool SocketFile::is_there() const {
  struct stat there {};
  return ::lstat(path_.c_str(), &there) == 0 && same_file(there, made_);
}

Result<void> SocketFile::make(std::chrono::milliseconds longest) {
  if (const auto address = address_of(path_); !address) return std::unexpected(address.error());
  if (const auto made = make_socket_folder(place_, everybody_ ? 0755 : 0700); !made) return made;
  if (const auto locked = take_lock(longest); !locked) return locked;
  return bind(longest);
}

/// Unless the one that it has is still the file of that name.
Result<void> SocketFile::take_lock(std::chrono::milliseconds longest) {
  const std::string path = fmt::format("{}.lock", path_);
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) return system_error_at(path, "cannot be opened");
  struct stat had {
  }, there{};
  if (lock_ && ::fstat(lock_.number(), &had) == 0 && ::fstat(lock.number(), &there) == 0 &&
      same_file(had, there))
    return {};
  int refused = 0;
  const bool answered = soon_true(longest, [&] {
    refused = ::flock(lock.number(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    return refused != EWOULDBLOCK && refused != EINTR;
  });
  if (!answered) return taken(path_);
  errno = refused;
  if (refused != 0) return system_error_at(path, "cannot be locked");
  lock_ = std::move(lock);
  return {};
}

Result<void> SocketFile::bind(std::chrono::milliseconds longest) {
  const auto address = address_of(path_);
  if (!address) return std::unexpected(address.error());
  struct stat there {};
  if (::lstat(path_.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode))
      return fail(ErrorKind::infeasible, shown(path_, 200), "this file is not a socket",
                  "remove it, or name another socket with --socket");
    if (!soon_true(longest, [&] { return !is_answered(*address); })) return taken(path_);
    if (::unlink(path_.c_str()) != 0)
      return system_error_at(path_, "a stale socket cannot be removed");
  }
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) return system_error_at(path_, "a socket cannot be made");
  // Nobody can connect before the mode is set.
  const mode_t before = ::umask(0177);
  const int bound =
      ::bind(made.number(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  const int why = errno;
  ::umask(before);
  errno = why;
  if (bound != 0) return system_error_at(path_, "the socket cannot be made");
  if (::lstat(path_.c_str(), &made_) != 0) return system_error_at(path_, "cannot be examined");
  socket_ = std::move(made);
  if (::listen(socket_.number(), backlog) != 0)
    return system_error_at(path_, "it cannot be listened on");
  if (everybody_ && ::chmod(path_.c_str(), 0666) != 0)
    return system_error_at(path_, "it cannot be opened to others");
  return {};
}

void SocketFile::remove() {
  if (!socket_) return;
  socket_.close();
  if (is_there()) ::unlink(path_.c_str());
}

SocketFile::~SocketFile() {
  remove();
}

}  // namespace cleave
