#pragma once
// A mixed-integer program given to CBC as a user would give it: with its preprocessing, cuts and
// heuristics, a limit on wall time, perhaps a solution to start from; and a watch on when its best
// solution and its bound came near each other.

#include <optional>
#include <vector>

#include "base/time.hpp"

namespace cleave {

/// Minimise cost times x with row_lower <= A x <= row_upper and bounds on x.
class WpmProgram {
 public:
  static constexpr double infinite = 1e30;

  /// Returns the column's number.
  int add_column(double lower, double upper, bool integer, double cost);
  /// Rows are filled while they are the last one.
  int add_row(double lower, double upper);
  void put(int column, double coefficient);

  [[nodiscard]] int columns() const { return static_cast<int>(cost_.size()); }
  [[nodiscard]] int rows() const { return static_cast<int>(row_lower_.size()); }
  [[nodiscard]] int integers() const;
  [[nodiscard]] double cost_of(const std::vector<double>& x) const;
  /// Whether x keeps every row, bound and integrality.
  [[nodiscard]] bool keeps(const std::vector<double>& x) const;

 private:
  friend class WpmSearch;
  std::vector<double> lower_, upper_, cost_;
  std::vector<char> integer_;
  std::vector<double> row_lower_, row_upper_;
  std::vector<int> entry_row_, entry_column_;
  std::vector<double> entry_;
};

/// How a search by CBC ended.
struct WpmSearchOutcome {
  bool optimal = false;
  std::optional<std::vector<double>> x;  // the best solution
  double bound = 0;
  double seconds = 0;
  std::optional<double> seconds_to_gap;
};

/// When solution and bound are near enough: when they differ by this share of the solution's whole
/// cost, which is what the program counts and a constant.
struct WpmGap {
  double share;
  double constant;
};

/// Costs must be whole numbers for whole x: what is within 0.5 of the bound counts as optimal.
WpmSearchOutcome search(const WpmProgram& program, const std::vector<double>* start, Duration limit,
                        WpmGap gap);

}  // namespace cleave
