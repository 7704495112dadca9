#pragma once
// The memory reports of one attempt that its supervisor keeps: a bounded number, however fast they
// come. When the series is full, every second report is dropped but not the last, so that it still
// spans the whole run.

#include <chrono>
#include <span>
#include <vector>

#include "base/json_fwd.hpp"
#include "runner/process_outcome.hpp"

namespace cleave {

class JsonReader;

/// The kept reports.
class ReportSeries {
 public:
  static constexpr std::size_t capacity = 512;
  void add(const MemoryReport& report);
  /// The reports after that number, oldest first.
  [[nodiscard]] std::span<const NumberedReport> after(std::int64_t sequence) const;
  [[nodiscard]] std::int64_t last() const { return last_; }

 private:
  std::vector<NumberedReport> kept_;
  std::int64_t last_ = 0, stride_ = 1;
};

/// The limit on reports: a steady rate, and a burst after a pause.
class ReportRate {
 public:
  static constexpr double per_second = 100, at_once = 200;
  using Clock = std::chrono::steady_clock;
  explicit ReportRate(Clock::time_point now) : filled_(now) {}
  /// Whether a report may be taken now; counts it if so.
  bool take(Clock::time_point now);
  /// When the next report may be taken.
  [[nodiscard]] Clock::time_point next() const;

 private:
  double left_ = at_once;
  Clock::time_point filled_;
};

[[nodiscard]] Json to_json(std::span<const NumberedReport> reports);
[[nodiscard]] Json to_json(const OutOfMemorySeen& seen);
/// Reads the list under this key, as to_json writes it.
[[nodiscard]] std::vector<NumberedReport> read_reports(JsonReader& in, std::string_view key);

}  // namespace cleave
