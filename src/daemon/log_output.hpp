#pragma once
// The daemon's log on its standard error, which may be a pipe or a terminal that nobody reads at
// the moment. Nothing waits for that: lines are kept for it, up to a limit, and beyond that are
// dropped and counted. To a file every line is written at once.

#include <memory>
#include <string>
#include <string_view>

#include "runner/descriptor.hpp"

namespace spdlog::sinks {
class sink;
}

namespace cleave {

/// Lines on their way to a descriptor whose reader may stall. Not for several threads.
class LogOutput {
 public:
  /// How much is kept for a reader that does not read.
  static constexpr std::size_t most_kept = 256 << 10;

  /// The descriptor must stay open.
  explicit LogOutput(int descriptor);
  /// Writes what can be written now. False: the line, with its line break, is dropped.
  bool write(std::string_view line);
  void flush();
  /// Lines dropped since the last call; 0 as long as another line would be dropped too.
  [[nodiscard]] std::size_t take_dropped();

 private:
  int descriptor_;
  Descriptor own_;  // the same file, opened again so that writing never waits
  std::string kept_;
  std::size_t dropped_ = 0;
};

/// For spdlog, on standard error.
[[nodiscard]] std::shared_ptr<spdlog::sinks::sink> log_to_standard_error();

}  // namespace cleave
