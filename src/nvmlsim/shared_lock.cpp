#include "nvmlsim/shared_lock.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

#include "base/format.hpp"

namespace cleave::sim {

namespace {

struct Stat {
  char state = '?';
  std::uint64_t started = 0;  // clock ticks after boot
};

/// Reads /proc/PID/stat; false when it cannot be read.
bool read_stat(std::uint32_t pid, Stat& stat) {
  std::array<char, 32> path{};
  *fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/stat", pid).out = '\0';
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 1024> bytes{};
  const auto length = ::read(file, bytes.data(), bytes.size());
  ::close(file);
  if (length <= 0) return false;
  std::string_view text(bytes.data(), static_cast<std::size_t>(length));
  // The second field is the name in parentheses, which may hold anything.
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

Identity identity_from(std::uint32_t pid, const Stat& stat) {
  return static_cast<Identity>(pid) | static_cast<Identity>(static_cast<std::uint32_t>(stat.started)) << 32;
}

std::atomic<Identity> own{0};

Identity learn_own() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { own.store(0, std::memory_order_relaxed); });
  (void)registered;
  const auto pid = static_cast<std::uint32_t>(::getpid());
  Stat stat;
  (void)read_stat(pid, stat);
  const Identity identity = identity_from(pid, stat);
  own.store(identity, std::memory_order_relaxed);
  return identity;
}

void nap(long nanoseconds) {
  const timespec time{0, nanoseconds};
  ::nanosleep(&time, nullptr);
}

}  // namespace

Identity own_identity() {
  const Identity known = own.load(std::memory_order_relaxed);
  return known != 0 ? known : learn_own();
}

Identity identity_of(std::uint32_t pid) {
  Stat stat;
  if (pid == 0 || !read_stat(pid, stat) || ended(pid, stat.state)) return 0;
  return identity_from(pid, stat);
}

bool alive(Identity identity) {
  const std::uint32_t pid = pid_of(identity);
  if (identity == own_identity()) return true;
  if (pid == 0 || pid > 0x7fffffff) return false;
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno != EPERM) return false;
  Stat stat;
  // Where /proc hides the processes of others, one that exists is taken for the one that was meant.
  if (!read_stat(pid, stat)) return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
  return identity_from(pid, stat) == identity && !ended(pid, stat.state);
}

void SharedLock::lock() {
  const Identity self = own_identity();
  Identity nobody = 0;
  if (next_.load(std::memory_order_relaxed) == 0 &&
      owner_.compare_exchange_strong(nobody, self, std::memory_order_acquire, std::memory_order_relaxed))
    return;
  wait_and_lock(self);
}

void SharedLock::unlock() {
  owner_.store(0, std::memory_order_release);
}

bool SharedLock::take_from_the_dead(Identity self) {
  Identity owner = owner_.load(std::memory_order_relaxed);
  if (owner != 0 && !alive(owner) &&
      owner_.compare_exchange_strong(owner, self, std::memory_order_acquire, std::memory_order_relaxed))
    return true;
  Identity next = next_.load(std::memory_order_relaxed);
  if (next != 0 && !alive(next)) next_.compare_exchange_strong(next, 0, std::memory_order_relaxed);
  return false;
}

void SharedLock::wait_and_lock(Identity self) {
  constexpr int yields = 20;             // a state lock is let go within microseconds
  constexpr long longest_nap = 500'000;  // ns; a change takes many milliseconds
  bool next_is_me = false;
  long naps = 20'000;
  for (int round = 0;; ++round) {
    if (!next_is_me) {
      Identity nobody = 0;
      next_is_me = next_.compare_exchange_strong(nobody, self, std::memory_order_relaxed);
    }
    Identity nobody = 0;
    if (next_is_me &&
        owner_.compare_exchange_strong(nobody, self, std::memory_order_acquire, std::memory_order_relaxed))
      break;
    if (round < yields) {
      ::sched_yield();
      continue;
    }
    if (round % 16 == yields % 16 && take_from_the_dead(self)) break;
    nap(naps);
    naps = naps * 2 > longest_nap ? longest_nap : naps * 2;
  }
  if (next_is_me) next_.store(0, std::memory_order_relaxed);
}

}  // namespace cleave::sim
