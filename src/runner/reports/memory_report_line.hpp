#pragma once
// How a job reports its memory: one line of JSON for each iteration, as a datagram to the unix
// socket that the environment variable CLEAVE_REPORT names.
//
//   {"iteration":3,"iterations":100,"requested_bytes":4294967296,"allocated_bytes":902823936,
//    "context_bytes":644874240,"workspace_bytes":8519680,"reserved_bytes":1048576000}
//
// All but `iteration`, `requested_bytes` and `allocated_bytes` may be absent. Without
// `context_bytes`, `allocated_bytes` includes the context: the older form. Keys that the reader
// does not know are ignored, so that newer jobs can report to it. A job never waits for its reader:
// reports are lost if the socket is full or has no reader.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/memory_report.hpp"

namespace cleave {

/// The environment variable that names the socket.
inline constexpr const char* report_variable = "CLEAVE_REPORT";
/// The greatest length of a line; readers may refuse longer ones.
inline constexpr std::size_t longest_report_line = 512;

/// Without a line end.
[[nodiscard]] std::string report_line(const MemoryReport& report);
/// Reads a line; bytes are rounded up to whole MiB. `place` is for the error.
[[nodiscard]] Result<MemoryReport> parse_report_line(std::string_view line,
                                                     const std::string& place);

/// The job's end of the socket.
class ReportSender {
 public:
  /// Sends nothing if the path is empty or too long for a unix socket.
  explicit ReportSender(const std::string& path);
  ~ReportSender();
  ReportSender(const ReportSender&) = delete;
  ReportSender& operator=(const ReportSender&) = delete;

  /// Returns at once, whether the report was sent or lost.
  void send(const MemoryReport& report);
  [[nodiscard]] std::int64_t sent() const { return sent_; }
  [[nodiscard]] std::int64_t lost() const { return lost_; }

 private:
  int socket_ = -1;
  std::string path_;
  std::int64_t sent_ = 0, lost_ = 0;
};

}  // namespace cleave
