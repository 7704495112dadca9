#pragma once
// How far a job is from the measured ones. Features are compared in standard deviations of the
// measured jobs; those that are always above zero (batch, time, slices) by their logarithms, since
// 1 and 2 are as far apart as 64 and 128. A feature that one of two jobs lacks (NaN) is left out,
// and the others count for it.

#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "forecast/time/boosted_trees.hpp"

namespace cleave {

/// The values of one feature among the measured jobs.
struct FeatureRange {
  std::string name;
  double least = 0, most = 0;
  bool logarithmic = false;  // all above zero
  double deviation = 0;      // standard deviation, of the logarithm if that is compared
  bool may_miss = false;     // some had none

  /// From least / (1 + margin) to most x (1 + margin) if the feature is logarithmic; otherwise
  /// `margin` of the range is added at both ends.
  [[nodiscard]] double least_with(double margin) const;
  [[nodiscard]] double most_with(double margin) const;

  friend bool operator==(const FeatureRange&, const FeatureRange&) = default;
};

/// The measured job that is nearest to a row.
struct NearestJob {
  std::size_t row = 0;      // among the measured
  double distance = 0;      // Euclidean
  std::size_t feature = 0;  // the one that differs most
};

/// The measured jobs, ready to be compared with.
class JobDistance {
 public:
  /// Asserts that there are rows. Ranges are those of all rows; if there are more than most_kept, a
  /// regular sample of them is kept for comparison.
  static constexpr std::size_t most_kept = 4000;
  JobDistance(const std::vector<std::string>& features, const NumberRows& rows);

  [[nodiscard]] const std::vector<FeatureRange>& ranges() const { return ranges_; }
  /// The kept row nearest to `row`; the first among equals. The result is an index into `kept()`.
  [[nodiscard]] NearestJob nearest(std::span<const double> row) const;
  [[nodiscard]] const NumberRows& kept() const { return kept_; }
  /// The index of a kept row among the given ones.
  [[nodiscard]] std::size_t given(std::size_t kept_row) const { return given_[kept_row]; }

  [[nodiscard]] Json to_json() const;
  [[nodiscard]] static Result<JobDistance> from_json(const Json& document,
                                                     const std::string& place);

 private:
  JobDistance() = default;
  void scale_rows();
  [[nodiscard]] double scaled(double value, std::size_t feature) const;

  std::vector<FeatureRange> ranges_;
  NumberRows kept_;
  std::vector<std::size_t> given_;
  std::vector<double> scaled_;  // the kept rows in standard deviations
};

}  // namespace cleave
