#pragma once
// Ctrl-C and its like for commands that follow something: noted while one lives, and asked for where it
// suits.

namespace cleave::cli {

/// SIGINT, SIGTERM and SIGHUP are noted instead of ending the program, except those that were ignored, as
/// under nohup. System calls that wait are interrupted by them. One at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// The signal that came since the last take(), or 0.
  [[nodiscard]] static int came();
  /// The same, and it counts as seen.
  static int take();
};

}  // namespace cleave::cli
