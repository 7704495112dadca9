#include "nvmlsim/presence.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "base/random.hpp"
#include "nvmlsim/forks.hpp"

namespace cleave::sim {

namespace {

struct Stat {
  char state = '?';
  std::uint64_t started = 0;  // clock ticks after boot
};

/// Closes the file even if the thread is cancelled.
struct OpenFile {
  int number;
  explicit OpenFile(int file) : number(file) {}
  ~OpenFile() {
    if (number >= 0) ::close(number);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
};

/// Reads /proc/PID/stat; false when it cannot be read.
bool read_stat(std::uint32_t pid, Stat& stat) {
  std::array<char, 32> path{};
  *fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/stat", pid).out = '\0';
  std::array<char, 1024> bytes{};
  ssize_t length = 0;
  {
    const OpenFile file(::open(path.data(), O_RDONLY | O_CLOEXEC));
    if (file.number < 0) return false;
    length = ::read(file.number, bytes.data(), bytes.size());
  }
  if (length <= 0) return false;
  std::string_view text(bytes.data(), static_cast<std::size_t>(length));
  // The second field is the name in parentheses, which may contain anything.
  const auto name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return false;
  text.remove_prefix(name_end + 2);
  stat.state = text.front();
  for (int field = 3; field < 22; ++field) {
    const auto space = text.find(' ');
    if (space == std::string_view::npos) return false;
    text.remove_prefix(space + 1);
  }
  return std::from_chars(text.data(), text.data() + text.size(), stat.started).ec == std::errc{};
}

/// A process whose first thread ended looks like a zombie while others of its threads run.
bool has_other_threads(std::uint32_t pid) {
  std::array<char, 32> path{};
  *fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/task", pid).out = '\0';
  DIR* tasks = ::opendir(path.data());
  if (tasks == nullptr) return false;
  int count = 0;
  while (const dirent* entry = ::readdir(tasks))
    if (entry->d_name[0] != '.') ++count;
  ::closedir(tasks);
  return count > 1;
}

bool ended(std::uint32_t pid, char state) {
  return state == 'X' || state == 'x' || (state == 'Z' && !has_other_threads(pid));
}

bool exists(std::uint32_t pid) {
  return pid != 0 && pid <= 0x7fffffff &&
         (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

Identity identity_from(std::uint32_t pid, const Stat& stat) {
  return static_cast<Identity>(pid) |
         static_cast<Identity>(static_cast<std::uint32_t>(stat.started)) << 32;
}

// The upper half of a holder: a random number with `announced`, else the start time, or
// `start_unknown` if /proc could not be read.
constexpr Holder announced = 1ULL << 63, start_unknown = 1ULL << 62;
constexpr std::uint64_t random_bits = (1ULL << 31) - 1, start_bits = (1ULL << 30) - 1;

Holder holder_by_start(std::uint32_t pid) {
  Stat stat;
  const bool known = read_stat(pid, stat);
  return pid | (known ? (stat.started & start_bits) << 32 : start_unknown);
}

Holder random_holder(std::uint32_t pid) {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    bits = mixed_bits(static_cast<std::uint64_t>(now.tv_sec) << 30 ^
                      static_cast<std::uint64_t>(now.tv_nsec));
  }
  return pid | (bits & random_bits) << 32 | announced;
}

/// The byte of an announced holder: different for each, and behind the end of any file.
struct flock byte_of(Holder holder, short type) {
  constexpr off_t behind_everything = off_t{1} << 62;
  const std::uint64_t number =
      static_cast<std::uint64_t>(pid_of(holder)) << 31 | (holder >> 32 & random_bits);
  struct flock byte {};
  byte.l_type = type;
  byte.l_whence = SEEK_SET;
  byte.l_start = behind_everything + static_cast<off_t>(number);
  byte.l_len = 1;
  return byte;
}

/// All presences of this program; guarded by presences_mutex and never destroyed.
std::vector<Presence*>& all_presences() {
  static auto* const list = new std::vector<Presence*>;
  return *list;
}

}  // namespace

Identity identity_of(std::uint32_t pid) {
  Stat stat;
  if (pid == 0 || !read_stat(pid, stat) || ended(pid, stat.state)) return 0;
  return identity_from(pid, stat);
}

bool alive(Identity identity) {
  const std::uint32_t pid = pid_of(identity);
  if (!exists(pid)) return false;
  Stat stat;
  // If /proc hides the processes of other users, an existing one is taken for the one meant.
  if (!read_stat(pid, stat)) return exists(pid);
  return identity_from(pid, stat) == identity && !ended(pid, stat.state);
}

Presence::Presence(int file) : file_(file) {
  struct stat about {};
  if (file_ >= 0 && ::fstat(file_, &about) == 0) {
    device_ = about.st_dev;
    inode_ = about.st_ino;
  }
  announce();
  const std::lock_guard guard(presences_mutex);
  all_presences().push_back(this);
}

Presence::~Presence() {
  const std::lock_guard guard(presences_mutex);
  std::erase(all_presences(), this);
  if (file_is_ours()) ::close(file_);
}

/// A program may close all its descriptors, this one too, and the number may be reused for another
/// file.
bool Presence::file_is_ours() const {
  struct stat about {};
  return file_ >= 0 && ::fstat(file_, &about) == 0 && about.st_dev == device_ &&
         about.st_ino == inode_;
}

void Presence::announce() {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  Holder self = random_holder(pid);
  // A shared lock on a byte that no other program locks: it fails only if there are no such locks.
  struct flock byte = byte_of(self, F_RDLCK);
  if (file_ < 0 || ::fcntl(file_, F_OFD_SETLK, &byte) != 0) self = holder_by_start(pid);
  self_.store(self, std::memory_order_relaxed);
}

/// The inherited descriptor belongs to the parent, which looks alive as long as it is open.
void Presence::renew() {
  if (file_is_ours()) {
    std::array<char, 32> path{};
    *fmt::format_to_n(path.data(), path.size() - 1, "/proc/self/fd/{}", file_).out = '\0';
    const int fresh = ::open(path.data(), O_RDWR | O_CLOEXEC);
    if (fresh >= 0) {
      ::dup3(fresh, file_, O_CLOEXEC);
      ::close(fresh);
    } else {
      ::close(file_);
      file_ = -1;
    }
  } else {
    file_ = -1;
  }
  announce();
}

bool Presence::alive(Holder holder) const {
  if (holder == self()) return true;
  const std::uint32_t pid = pid_of(holder);
  if (!exists(pid)) return false;
  if ((holder & announced) != 0 && file_is_ours()) {
    struct flock byte = byte_of(holder, F_WRLCK);
    if (::fcntl(file_, F_OFD_GETLK, &byte) == 0 && byte.l_type == F_UNLCK) return false;
  }
  Stat stat;
  if (!read_stat(pid, stat)) return exists(pid);
  if (ended(pid, stat.state)) return false;
  if ((holder & (announced | start_unknown)) != 0) return true;
  return (stat.started & start_bits) == (holder >> 32 & start_bits);
}

void renew_presences_after_fork() {
  for (Presence* presence : all_presences()) presence->renew();
}

}  // namespace cleave::sim
