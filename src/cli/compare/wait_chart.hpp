#pragma once
// How long jobs waited, as a distribution: what means and quantiles do not show.

#include <array>
#include <string>
#include <vector>

#include "simulate/comparison.hpp"

namespace cleave::cli {

/// Counts jobs by how long they waited, for each scheduler.
class WaitChart {
 public:
  /// Of one seed.
  void add(const std::vector<std::vector<JobOutcome>>& by_scheduler);
  /// A row for each scheduler; empty where no job finished.
  [[nodiscard]] std::string text(const std::vector<std::string>& schedulers, bool unicode,
                                 std::size_t width) const;

 private:
  static constexpr std::size_t bins = 7;
  std::vector<std::array<std::size_t, bins>> counts_;
};

}  // namespace cleave::cli
