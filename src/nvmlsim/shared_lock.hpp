#pragma once
// A lock between processes that outlives its holders: who holds it is written in it, and a waiter that finds
// the holder dead takes its place. The bytes of a pthread mutex, once damaged, can hang or abort a program;
// whatever is in these two words, a lock that no living process holds is soon had.
//
// Waiters are served before the one that let go: one of them is next, the others wait to become that. All
// processes must see each other in /proc.

#include <atomic>
#include <cstdint>

namespace cleave::sim {

/// A process by its number and, in the upper half, when it started: numbers come again, pairs do not.
using Identity = std::uint64_t;

constexpr std::uint32_t pid_of(Identity identity) {
  return static_cast<std::uint32_t>(identity);
}
/// Of the process that runs this; known without a system call, also in the child of a fork.
Identity own_identity();
/// Of a process that lives; 0 when there is none.
Identity identity_of(std::uint32_t pid);
/// Whether the process still runs. A zombie does not.
bool alive(Identity identity);

class SharedLock {
 public:
  void lock();
  void unlock();

 private:
  void wait_and_lock(Identity self);
  bool take_from_the_dead(Identity self);

  std::atomic<Identity> owner_, next_;
};

/// Holds the lock while it lives.
class Holding {
 public:
  explicit Holding(SharedLock& lock) : lock_(&lock) { lock_->lock(); }
  ~Holding() { lock_->unlock(); }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  SharedLock* lock_;
};

}  // namespace cleave::sim
