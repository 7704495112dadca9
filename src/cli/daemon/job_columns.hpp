#pragma once
// Lists of jobs for people: which columns there are, in a table, and in which order jobs stand.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/documents.hpp"
#include "base/time.hpp"

namespace cleave::cli {

/// The names of all columns.
[[nodiscard]] std::vector<std::string> job_column_names();
/// Those of "job,state,why". Fails for a name that there is not, with those there are.
[[nodiscard]] Result<std::vector<std::string>> read_job_columns(std::string_view list);

struct JobsView {
  Instant now{};
  /// Of the terminal: no line is longer, and where they would be each reason stands below its job.
  /// 0: nothing is cut.
  std::size_t width = 0;
  bool with_user = false;            // among the usual columns
  std::vector<std::string> columns;  // empty: the usual ones that say something of these jobs
  bool gathered = false;             // jobs of an array that wait for one reason are one line
};
/// A line or more for each job, and a header.
[[nodiscard]] std::string jobs_table(std::span<const ApiJob> jobs, const JobsView& view);

/// What has a place first, then what waits, each with the oldest first; then what has ended, with
/// the newest first.
void sort_for_people(std::vector<ApiJob>& jobs);

}  // namespace cleave::cli
