#pragma once
// The line in which the followed program's memory is reported, as docs/reporting.md has it. Written
// without an allocation, since it is written inside calls of any program.

#include <cstdint>
#include <span>
#include <string_view>

namespace cleave::cuda {

/// What is reported at a time.
struct ReportedMemory {
  std::int64_t iteration = 1;  // tenths of a second since the program began to use the GPU
  std::int64_t held = 0;       // bytes; at most since the last report
  std::int64_t context = 0;
  std::int64_t iterations = 0;  // in total; 0: not known
};

/// The line within `room`, without an end; empty if there is not enough room.
[[nodiscard]] std::string_view write_report_line(const ReportedMemory& memory,
                                                 std::span<char> room);

/// Sends a datagram to the unix socket of that path and never waits. False if it was lost.
bool send_report(const char* path, std::string_view line);

}  // namespace cleave::cuda
