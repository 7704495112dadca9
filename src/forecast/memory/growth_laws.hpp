#pragma once
// The peak that a series is heading for if its law of growth is unknown: it may rest, rise along a
// line, or come to rest sooner or later; and added to that may be independent noise, a wandering
// level or a random walk. Every law is fitted to the series so far, yields a distribution of the
// peak, and is weighted by how well it explains the data (Schwarz's criterion). The answer is a
// mixture: an early straight line leaves open whether growth goes on, so the lower quantiles stay
// low until the data decide.
//
// Method: ours. The laws' errors are autoregressive, each with a correlation from a small grid,
// fitted by Cochrane and Orcutt's differences (1949). Noise adds to the peak the largest of as many
// normal draws as there are independent ones ahead (Blom 1958). The uncertainty of a fitted line
// follows Student's t.

#include <array>
#include <cstddef>
#include <vector>

#include "forecast/memory/series_digest.hpp"

namespace cleave {

class LaggedLine;
class StudentCurve;

/// The distribution of a job's peak: a mixture over the laws.
class PeakDistribution {
 public:
  /// Probability that the peak is above `size`.
  [[nodiscard]] double above(double size) const;
  /// The size that the peak stays below with this probability, 0 < share < 1.
  [[nodiscard]] double quantile(double share) const;

 private:
  friend class GrowthLaws;
  /// One law's contribution.
  struct Part {
    double weight = 0, centre = 0, scale = 0, freedom = 1;
    const StudentCurve* curve = nullptr;  // of `freedom`
  };
  std::vector<Part> parts_;
  double highest_ = 0;  // so far: the peak is at least this
};

/// All laws, fitted to one series.
class GrowthLaws {
 public:
  /// The fewest points of the digest from which laws can be told apart at all.
  static constexpr std::size_t fewest_points = 6;

  /// Fits every law to the samples of a run that ends with iteration `last`; the series must have
  /// `fewest_points`.
  GrowthLaws(const SeriesDigest& series, double last);

  /// The highest memory until that iteration, including the past.
  [[nodiscard]] PeakDistribution peak(double until) const;

 private:
  /// A curve with its errors' correlation: memory = level + slope x curve(iteration) + error.
  struct Law {
    std::size_t curve = 0;
    std::size_t correlation = 0;  // which
    double weight = 0;
    double level = 0, slope = 0;
    double variance = 0, freedom = 1;  // of the new part of each error
    double middle = 0, square = 0;     // mean and sum of squares of the curve's differences
    double residuals = 0;              // mean of their squares
  };
  /// The rest of the run until the iteration that is asked for.
  struct Ahead {
    double until = 0, steps = 0;            // iterations, and points
    std::array<double, 7> remembered = {};  // of an error until then, by correlation
  };

  void fit(std::size_t curve, std::size_t correlation, const LaggedLine& line, double log_count);
  void weigh();
  [[nodiscard]] PeakDistribution::Part ahead_of_walk(const Law& law, const Ahead& ahead) const;
  [[nodiscard]] PeakDistribution::Part ahead_of_trend(const Law& law, const Ahead& ahead) const;

  const SeriesDigest* series_;
  double last_;
  double least_spread_;
  std::vector<Law> laws_;  // those with weight
};

}  // namespace cleave
