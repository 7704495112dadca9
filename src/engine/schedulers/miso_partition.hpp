#pragma once
// The partition of one GPU that suits its jobs best: over all legal layouts around what must stay,
// and all ways to give each job an instance of its own that it can run on, the one with the
// greatest sum of speeds (MISO's goal, as its abstract and *Dyna-P*, 4, describe it). Exact:
// layouts are taken by the multiset of their profiles, and for each the best assignment is found
// over subsets of the jobs; multisets whose bound is below the best so far are passed over.
//
// Among equals, the one that leaves most jobs where they are; then the one of fewest memory slices;
// then the one of the lowest numbers; of two jobs for which it is all the same, the earlier gets
// the larger instance.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/state_graph.hpp"

namespace cleave {

/// Speeds are whole millionths of the speed on the largest profile, so that sums are exact and
/// equals are equal.
using Millionths = std::int64_t;
inline constexpr Millionths full_speed = 1'000'000;

/// A job as the choice of a partition sees it.
struct PartitionJob {
  std::span<const Millionths> speed;  // by index of the profile in its model; 0: does not run there
  std::optional<PlacementId> at{};    // where it runs now
};

/// Where each job of a GPU goes, and what that gives.
struct Partition {
  std::vector<PlacementId> places;  // by job
  Millionths speed = 0;             // sum
};

/// The best partitions of GPUs of one model that have the same fixed instances.
class PartitionSearch {
 public:
  /// `fixed` stays as it is and must be a legal state of the graph.
  PartitionSearch(std::shared_ptr<const StateGraph> graph, PlacementSet fixed);

  /// nullopt where no legal layout holds all of the jobs, each on an instance of its own.
  [[nodiscard]] std::optional<Partition> best(std::span<const PartitionJob> jobs) const;
  /// Whether there is one; remembers its answers.
  [[nodiscard]] bool possible(std::span<const PartitionJob> jobs);

 private:
  /// Layouts of the same profiles.
  struct Group {
    std::vector<int> profiles;  // ascending indices, with repetition
    std::vector<PlacementSet> layouts;
  };
  [[nodiscard]] std::span<const Group> groups_of(std::size_t jobs) const;
  [[nodiscard]] Millionths most(std::span<const PartitionJob> jobs,
                                std::span<const Group> groups) const;

  std::shared_ptr<const StateGraph> graph_;
  std::vector<std::vector<Group>> groups_;            // by number of instances
  std::map<std::vector<std::uint32_t>, bool> known_;  // by the sorted sets of profiles of the jobs
};

}  // namespace cleave
