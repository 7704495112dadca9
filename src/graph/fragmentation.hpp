#pragma once
// Fragmentation cost of a GPU (*An Online Fragmentation-Aware Scheduler*, IV-B, equations 3 to 5,
// readings F1 to F4): the mean over profiles of the share of instances that would fit by size but
// do not fit by position. Stored as a whole number of 25,200ths, so that equal costs compare equal,
// on GPUs of different models too.

#include <compare>
#include <vector>

#include "base/ratio.hpp"
#include "model/geometry.hpp"

namespace cleave {

/// A cost from 0 (nothing is lost) to 1.
struct FragmentationCost {
  /// 420 = lcm(1..7) covers every ideal count up to seven, 60 = lcm(1..6) every number of plain
  /// profiles.
  static constexpr int denominator = 420 * 60;

  int units = 0;  // of 1/denominator

  [[nodiscard]] Ratio ratio() const { return {units, denominator}; }
  friend auto operator<=>(FragmentationCost, FragmentationCost) = default;
};

/// How many instances of a profile would fit if only the free amounts of compute and memory
/// mattered, and how many of its starts are free.
struct FitCount {
  const Profile* profile;
  int ideal;
  int valid;
};

/// For each plain profile of the geometry's set, from large to small. `occupied` are the instances
/// that count: held ones and walls, not idle ones.
std::vector<FitCount> fit_counts(const Geometry& geometry, PlacementSet occupied);

/// Computed by the definition; StateGraph has a table of it. Asserts that the model's numbers fit
/// the denominator.
FragmentationCost fragmentation_cost(const Geometry& geometry, PlacementSet occupied);

}  // namespace cleave
