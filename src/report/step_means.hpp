#pragma once
// A number that changes in steps, as its means over equal parts of time: of a run whose length is
// not known before it ends, in memory that does not grow.

#include <cstddef>
#include <vector>

#include "base/time.hpp"

namespace cleave::report {

/// Means over at most `most` parts, of one second each or twice, four times, ... as much.
class StepMeans {
 public:
  explicit StepMeans(std::size_t most) : most_(most) {}

  /// From `begin` to `end`, counted from the beginning of the run, it has this value beside what
  /// else was added. In any order.
  void add(Duration begin, Duration end, double value);

  [[nodiscard]] Duration width() const { return width_; }
  /// By part, in parts of `width`, which is this one's or a power of two times as long; as many as
  /// `end` needs. The last is a mean over what there is of it.
  [[nodiscard]] std::vector<double> means(Duration width, Duration end) const;

 private:
  void widen();

  std::size_t most_;
  Duration width_ = std::chrono::seconds(1);
  std::vector<double> sums_;  // value times seconds
};

}  // namespace cleave::report
