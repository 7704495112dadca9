#pragma once
// Shared parts of the trace readers: cells with checked numbers and times, lines of files that are
// not CSV, counts of records left out, and the order and pace of arrivals.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/csv.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "model/job.hpp"
#include "model/share_rule_text.hpp"
#include "simulate/traces/trace.hpp"

namespace cleave {

/// Reads cells of one row, keeping the first error.
class Cells {
 public:
  explicit Cells(std::string place) : place_(std::move(place)) {}

  /// A whole number from `least` to `most`.
  std::int64_t whole(std::string_view cell, std::string_view name, std::int64_t least,
                     std::int64_t most);
  /// Seconds from the start of the trace, or a duration; at most longest_duration.
  double seconds(std::string_view cell, std::string_view name,
                 std::string_view what = "seconds from the start of the trace");
  /// The same; nullopt if the cell is empty.
  std::optional<double> seconds_if(std::string_view cell, std::string_view name);
  /// A point in time as parse_clock() reads it; without a zone, UTC.
  double clock(std::string_view cell, std::string_view name);
  void refuse(std::string message, std::string remedy = "correct the line or remove it");

  std::optional<Error> error;

 private:
  std::string place_;
};

/// Looks up columns of a CSV file; `remedy` says which file is expected.
[[nodiscard]] Result<void> find_columns(
    const CsvReader& csv, std::initializer_list<std::pair<std::string_view, std::size_t*>> wanted,
    const std::string& remedy);

/// The lines of a text, LF or CRLF, without the empty ones.
class Lines {
 public:
  /// `text` must outlive the reader, `place` is the file's name.
  Lines(std::string_view text, std::string place);

  /// The next line into `line`; false at the end.
  [[nodiscard]] Result<bool> next(std::string_view& line);
  /// "log.swf:17", the line last read.
  [[nodiscard]] std::string place() const;

 private:
  std::string_view rest_;
  std::string place_;
  std::size_t line_ = 0;
};

/// Rows one after the other: `next` goes to the next as CsvReader and Lines do, `take` reads it. A
/// row that either refuses ends the reading, or is passed over where the options say so.
template <class Next, class Take>
[[nodiscard]] Result<void> each_row(const TraceOptions& options, Next next, Take take) {
  while (true) {
    const Result<bool> more = next();
    if (more && !*more) return {};
    const Result<void> taken = more ? take() : std::unexpected(more.error());
    if (taken) continue;
    if (const auto passed = pass_over(options.bad_lines, taken.error()); !passed) return passed;
  }
}

/// A record that becomes a job.
struct TakenRecord {
  std::string id;
  double after = 0;    // from the start of the trace until it arrived, in seconds
  double seconds = 0;  // that it ran
  double gpus = 0;     // that it had, as the trace counts them
  Request request{Unknown{}, {}};
  SpeedModel speed;
  std::uint32_t details = Job::none;
};

/// Puts records into a workload, each as a job or among those left out, and adds up their
/// GPU-hours.
class Intake {
 public:
  /// `place` is the trace's name; all three outlive the intake.
  Intake(Workload& workload, const TraceOptions& options, const std::string& place)
      : workload_(&workload), options_(&options), place_(&place) {}

  [[nodiscard]] Result<void> take(TakenRecord record);
  /// `gpus` and `seconds` as far as the trace says them.
  void leave_out(const std::string& reason, double gpus, double seconds);

 private:
  void count(double gpu_hours);

  Workload* workload_;
  const TraceOptions* options_;
  const std::string* place_;
};

inline constexpr int whole_gpu_share = 1000;  // thousandths

/// Why a job of so many GPUs or instances is left out, if it is.
[[nodiscard]] std::optional<std::string> left_out_for_places(std::int64_t places,
                                                             const TraceOptions& options);
/// The request of a job that had `places` such at a time.
[[nodiscard]] Request request_of_several(Request one, std::int64_t places, Together together,
                                         const TraceOptions& options);

/// Puts records in order of arrival, equal ones in the order of the file, and keeps only the first
/// `options.limit`.
template <class Record, class Arrival>
void order(std::vector<Record>& records, Arrival arrival, const TraceOptions& options) {
  std::ranges::stable_sort(records, {}, arrival);
  if (options.limit && records.size() > *options.limit) records.resize(*options.limit);
}

/// The arrival time in the run: `seconds` after the start of the trace, compressed.
[[nodiscard]] Result<Instant> arrival_at(double seconds, const TraceOptions& options,
                                         const std::string& place);

/// Equally fast on every profile that holds the job, which is all one recorded time can say.
SpeedModel as_recorded();

/// Records how the trace was read: its format, `own` options, and the common ones.
void note_options(Workload& workload, std::string_view format, const TraceOptions& options,
                  std::initializer_list<std::pair<std::string, std::string>> own);

}  // namespace cleave
