#pragma once
// The output of a job as it comes over the API: piece by piece, from attempt to attempt.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/client.hpp"
#include "base/terminal_text.hpp"

namespace cleave::cli {

/// A piece of a log, as the daemon sends it.
struct LogPiece {
  std::string bytes;
  std::int64_t offset = 0, next = 0, attempt = 0;
  bool over = false;  // no more will come of this attempt
};
/// One output of one process of a job.
struct LogOf {
  std::int64_t job = 0, rank = 0;
  std::string_view stream = "stdout";
};
/// `attempt` 0: the latest. A negative offset counts from the end.
[[nodiscard]] Result<LogPiece> ask_log(ApiClient& daemon, const LogOf& log, std::int64_t attempt,
                                       std::int64_t offset, std::chrono::seconds wait = {});

/// The last `lines` lines that are there, with where they begin and end.
[[nodiscard]] Result<LogPiece> ask_tail(ApiClient& daemon, const LogOf& log, std::int64_t attempt,
                                        std::int64_t lines);

/// Where the bytes go: to a file or a pipe as they are, to a terminal through OutputFilter unless
/// `raw`.
class OutputSink {
 public:
  /// To standard output or standard error. With a prefix, which begins each line, whole lines are
  /// written at a time, so that those of several sinks do not mix.
  OutputSink(int descriptor, bool raw, std::string prefix = {});
  void write(std::string_view bytes);
  void finish();

 private:
  void write_filtered(std::string_view bytes);
  void write_all(std::string_view bytes) const;
  int descriptor_;
  std::string prefix_, begun_;  // begun_: a line without its end
  std::optional<OutputFilter> filter_;
};

/// Which output of which job is read, and how.
struct LogRequest {
  std::int64_t job = 0;
  std::string stream = "stdout";
  std::int64_t attempt = 0;    // where to begin; 0: at the latest there is
  bool this_one_only = false;  // else the attempts after it too
  std::int64_t offset = 0;
  std::chrono::seconds patience{60};
  std::int64_t rank = 0;  // of the process, of a job of several
};
/// Follows until no more will come. `on_bytes` is given what is new; `on_remark` a line about it:
/// bytes that are gone, a new attempt.
[[nodiscard]] Result<void> follow_log(ApiClient& daemon, const LogRequest& request,
                                      const std::function<void(std::string_view)>& on_bytes,
                                      const std::function<void(const std::string&)>& on_remark);

}  // namespace cleave::cli
