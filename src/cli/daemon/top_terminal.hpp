#pragma once
// The terminal while `cleave top` has it: another screen, keys without echo, and everything as it
// was on each way out, and while it is stopped by Ctrl-Z.

#include <signal.h>
#include <termios.h>

#include <optional>
#include <string>
#include <vector>

namespace cleave::cli {

/// One at a time.
class TopTerminal {
 public:
  TopTerminal();
  ~TopTerminal();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;

  void show(const std::vector<std::string>& lines);
  /// What was typed within the time; comes back at once after a key, when the size changes and
  /// after a stop. Nothing is read where standard input is not a terminal.
  [[nodiscard]] std::string typed_within(double seconds);

 private:
  void enter();
  void leave();
  /// Gives the terminal back, stops as the shell expects, and takes it again.
  void stop();

  std::optional<struct termios> before_;
  struct sigaction stop_before_ = {}, size_before_ = {};
  bool entered_ = false, reads_ = false;
};

}  // namespace cleave::cli
