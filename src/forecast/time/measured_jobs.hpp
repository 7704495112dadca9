#pragma once
// Jobs that were measured, as rows of numbers: what is known of each before it runs (batch, slices,
// profile counters, its time on the whole GPU) and how long it took. Read from CSV with a header
// line; the names are the user's own.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "forecast/time/boosted_trees.hpp"

namespace cleave {

struct MeasuredJobs {
  std::vector<std::string> features;  // names of the columns of `rows`
  NumberRows rows;                    // NaN where a cell was empty
  std::vector<double> seconds;        // how long each took, above 0
  std::vector<std::string>
      groups;  // of each row: rows of one group are held out together; may be empty
  std::vector<std::string> passed_over;  // columns of text, and empty ones
  std::size_t left_out = 0;              // rows without a time

  [[nodiscard]] std::size_t size() const { return seconds.size(); }
  /// Place of a feature; nullopt when there is none of that name.
  [[nodiscard]] std::optional<std::size_t> feature(std::string_view name) const;
  /// Rows that lack the feature.
  [[nodiscard]] std::size_t missing(std::size_t feature) const;
  /// Those rows, in that order.
  [[nodiscard]] MeasuredJobs part(std::span<const std::size_t> which) const;
};

struct MeasuredJobsOptions {
  std::string target = "time_s";
  std::string group;                  // a column; empty: every row by itself
  std::vector<std::string> features;  // empty: every column of numbers but target and group
};

/// A column is one of numbers when its first cell that is not empty is a number. From then on text
/// in it is an error with its line, since a torn cell must not cost a feature in silence; an empty
/// cell was not measured. Rows whose target is empty did not run or did not fit: they are counted
/// and left out. A target must be above 0.
[[nodiscard]] Result<MeasuredJobs> read_measured_jobs(std::string_view text,
                                                      const std::string& place,
                                                      const MeasuredJobsOptions& options);

/// Jobs whose time is asked for.
struct AskedJob {
  std::string place;        // "jobs.csv:17"
  std::vector<double> row;  // empty where something is missing
  std::string missing;      // what is
};
/// Reads the named columns and passes over the others. An empty cell is NaN in those of `may_miss`;
/// elsewhere it makes a row that cannot be answered. Text where a number belongs is an error.
[[nodiscard]] Result<std::vector<AskedJob>> read_asked_jobs(
    std::string_view text, const std::string& place, std::span<const std::string> features,
    std::span<const std::string> may_miss = {});

}  // namespace cleave
