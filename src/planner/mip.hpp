#pragma once
// A mixed-integer programme with several objectives in order of importance, solved with COIN-OR's
// CLP and CBC. All data are whole numbers, and so are the values of every objective at whole
// solutions; a bound from a linear programme may therefore be rounded up.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace cleave {

using Deadline = std::chrono::steady_clock::time_point;

/// One coefficient of a column.
struct MipEntry {
  int row;
  std::int64_t value;
};

/// The programme, built row by row and column by column; every objective is minimised.
class Mip {
 public:
  static constexpr std::int64_t unbounded = INT64_MAX;

  explicit Mip(std::size_t objectives) : objectives_(objectives) {}

  /// A row with these limits on the sum of its entries; -unbounded and unbounded for no limit.
  /// Returns its number.
  int add_row(std::int64_t least, std::int64_t most);
  /// A column of whole numbers from 0 to `most`, with its share in every objective. Returns its
  /// number.
  int add_column(std::int64_t most, std::span<const std::int64_t> costs,
                 std::span<const MipEntry> entries);

  [[nodiscard]] int rows() const { return static_cast<int>(least_.size()); }
  [[nodiscard]] int columns() const { return static_cast<int>(most_.size()); }
  [[nodiscard]] std::size_t objectives() const { return objectives_; }

  /// A column as the solvers get it.
  struct Column {
    std::span<const std::int64_t> costs;
    std::span<const MipEntry> entries;
    std::int64_t most;
  };
  [[nodiscard]] Column column(int number) const {
    const auto c = static_cast<std::size_t>(number);
    return {std::span(costs_).subspan(c * objectives_, objectives_),
            std::span(entries_).subspan(starts_[c], starts_[c + 1] - starts_[c]), most_[c]};
  }
  [[nodiscard]] std::int64_t least(int row) const { return least_[static_cast<std::size_t>(row)]; }
  [[nodiscard]] std::int64_t most(int row) const {
    return row_most_[static_cast<std::size_t>(row)];
  }

 private:
  std::size_t objectives_;
  std::vector<std::int64_t> least_, row_most_;
  std::vector<std::int64_t> most_, costs_;
  std::vector<MipEntry> entries_;
  std::vector<std::size_t> starts_{0};
};

/// How a search ended.
enum class MipEnd {
  proven,      // every value equals its bound
  stopped,     // out of time: values and bounds are the best so far
  infeasible,  // there is no solution with the values that were given as known
};

/// Where a bound comes from.
enum class MipProof {
  known,       // it was given
  relaxation,  // the linear programme, rounded up
  search,      // branch and bound
  unknown,     // there was no time: the bound says nothing
};

/// The result of a search.
struct MipOutcome {
  MipEnd end = MipEnd::infeasible;
  std::vector<std::int64_t> solution;        // of each column; empty if none was found
  std::vector<std::int64_t> values, bounds;  // of each objective; values only with a solution
  std::vector<MipProof> proofs;              // of each bound
};

/// Loads the library that holds the solver, at the first call; fails where that or COIN-OR is not
/// installed.
[[nodiscard]] Result<void> load_solver();

/// Minimises the first objective, then the second among the solutions that are best by the first,
/// and so on. `known`: values of the first objectives that are the least if any solution has them.
/// Asserts that the solver can be loaded.
MipOutcome minimise(const Mip& mip, std::span<const std::int64_t> known, Deadline deadline);

}  // namespace cleave
