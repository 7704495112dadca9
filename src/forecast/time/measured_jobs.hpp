#pragma once
// Measured jobs as rows of numbers: what is known of each before it runs (batch, slices, profile
// counters, its time on the whole GPU) and how long it took. Read from CSV with a header line; the
// names are the user's own.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bad_lines.hpp"
#include "base/result.hpp"
#include "forecast/time/boosted_trees.hpp"

namespace cleave {

/// Jobs with features and times.
struct MeasuredJobs {
  std::vector<std::string> features;  // names of the columns of `rows`
  NumberRows rows;                    // NaN where a cell was empty
  std::vector<double> seconds;        // how long each took, above 0
  /// By row: rows of one group are held out together. May be empty.
  std::vector<std::string> groups;
  std::vector<std::string> passed_over;  // columns of text, and empty ones
  std::size_t left_out = 0;              // rows without a time

  [[nodiscard]] std::size_t size() const { return seconds.size(); }
  /// The index of a feature; nullopt if there is none of that name.
  [[nodiscard]] std::optional<std::size_t> feature(std::string_view name) const;
  /// Rows that lack the feature.
  [[nodiscard]] std::size_t missing(std::size_t feature) const;
  /// Those rows, in that order.
  [[nodiscard]] MeasuredJobs part(std::span<const std::size_t> which) const;
};

/// Which columns are what.
struct MeasuredJobsOptions {
  std::string target = "time_s";
  std::string group;                  // a column; empty: every row is its own group
  std::vector<std::string> features;  // empty: every column of numbers but target and group
  BadLines* bad_lines = nullptr;      // those are passed over; null: the first is an error
};

/// A column holds numbers if its first non-empty cell is a number. After that, text in it is an
/// error with its line, since a damaged cell must not silently cost a feature; an empty cell was
/// not measured. Rows with an empty target did not run or did not fit: they are counted and left
/// out. A target must be above 0.
[[nodiscard]] Result<MeasuredJobs> read_measured_jobs(std::string_view text,
                                                      const std::string& place,
                                                      const MeasuredJobsOptions& options);

/// Jobs whose time is to be predicted.
struct AskedJob {
  std::string place;        // "jobs.csv:17"
  std::vector<double> row;  // empty if a value is missing
  std::string missing;      // which
};
/// Reads the named columns and ignores the others. An empty cell is NaN in the columns of
/// `may_miss`; in others the row cannot be answered. Text instead of a number is an error,
/// or one of the bad lines where they are passed over.
[[nodiscard]] Result<std::vector<AskedJob>> read_asked_jobs(
    std::string_view text, const std::string& place, std::span<const std::string> features,
    std::span<const std::string> may_miss = {}, BadLines* bad_lines = nullptr);

}  // namespace cleave
