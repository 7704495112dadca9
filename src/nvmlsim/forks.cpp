#include "nvmlsim/forks.hpp"

#include <pthread.h>

#include "nvmlsim/presence.hpp"
#include "nvmlsim/session.hpp"

namespace cleave::sim {

constinit std::mutex session_mutex, boards_mutex, presences_mutex, events_mutex, samples_mutex;

namespace {

void take_all() {
  session_mutex.lock();
  boards_mutex.lock();
  presences_mutex.lock();
  events_mutex.lock();
  samples_mutex.lock();
}

void let_all_go() {
  samples_mutex.unlock();
  events_mutex.unlock();
  presences_mutex.unlock();
  boards_mutex.unlock();
  session_mutex.unlock();
}

void go_on_as_child() {
  renew_presences_after_fork();
  forget_calls_after_fork();
  let_all_go();
}

/// Runs when the program starts or loads the library, because the first call may be during a fork.
[[maybe_unused]] const int registered = ::pthread_atfork(take_all, let_all_go, go_on_as_child);

}  // namespace

}  // namespace cleave::sim
