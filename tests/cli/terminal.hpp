#pragma once
// A program on a terminal of its own, as in front of a person.

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "base/places_test.hpp"

namespace cleave::testing_program {

class Terminal {
 public:
  /// `command` goes to the shell, with the built programs first on the path.
  explicit Terminal(const std::string& command, unsigned short columns = 80,
                    unsigned short rows = 24) {
    struct winsize size = {rows, columns, 0, 0};
    pid_ = ::forkpty(&screen_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    const std::string whole = "cd '" + source_dir() + "' && PATH='" + binary_dir() +
                              "/bin':\"$PATH\" exec env " + command;
    ::execl("/bin/sh", "sh", "-c", whole.c_str(), nullptr);
    ::_exit(127);
  }
  ~Terminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (screen_ >= 0) ::close(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Whether the text comes before the time is up.
  bool shows(const std::string& text) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (seen_.find(text) == std::string::npos && std::chrono::steady_clock::now() < until)
      if (!read_some()) break;
    return seen_.find(text) != std::string::npos;
  }
  void type(const std::string& text) const {
    if (::write(screen_, text.data(), text.size()) < 0) ::abort();
  }
  /// The whole output, after the program ended; its exit code is set.
  const std::string& rest() {
    while (read_some()) continue;
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return seen_;
  }
  [[nodiscard]] const std::string& seen() const { return seen_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  int exit_code = -1;

 private:
  bool read_some() {
    struct pollfd waiting = {screen_, POLLIN, 0};
    if (::poll(&waiting, 1, 20000) <= 0) return false;
    char bytes[4096];
    const ssize_t got = ::read(screen_, bytes, sizeof bytes);
    if (got <= 0) return false;  // EIO: the other side is closed
    seen_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  pid_t pid_ = -1;
  int screen_ = -1;
  std::string seen_;
};

}  // namespace cleave::testing_program
