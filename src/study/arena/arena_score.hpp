#pragma once
// What an arena's runs say of a scheduler. In each cell it is measured against the one baseline
// that is best there in the metric: chosen afterwards, so that luck is on the baselines' side.
// Values are geometric means over a cell's seeds; a run counts only where it finishes every job
// with every seed.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/arena/arena_runs.hpp"

namespace cleave {

/// What is compared; lower is better.
struct ArenaMetric {
  std::string_view name, words;
  double ArenaRun::*value;
};
/// Turnaround first.
[[nodiscard]] std::span<const ArenaMetric> arena_metrics();

/// From here on a cell is lost, and badly lost.
inline constexpr double lost_ratio = 1.03, badly_lost_ratio = 1.10;

/// A scheduler in one cell, by one metric.
struct ArenaScore {
  enum class State : std::uint8_t {
    compared,
    left_out,    // it does not run there
    unfinished,  // not all jobs were finished, or it broke off: a loss
    unrivalled   // no baseline finishes all jobs
  } state = State::left_out;
  std::string why;                  // it is left out, or broke off
  std::optional<double> value;      // where it finishes
  std::optional<std::size_t> best;  // the contestant
  double best_value = 0;
  double ratio = 0;             // value over best_value, where compared
  std::optional<double> error;  // standard error of the ratio's logarithm; empty: one seed

  [[nodiscard]] bool lost(double from = lost_ratio) const;
  /// Whether the ratio is more than two standard errors above 1; never with one seed.
  [[nodiscard]] bool beyond_noise() const;
};

/// Of a contestant in every cell.
[[nodiscard]] std::vector<ArenaScore> arena_scores(const ArenaResults& results,
                                                   std::size_t contestant,
                                                   const ArenaMetric& metric);
/// Empty where the contestant does not finish in this cell.
[[nodiscard]] std::optional<double> arena_value(const ArenaResults::Of& cell,
                                                std::size_t contestant, double ArenaRun::*value);
/// Mean turnaround over the lower bound of the cell, in the same way.
[[nodiscard]] std::optional<double> times_bound(const ArenaResults::Of& cell,
                                                std::size_t contestant);
/// An arithmetic mean over the seeds, of what may be zero.
[[nodiscard]] std::optional<double> arena_mean(const ArenaResults::Of& cell, std::size_t contestant,
                                               double ArenaRun::*value);

/// Many scores in one line.
struct ArenaSummary {
  std::size_t cells = 0;  // compared
  std::size_t unfinished = 0;
  double mean = 1, worst = 1;  // geometric, over the cells compared
  std::size_t worst_cell = 0;
  std::size_t lost = 0, lost_beyond_noise = 0, badly_lost = 0;  // with those unfinished
};
/// Over the cells of `which`.
[[nodiscard]] ArenaSummary summary_of(const std::vector<ArenaScore>& scores,
                                      const std::vector<bool>& which);

/// Cells that are looked at together.
struct ArenaGroup {
  std::string_view name;
  bool (*has)(const ArenaCell& cell);
  std::optional<double> goal = {};  // for the mean of turnarounds
};
/// All of them first; others may overlap.
[[nodiscard]] std::span<const ArenaGroup> arena_groups();
[[nodiscard]] std::vector<bool> cells_of(const ArenaResults& results, const ArenaGroup& group);

}  // namespace cleave
