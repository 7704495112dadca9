#pragma once
// Ctrl-C and its like for commands that follow something, or that must finish a step and write it
// down first: noted while one lives, and asked for where it suits.

namespace cleave::cli {

/// SIGINT, SIGTERM and SIGHUP are noted instead of ending the program, except those that were
/// ignored, as under nohup and in the background of a shell. One at a time.
class Interrupts {
 public:
  /// Whether system calls that wait are interrupted by them, or go on.
  enum class Waiting { ends, goes_on };
  explicit Interrupts(Waiting waiting);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// The signal that came since the last take(), or 0.
  [[nodiscard]] static int came();
  /// The same, and it counts as seen.
  static int take();
};

}  // namespace cleave::cli
