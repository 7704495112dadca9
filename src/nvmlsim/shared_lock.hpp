#pragma once
// A lock between programs that survives its holders: the holder is written in it, and a waiter that
// finds the holder gone takes over. A damaged pthread mutex can hang or abort a program; with these
// two words, whatever their contents, a lock that no live program holds can be taken soon.
//
// Waiters come before the program that released the lock: one of them is next, the others wait to
// be next. All processes must see each other in /proc.

#include <atomic>

#include "nvmlsim/presence.hpp"

namespace cleave::sim {

/// The lock, in shared memory.
class SharedLock {
 public:
  /// `presence` is that of this program on the node whose file has the lock.
  void lock(const Presence& presence);
  void unlock();

 private:
  void wait_and_lock(const Presence& presence);
  bool take_from_the_dead(const Presence& presence);

  std::atomic<Holder> owner_, next_;
};

/// Holds a lock until it is destroyed.
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
