#pragma once
// The batch-aware partition predictor of *Dyna-P*, 3.1.1: which partition serves a job of a given
// batch size best, from measured latency and throughput (Equations 2 to 4, Algorithm 1). A
// partition is an edge of the job when the job's memory fits, its batch has been measured there,
// and latency plus margin meets the deadline, which the listing leaves out (reading D16). The
// weight of an edge is
//
//   lambda * (L_base - L) / L_base + (1 - lambda) * (MT - MT_base) / MT_base
//
// with the base measured at a largest batch (D4, BatchBase). The heaviest edge is chosen; of equal
// ones that with the fewest slices, then the first of the table.
//
// All of it is written over the type of number: double, whose ties are within 1e-9, or an exact
// fraction with the four operations, an order and a `clearly_greater` of its own. The units of
// memory, latency and throughput are the caller's, the same for all rows, jobs and partitions.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// Whether a is above b by more than rounding: 1e-9, relative where the numbers are beyond 1.
inline bool clearly_greater(double a, double b) {
  return a - b > 1e-9 * std::max({1.0, std::fabs(a), std::fabs(b)});
}

/// One measurement: an application with a batch size on a partition. Both measures are above zero.
template <class Number>
struct MeasuredRow {
  std::int64_t batch = 1;
  Number latency{}, throughput{};
};

/// The measurements there are, by application and partition: the paper's profile repository.
template <class Number>
class ProfileRows {
 public:
  /// A second measurement of the same batch takes the place of the first.
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

  /// Null when this batch was not measured there.
  [[nodiscard]] const MeasuredRow<Number>* find(std::string_view application,
                                                std::string_view partition,
                                                std::int64_t batch) const {
    const auto* rows = rows_of(application, partition);
    if (rows == nullptr) return nullptr;
    const auto at = std::ranges::lower_bound(*rows, batch, {}, &MeasuredRow<Number>::batch);
    return at != rows->end() && at->batch == batch ? &*at : nullptr;
  }

  /// The row of the largest batch that was measured there; null when there is none.
  [[nodiscard]] const MeasuredRow<Number>* largest(std::string_view application,
                                                   std::string_view partition) const {
    const auto* rows = rows_of(application, partition);
    return rows == nullptr ? nullptr : &rows->back();  // a list begins with its first row
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

/// A partition that a job may be given. Those of one GPU model make a table.
template <class Number>
struct PartitionOption {
  std::string name;
  int slices = 1;
  Number memory{};
};

/// What a job asks for.
template <class Number>
struct BatchJob {
  std::string_view application;
  std::int64_t batch = 1;
  std::span<const Number> memory;  // of each partition of the table, or one for all
  std::optional<Number> deadline;  // for the latency; empty: any latency will do
};

/// What weights are relative to (reading D4).
enum class BatchBase {
  own,   // the largest batch measured on the same partition, as the paper has it
  full,  // the largest batch on the largest partition on which the application was measured: then
         // the weights of different partitions can be compared
};

template <class Number>
struct PartitionWeighing {
  Number lambda{};  // 0: throughput alone, 1: latency alone
  Number margin{};  // added to the latency before it is held against the deadline
  BatchBase base = BatchBase::own;
};

template <class Number>
struct PartitionEdge {
  std::size_t partition = 0;  // index into the table
  Number delta_latency{}, delta_throughput{}, weight{};
};

/// Why a job has no edge to a partition.
enum class Exclusion {
  memory,    // it needs more than the partition has, or its batch was not measured there
  deadline,  // latency and margin are beyond the deadline
};
std::string_view name(Exclusion reason);

struct ExcludedPartition {
  std::size_t partition = 0;
  Exclusion reason = Exclusion::memory;
};

/// Edges and exclusions in the order of the table; together they name each partition once.
template <class Number>
struct PartitionChoice {
  std::vector<PartitionEdge<Number>> edges;
  std::vector<ExcludedPartition> excluded;
  std::optional<std::size_t> choice;  // index into the table; empty without edges
};

/// The row that the weights of all partitions are relative to; null with BatchBase::own, and when
/// the application was not measured.
template <class Number>
const MeasuredRow<Number>* common_base(const ProfileRows<Number>& rows,
                                       std::string_view application,
                                       std::span<const PartitionOption<Number>> table,
                                       BatchBase base) {
  const MeasuredRow<Number>* best = nullptr;
  int slices = 0;
  if (base == BatchBase::own) return best;
  for (const PartitionOption<Number>& partition : table) {
    const auto* row = rows.largest(application, partition.name);
    if (row == nullptr || (best != nullptr && partition.slices <= slices)) continue;
    best = row;
    slices = partition.slices;
  }
  return best;
}

/// The edge with the greatest weight; ties: fewest slices, then the order of the table.
template <class Number>
std::optional<std::size_t> heaviest(std::span<const PartitionEdge<Number>> edges,
                                    std::span<const PartitionOption<Number>> table) {
  if (edges.empty()) return std::nullopt;
  const auto lighter = [](const auto& a, const auto& b) { return a.weight < b.weight; };
  const Number most = std::max_element(edges.begin(), edges.end(), lighter)->weight;
  std::optional<std::size_t> choice;
  for (const PartitionEdge<Number>& edge : edges) {
    if (clearly_greater(most, edge.weight)) continue;
    if (!choice || table[edge.partition].slices < table[*choice].slices) choice = edge.partition;
  }
  return choice;
}

/// Algorithm 1 for one job.
template <class Number>
PartitionChoice<Number> choose_partition(const ProfileRows<Number>& rows,
                                         std::span<const PartitionOption<Number>> table,
                                         const BatchJob<Number>& job,
                                         const PartitionWeighing<Number>& weighing) {
  assert(job.memory.size() == 1 || job.memory.size() == table.size());
  const MeasuredRow<Number>* shared = common_base(rows, job.application, table, weighing.base);
  PartitionChoice<Number> result;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto* row = rows.find(job.application, table[i].name, job.batch);
    const Number memory = job.memory[job.memory.size() == 1 ? 0 : i];
    if (row == nullptr || clearly_greater(memory, table[i].memory)) {
      result.excluded.push_back({i, Exclusion::memory});
      continue;
    }
    if (job.deadline && clearly_greater(row->latency + weighing.margin, *job.deadline)) {
      result.excluded.push_back({i, Exclusion::deadline});
      continue;
    }
    const auto& base = shared != nullptr ? *shared : *rows.largest(job.application, table[i].name);
    PartitionEdge<Number> edge{i, (base.latency - row->latency) / base.latency,
                               (row->throughput - base.throughput) / base.throughput, Number{}};
    edge.weight = weighing.lambda * edge.delta_latency +
                  (Number(1) - weighing.lambda) * edge.delta_throughput;
    result.edges.push_back(edge);
  }
  result.choice = heaviest(std::span<const PartitionEdge<Number>>(result.edges), table);
  return result;
}

// With double, as schedulers use it, it is compiled once.
extern template class ProfileRows<double>;
extern template PartitionChoice<double> choose_partition(const ProfileRows<double>&,
                                                         std::span<const PartitionOption<double>>,
                                                         const BatchJob<double>&,
                                                         const PartitionWeighing<double>&);

}  // namespace cleave
