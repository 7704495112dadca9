#pragma once
// For the tests of this room: child processes that end by themselves, and are ended by their
// number.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace cleave::sim {

/// Runs `body` in a child and ends it there with what `body` returns; killed after a minute
/// whatever happens.
class Child {
 public:
  template <class F>
  explicit Child(F&& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::alarm(60);
    ::_exit(std::forward<F>(body)());
  }
  ~Child() {
    if (pid_ > 0) kill_it();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill_it() {
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  /// Somebody else has waited for it.
  void is_gone() { pid_ = -1; }
  /// Its exit status, or 128 and the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

/// One byte each way between parent and child.
class Signal {
 public:
  Signal() { (void)!::pipe(ends_); }
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  void send() { (void)!::write(ends_[1], "x", 1); }
  void await() {
    char byte = 0;
    (void)!::read(ends_[0], &byte, 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace cleave::sim
