#pragma once
// For the tests of this room: child processes, and signals between them and the test.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace cleave::sim {

/// A child process that runs `body` and exits with its result; killed after a minute at the latest.
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
  /// The test has waited for it in another way.
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
