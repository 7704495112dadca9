#pragma once
// A series that comes sample by sample, kept as the highest value of each of at most 128 equal
// stretches. A stretch is one sample at first and doubles when the room is used up: constant
// memory, and on average constant time for each sample. The highest value decides whether a job
// runs out of memory, and it shows the effect of noise, which need not be extrapolated from single
// samples.

#include <array>
#include <cstdint>
#include <span>

namespace cleave {

/// The digest of one series.
class SeriesDigest {
 public:
  /// The summary of one stretch.
  struct Point {
    double at = 0;       // mean iteration of the stretch
    double highest = 0;  // in it
  };
  static constexpr std::size_t most_points = 128;

  /// Iterations rise.
  void add(double iteration, double value);

  [[nodiscard]] std::span<const Point> points() const { return std::span(points_).first(count_); }
  /// Samples in a stretch.
  [[nodiscard]] std::int64_t stretch() const { return stretch_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  /// Iterations from one point to the next; more than the stretch if samples are missing. 1 with
  /// one point.
  [[nodiscard]] double spacing() const;
  [[nodiscard]] double highest() const { return highest_; }

 private:
  void merge();

  std::array<Point, most_points> points_{};
  std::size_t count_ = 0;
  std::int64_t stretch_ = 1, samples_ = 0;
  double open_sum_ = 0, open_highest_ = 0;  // the unfinished stretch
  std::int64_t open_ = 0;
  double highest_ = 0;
};

}  // namespace cleave
