#pragma once
// The batch-aware partition predictor of *Dyna-P*, 3.1.1: which partition serves a job of a given
// batch size best, from measured latency and throughput (Equations 2 to 4, Algorithm 1). A
// partition is an edge of the job if the job's memory fits, its batch was measured there, and
// latency plus margin meets the deadline. (The paper's listing leaves out the deadline, reading
// D16.) The weight of an edge is
//
//   lambda * (L_base - L) / L_base + (1 - lambda) * (MT - MT_base) / MT_base
//
// with the base measured at a largest batch (D4, BatchBase). The heaviest edge is chosen; among
// equal ones the one with the fewest slices, then the first of the table.
//
// Everything is written for two types of number: double, whose ties are within 1e-9, and Fraction,
// which is exact. The units of memory, latency and throughput are the caller's, the same for all
// rows, jobs and partitions.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// Whether a exceeds b by more than rounding: 1e-9, relative for numbers beyond 1.
inline bool clearly_greater(double a, double b) {
  return a - b > 1e-9 * std::max({1.0, std::fabs(a), std::fabs(b)});
}

/// One measurement: an application with a batch size on a partition. Both measures are above zero.
template <class Number>
struct MeasuredRow {
  std::int64_t batch = 1;
  Number latency{}, throughput{};
};

/// All measurements, by application and partition: the paper's profile repository.
template <class Number>
class ProfileRows {
 public:
  /// A second measurement of the same batch replaces the first.
  void add(std::string_view application, std::string_view partition,
           const MeasuredRow<Number>& row) {
    std::vector<MeasuredRow<Number>>& rows =
        rows_[std::string(application)][std::string(partition)];
    const auto at = std::ranges::lower_bound(rows, row.batch, {}, &MeasuredRow<Number>::batch);
    if (at != rows.end() && at->batch == row.batch) {
      *at = row;
    } else {
      rows.insert(at, row);
    }
  }

  /// Null if this batch was not measured there.
  [[nodiscard]] const MeasuredRow<Number>* find(std::string_view application,
                                                std::string_view partition,
                                                std::int64_t batch) const {
    const auto* rows = rows_of(application, partition);
    if (rows == nullptr) return nullptr;
    const auto at = std::ranges::lower_bound(*rows, batch, {}, &MeasuredRow<Number>::batch);
    return at != rows->end() && at->batch == batch ? &*at : nullptr;
  }

  /// The row of the largest batch that was measured there; null if none was.
  [[nodiscard]] const MeasuredRow<Number>* largest(std::string_view application,
                                                   std::string_view partition) const {
    const auto* rows = rows_of(application, partition);
    return rows == nullptr ? nullptr : &rows->back();  // lists are never empty
  }

 private:
  const std::vector<MeasuredRow<Number>>* rows_of(std::string_view application,
                                                  std::string_view partition) const {
    const auto by_partition = rows_.find(application);
    if (by_partition == rows_.end()) return nullptr;
    const auto rows = by_partition->second.find(partition);
    return rows == by_partition->second.end() ? nullptr : &rows->second;
  }

  template <class Value>
  using Named = std::map<std::string, Value, std::less<>>;
  Named<Named<std::vector<MeasuredRow<Number>>>> rows_;  // by batch, ascending
};

/// A partition that a job may get. Those of one GPU model make a table.
template <class Number>
struct PartitionOption {
  std::string name;
  int slices = 1;
  Number memory{};
};

/// A job to choose a partition for.
template <class Number>
struct BatchJob {
  std::string_view application;
  std::int64_t batch = 1;
  std::span<const Number> memory;  // on each partition of the table, or one value for all
  std::optional<Number> deadline;  // for the latency; empty: none
};

/// What weights are relative to (reading D4).
enum class BatchBase {
  own,  // the largest batch measured on the same partition, as in the paper
  /// The largest batch on the largest partition on which the application was measured. This makes
  /// the weights of different partitions comparable.
  full,
};

/// How latency and throughput become one weight.
template <class Number>
struct PartitionWeighing {
  Number lambda{};  // 0: throughput alone, 1: latency alone
  Number margin{};  // added to the latency before it is compared with the deadline
  BatchBase base = BatchBase::own;
};

/// A partition that the job may get, with its weight.
template <class Number>
struct PartitionEdge {
  std::size_t partition = 0;  // index into the table
  Number delta_latency{}, delta_throughput{}, weight{};
};

/// Why a job has no edge to a partition.
enum class Exclusion {
  memory,    // it needs more than the partition has, or its batch was not measured there
  deadline,  // latency plus margin exceeds the deadline
};
std::string_view name(Exclusion reason);

/// A partition without an edge.
struct ExcludedPartition {
  std::size_t partition = 0;
  Exclusion reason = Exclusion::memory;
};

/// Edges and exclusions in the order of the table; together they cover each partition once.
template <class Number>
struct PartitionChoice {
  std::vector<PartitionEdge<Number>> edges;
  std::vector<ExcludedPartition> excluded;
  std::optional<std::size_t> choice;  // index into the table; empty without edges
};

/// Algorithm 1 for one job.
template <class Number>
PartitionChoice<Number> choose_partition(const ProfileRows<Number>& rows,
                                         std::span<const PartitionOption<Number>> table,
                                         const BatchJob<Number>& job,
                                         const PartitionWeighing<Number>& weighing);

}  // namespace cleave
