#pragma once
// What peak a series is going to, when nobody knows by which law it grows: it may rest, rise along
// a line, come to rest after a while, soon or late, and what is added to that may be independent
// noise, wander, or pile up as a random walk does. Every law is fitted to the series so far; each
// then says how the peak is distributed, and counts by how well it explains what was seen
// (Schwarz's criterion). The answer is a distribution: an early straight line leaves open whether
// it goes on, and so the lower quantiles stay low until the data have told.
//
// Method: ours. The laws' errors are autoregressive, each with a correlation from a small grid,
// fitted by Cochrane and Orcutt's differences (1949); what noise adds to the peak is the largest of
// as many normal draws as there are independent ones ahead (Blom 1958); what is unknown of a fitted
// line follows Student's t.

#include <array>
#include <cstddef>
#include <vector>

#include "forecast/memory/series_digest.hpp"

namespace cleave {

class LaggedLine;
class StudentCurve;

class PeakDistribution {
 public:
  /// Probability that the peak is above `size`.
  [[nodiscard]] double above(double size) const;
  /// The size that the peak stays below with this probability, 0 < share < 1.
  [[nodiscard]] double quantile(double share) const;

 private:
  friend class GrowthLaws;
  struct Part {
    double weight = 0, centre = 0, scale = 0, freedom = 1;
    const StudentCurve* curve = nullptr;  // of `freedom`
  };
  std::vector<Part> parts_;
  double highest_ = 0;  // so far: the peak is at least this
};

class GrowthLaws {
 public:
  /// The fewest points of the digest from which laws can be told apart at all.
  static constexpr std::size_t fewest_points = 6;

  /// Fits every law to what was seen of a run that ends with iteration `last`; the series must have
  /// `fewest_points`.
  GrowthLaws(const SeriesDigest& series, double last);

  /// The highest memory until that iteration, what was seen included.
  [[nodiscard]] PeakDistribution peak(double until) const;

 private:
  /// A curve with its errors' correlation: memory = level + slope x curve(iteration) + error.
  struct Law {
    std::size_t curve = 0;
    std::size_t correlation = 0;  // which
    double weight = 0;
    double level = 0, slope = 0;
    double variance = 0, freedom = 1;  // of what is new in each error
    double middle = 0, square = 0;     // mean and sum of squares of the curve's differences
    double residuals = 0;              // mean of their squares
  };
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
  std::vector<Law> laws_;  // those that count
};

}  // namespace cleave
