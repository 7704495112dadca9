#pragma once
// A comparison for spreadsheets and plots.

#include <string>
#include <vector>

#include "simulate/comparison.hpp"

namespace cleave::cli {

/// One comparison of those of a sweep.
struct SweptRuns {
  std::string value;  // of the swept option; empty: there is no sweep
  std::vector<SeedRuns> seeds;
};

/// A row for each value of the sweep, seed and scheduler, with every figure that is compared. The
/// first column is the swept option, if there is one.
[[nodiscard]] std::string compare_csv(const std::string& option,
                                      const std::vector<SweptRuns>& runs);

}  // namespace cleave::cli
