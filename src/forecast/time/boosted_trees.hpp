#pragma once
// Gradient-boosted regression trees. XGBoost grows them (through its C interface, single-threaded,
// so that the same rows and the same seed give the same trees byte for byte); they are kept here as
// plain tables and walked by a few lines of our own. So a prediction needs no library, takes about
// a microsecond, is safe in any number of threads, and an untrusted model file never reaches a
// parser that trusts it.
//
// Chen and Guestrin, "XGBoost: A Scalable Tree Boosting System", KDD 2016; Dyna-P, 3.1.2, uses it
// for completion times.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"

namespace cleave {

/// Rows of the same length, one after the other. A missing value is NaN.
struct NumberRows {
  std::size_t width = 0;
  std::vector<double> cells;

  [[nodiscard]] std::size_t size() const { return width == 0 ? 0 : cells.size() / width; }
  [[nodiscard]] std::span<const double> operator[](std::size_t row) const {
    return std::span(cells).subspan(row * width, width);
  }
  /// Asserts that the row has `width` cells.
  void add(std::span<const double> row);
};

/// XGBoost's parameters.
struct BoostingOptions {
  int rounds = 200;            // trees
  int depth = 6;               // splits from the root to a leaf, at most
  double learning_rate = 0.1;  // the share of a tree's answer that counts
  double row_share = 0.8;      // of the rows, drawn for each tree
  double column_share = 1;     // of the columns, drawn for each tree
  double least_weight = 1;     // rows in a leaf, at least
  double shrinkage = 1;        // L2 on the leaves
  std::uint64_t seed = 1;      // matters where one of the shares is below 1
};

/// The largest number that training and prediction accept, because of single precision.
inline constexpr double largest_number = 1e30;

/// A trained model.
class BoostedTrees {
 public:
  /// Least squares on `targets`, one for each row. Refuses (bad_input) no rows, no columns and
  /// numbers beyond largest_number. A cell may be missing; a target may not.
  [[nodiscard]] static Result<BoostedTrees> train(const NumberRows& rows,
                                                  std::span<const double> targets,
                                                  const BoostingOptions& options);

  /// Asserts that the row has width() cells.
  [[nodiscard]] double predict(std::span<const double> row) const;

  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t trees() const { return roots_.size(); }

  /// {"width", "base", "trees": [{"feature": [], "value": [], "left": []}]}. Node 0 is the root. A
  /// feature of -1 marks a leaf, whose value is its answer; otherwise a row with less than the
  /// value in that feature goes to the node `left`, any other to the one after it. If cells were
  /// missing, there is also a list "missing_left": 1 where a row without that feature goes left.
  [[nodiscard]] Json to_json() const;
  /// Refuses everything that would break a walk: nodes that do not exist or lead back, features
  /// beyond the width, invalid numbers.
  [[nodiscard]] static Result<BoostedTrees> from_json(const Json& document,
                                                      const std::string& place);

  friend bool operator==(const BoostedTrees&, const BoostedTrees&) = default;

 private:
  /// A split or a leaf.
  struct Node {
    std::int32_t feature = -1;  // -1: a leaf
    float value = 0;            // where it splits, or the leaf's answer
    std::uint32_t left = 0;     // index into nodes_; the right one follows it
    bool missing_left = false;  // where a row without the feature goes
    friend bool operator==(const Node&, const Node&) = default;
  };

  [[nodiscard]] static Result<BoostedTrees> from_xgboost(const std::string& model,
                                                         std::size_t width, bool missing);
  Result<void> add_tree(const Json& tree, const std::string& place);

  std::size_t width_ = 0;
  bool missing_ = false;  // cells were missing in training
  double base_ = 0;       // the mean of the targets, which the trees correct
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> roots_;
};

}  // namespace cleave
