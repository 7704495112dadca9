#pragma once
// *Dyna-P*, Algorithm 3: of the jobs that wait, the batch of at most W that gives a GPU the highest
// system throughput, T = m * sum of RT (Equation 5), where m is the share of the GPU's slices that
// the batch takes and RT a job's speed on its partition relative to the full GPU (readings D5 to
// D8).
//
// The paper looks at every subset. Here jobs of one kind (one profile, or one number of slices)
// compete by their RT alone, so the best batch with n jobs of a kind takes its n best; what is left
// to look at are the multisets of kinds that fit, at most some hundred on any GPU. The answer is
// the paper's, ties included: strict improvement over subsets by size, then by queue order (D9).
//
// Equal is equal: RT is a double, the correctly rounded quotient of two times or a speed from a
// table, so equal ratios are equal doubles; jobs of one kind are ordered by it exactly. Throughputs
// of batches, which are sums, are equal within 1e-9.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/ratio.hpp"
#include "graph/state_graph.hpp"
#include "model/ids.hpp"

namespace cleave {

/// Equation 12: the share of a GPU's slices that is not allocated (reading D11). Asserts `total` >
/// 0.
[[nodiscard]] Ratio fragmentation_measure(ComputeSlices allocated, ComputeSlices total);

/// A job's times on the full GPU and on its partition, both above zero; Number is double or exact.
template <class Number>
struct PartitionRun {
  Number jct_full{}, jct{};
  int slices = 1;
};

template <class Number>
/// The throughput of a batch, and the share of the GPU that it takes.
struct SystemThroughput {
  Number share{};       // m: slices of all jobs / total
  Number throughput{};  // m * sum of jct_full / jct
  Number inverse{};     // m * sum of jct / jct_full, the other reading of RT (D5)
};

/// Equation 5. All zero without jobs.
template <class Number>
SystemThroughput<Number> system_throughput(std::span<const PartitionRun<Number>> jobs,
                                           int total_slices) {
  int slices = 0;
  Number relative{}, inverse{};
  for (const PartitionRun<Number>& job : jobs) {
    slices += job.slices;
    relative = relative + job.jct_full / job.jct;
    inverse = inverse + job.jct / job.jct_full;
  }
  const Number share = Number(slices) / Number(total_slices);
  return {share, share * relative, share * inverse};
}

/// Where a job stands in the queue: by key (a deadline, say; the same for all in order of arrival),
/// then by sequence. No two jobs of a queue share both.
struct QueueRank {
  std::int64_t key = 0;
  std::uint64_t sequence = 0;
  friend auto operator<=>(const QueueRank&, const QueueRank&) = default;
};

/// A job that waits, as the search sees it on one GPU model.
struct QueuedJob {
  JobId job{};
  int kind = 0;           // what it needs: the index of its profile in the model
  double relative = 1.0;  // RT, above zero: speed on its partition / speed on the full GPU
  QueueRank rank;
};

/// The jobs that wait, for each kind by RT from the highest, then by rank. On GPUs of another model
/// a job may have another kind and speed: keep one queue a model.
class BatchQueue {
 public:
  /// Kinds are 0 .. kinds - 1; batches have at most `widest` jobs.
  BatchQueue(int kinds, int widest);

  /// Inserting and erasing take time logarithmic in the length of the queue. Erased is what was
  /// inserted.
  void insert(const QueuedJob& job);
  void erase(const QueuedJob& job);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] int widest() const { return widest_; }

  /// Higher RT first, then by rank.
  struct BestFirst {
    bool operator()(const QueuedJob& a, const QueuedJob& b) const {
      return a.relative != b.relative ? a.relative > b.relative : a.rank < b.rank;
    }
  };
  /// The jobs of one kind.
  using Jobs = std::set<QueuedJob, BestFirst>;
  [[nodiscard]] const Jobs& jobs(int kind) const { return lane(kind).jobs; }

  /// sums(kind)[n] is the sum of the n highest RTs, for as many as there are, at most `widest`.
  [[nodiscard]] std::span<const double> sums(int kind) const { return lane(kind).sums; }

 private:
  /// The jobs of one kind, and the sums of their RTs.
  struct Lane {
    Jobs jobs;
    std::vector<double> sums{0.0};
  };
  [[nodiscard]] const Lane& lane(int kind) const { return lanes_[static_cast<std::size_t>(kind)]; }
  void refresh(Lane& lane) const;

  std::vector<Lane> lanes_;
  std::size_t size_ = 0;
  int widest_;
};

/// A multiset of kinds that fits.
struct BatchShape {
  /// A number of jobs of one kind.
  struct Part {
    int kind = 0, count = 0;
    friend auto operator<=>(const Part&, const Part&) = default;
  };
  std::vector<Part> parts;  // by kind; counts above zero
  int jobs = 0, slices = 0;
};

/// R_req <= R_avail by slice counts alone, as Algorithm 3 has it: every multiset of at most
/// `widest` jobs whose slices add up to at most `free_slices`. Kind i takes slices_of_kind[i], at
/// least 1.
[[nodiscard]] std::vector<BatchShape> shapes_by_slices(std::span<const int> slices_of_kind,
                                                       int free_slices, int widest);

/// Multisets of profiles that have a layout around what a GPU holds (reading D10). The kind of a
/// job is the index of its profile in the model. Idle instances are no hindrance: leave them out of
/// the state.
class LayoutShapes {
 public:
  explicit LayoutShapes(std::shared_ptr<const StateGraph> graph);

  [[nodiscard]] const StateGraph& graph() const { return *graph_; }
  /// `occupied`: held instances and walls. Worked out once for each state, then kept.
  const std::vector<BatchShape>& around(StateId occupied);

 private:
  std::shared_ptr<const StateGraph> graph_;
  std::vector<std::unique_ptr<const std::vector<BatchShape>>> known_;  // by state
};

/// Jobs that a GPU takes at once.
struct Batch {
  std::vector<QueuedJob> jobs;  // in queue order
  double throughput = 0.0;      // T
};

/// The batch of at most `w` jobs with the highest throughput, of equal ones the first; empty when
/// none fits. `total_slices` are the GPU's.
[[nodiscard]] Batch best_batch(const BatchQueue& queue, std::span<const BatchShape> shapes,
                               int total_slices, int w);

/// The best batch of each shape for which there are jobs, by throughput from the highest; of equal
/// ones as above.
[[nodiscard]] std::vector<Batch> batches_by_throughput(const BatchQueue& queue,
                                                       std::span<const BatchShape> shapes,
                                                       int total_slices, int w);

/// All batches as good as the best, by size and then queue order, the best itself first; none when
/// nothing fits. Nothing, too, when there are more than `most`.
[[nodiscard]] std::optional<std::vector<Batch>> equal_best_batches(
    const BatchQueue& queue, std::span<const BatchShape> shapes, int total_slices, int w,
    std::size_t most);

}  // namespace cleave
