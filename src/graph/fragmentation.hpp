#pragma once
// Fragmentation cost of a GPU (*An Online Fragmentation-Aware Scheduler*, IV-B, equations 3 to 5,
// readings F1 to F4): the mean over profiles of the share of instances that would fit by size and
// do not fit by position. Held as a whole number of 1/25,200ths, so that equal costs are equal and
// GPUs of different models compare.

#include <compare>
#include <vector>

#include "base/ratio.hpp"
#include "model/geometry.hpp"

namespace cleave {

struct FragmentationCost {
  /// 420 = lcm(1..7) serves every ideal count up to seven, 60 = lcm(1..6) every number of plain
  /// profiles.
  static constexpr int denominator = 420 * 60;

  int units = 0;  // of 1/denominator

  [[nodiscard]] Ratio ratio() const { return {units, denominator}; }
  friend auto operator<=>(FragmentationCost, FragmentationCost) = default;
};

/// One profile's part: how many would fit if only the amounts of free compute and memory mattered,
/// and how many allowed starts are free.
struct FitCount {
  const Profile* profile;
  int ideal;
  int valid;
};

/// For each plain profile of the geometry's set, from large to small. `occupied` are the instances
/// that count: held ones and walls, not idle ones.
std::vector<FitCount> fit_counts(const Geometry& geometry, PlacementSet occupied);

/// By the definition; StateGraph has it as a table. Asserts that the model's numbers fit the
/// denominator.
FragmentationCost fragmentation_cost(const Geometry& geometry, PlacementSet occupied);

}  // namespace cleave
