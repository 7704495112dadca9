#pragma once
// How far a job is from those that were measured. Features are compared in standard deviations of
// the measured jobs; those that are above zero throughout (batch, time, slices) by their
// logarithms, since 1 and 2 are as far apart as 64 and 128. A feature that one of two jobs lacks
// (NaN) is left out, and the others count for it.

#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "forecast/time/boosted_trees.hpp"

namespace cleave {

/// What the measured jobs had of one feature.
struct FeatureRange {
  std::string name;
  double least = 0, most = 0;
  bool logarithmic = false;  // all above zero
  double deviation = 0;      // standard deviation, of the logarithm where that is compared
  bool may_miss = false;     // some had none

  /// least / (1 + margin) to most x (1 + margin) where the feature is logarithmic; otherwise
  /// `margin` of the range is added at both ends.
  [[nodiscard]] double least_with(double margin) const;
  [[nodiscard]] double most_with(double margin) const;

  friend bool operator==(const FeatureRange&, const FeatureRange&) = default;
};

struct NearestJob {
  std::size_t row = 0;      // among the measured
  double distance = 0;      // Euclidean
  std::size_t feature = 0;  // that which differs most
};

class JobDistance {
 public:
  /// Asserts that there are rows. Ranges are those of all rows; of more than most_kept, evenly
  /// spread ones are kept to be compared with.
  static constexpr std::size_t most_kept = 4000;
  JobDistance(const std::vector<std::string>& features, const NumberRows& rows);

  [[nodiscard]] const std::vector<FeatureRange>& ranges() const { return ranges_; }
  /// The kept row nearest to `row`; the first of those that are equally near. `row` counts within
  /// what `kept()` has.
  [[nodiscard]] NearestJob nearest(std::span<const double> row) const;
  [[nodiscard]] const NumberRows& kept() const { return kept_; }
  /// Place of a kept row among those that were given.
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
