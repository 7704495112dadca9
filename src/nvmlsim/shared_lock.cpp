#include "nvmlsim/shared_lock.hpp"

#include <sched.h>
#include <time.h>

namespace cleave::sim {

namespace {

void nap(long nanoseconds) {
  const timespec time{0, nanoseconds};
  ::nanosleep(&time, nullptr);
}

/// The place of the next waiter, given up at the end, even if the thread is cancelled while it
/// sleeps.
class NextInLine {
 public:
  NextInLine(std::atomic<Holder>& next, Holder self) : next_(&next), self_(self) {}
  ~NextInLine() {
    if (mine_) next_->store(0, std::memory_order_relaxed);
  }
  NextInLine(const NextInLine&) = delete;
  NextInLine& operator=(const NextInLine&) = delete;

  bool mine() {
    Holder nobody = 0;
    if (!mine_) mine_ = next_->compare_exchange_strong(nobody, self_, std::memory_order_relaxed);
    return mine_;
  }

 private:
  std::atomic<Holder>* next_;
  Holder self_;
  bool mine_ = false;
};

}  // namespace

void SharedLock::lock(const Presence& presence) {
  Holder nobody = 0;
  if (next_.load(std::memory_order_relaxed) == 0 &&
      owner_.compare_exchange_strong(nobody, presence.self(), std::memory_order_acquire,
                                     std::memory_order_relaxed))
    return;
  wait_and_lock(presence);
}

void SharedLock::unlock() {
  owner_.store(0, std::memory_order_release);
}

bool SharedLock::take_from_the_dead(const Presence& presence) {
  Holder owner = owner_.load(std::memory_order_relaxed);
  if (owner != 0 && !presence.alive(owner) &&
      owner_.compare_exchange_strong(owner, presence.self(), std::memory_order_acquire,
                                     std::memory_order_relaxed))
    return true;
  Holder next = next_.load(std::memory_order_relaxed);
  if (next != 0 && !presence.alive(next))
    next_.compare_exchange_strong(next, 0, std::memory_order_relaxed);
  return false;
}

void SharedLock::wait_and_lock(const Presence& presence) {
  constexpr int yields = 20;             // a state lock is released within microseconds
  constexpr long longest_nap = 500'000;  // ns; a change takes many milliseconds
  NextInLine next(next_, presence.self());
  long naps = 20'000;
  for (int round = 0;; ++round) {
    Holder nobody = 0;
    if (next.mine() &&
        owner_.compare_exchange_strong(nobody, presence.self(), std::memory_order_acquire,
                                       std::memory_order_relaxed))
      return;
    if (round < yields) {
      ::sched_yield();
      continue;
    }
    if (round % 16 == yields % 16 && take_from_the_dead(presence)) return;
    nap(naps);
    naps = naps * 2 > longest_nap ? longest_nap : naps * 2;
  }
}

}  // namespace cleave::sim
