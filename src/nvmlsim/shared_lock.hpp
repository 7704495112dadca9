#pragma once
// A lock between programs that outlives its holders: who holds it is written in it, and a waiter
// that finds the holder gone takes its place. The bytes of a pthread mutex, once damaged, can hang
// or abort a program; whatever is in these two words, a lock that no living program holds is soon
// had.
//
// Waiters are served before the one that let go: one of them is next, the others wait to become
// that. All processes must see each other in /proc.

#include <atomic>

#include "nvmlsim/presence.hpp"

namespace cleave::sim {

class SharedLock {
 public:
  /// `presence`: of this program on the node in whose file the lock is.
  void lock(const Presence& presence);
  void unlock();

 private:
  void wait_and_lock(const Presence& presence);
  bool take_from_the_dead(const Presence& presence);

  std::atomic<Holder> owner_, next_;
};

/// Holds the lock while it lives.
class Holding {
 public:
  Holding(SharedLock& lock, const Presence& presence) : lock_(&lock) { lock_->lock(presence); }
  ~Holding() { lock_->unlock(); }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  SharedLock* lock_;
};

}  // namespace cleave::sim
