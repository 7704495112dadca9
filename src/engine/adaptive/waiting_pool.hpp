#pragma once
// The batches that wait for `adaptive`, in the order of what they are worth: those of higher
// priority first. Of many that nothing is known of only their order among each other is kept, since
// what they are worth changes with all that is seen.

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/ids.hpp"

namespace cleave {

/// Waiting jobs by worth and by age.
class WaitingPool {
 public:
  /// `value`: what a unit of its rest weighs, for one whose rest is known; else what it is worth if
  /// all weigh the same. `waits_from` orders by age.
  void insert(JobId job, std::int64_t priority, double value, bool rest_known,
              std::uint64_t waits_from);
  /// Nothing where it does not wait.
  void erase(JobId job);
  [[nodiscard]] bool contains(JobId job) const { return places_.contains(job); }
  [[nodiscard]] bool empty() const { return places_.empty(); }
  [[nodiscard]] std::size_t size() const { return places_.size(); }

  /// The one that waits longest, and since when.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, JobId>> eldest() const;
  /// All that have waited since then, or for longer; the eldest first.
  [[nodiscard]] std::vector<JobId> since(std::uint64_t then) const;
  /// There must be some.
  [[nodiscard]] std::int64_t highest_priority() const;
  [[nodiscard]] std::int64_t lowest_priority() const;
  /// The first of them in their order, at most this number; `weight`: of one of which nothing is
  /// known.
  [[nodiscard]] std::vector<JobId> first(std::size_t most, double weight) const;

 private:
  using Place =
      std::tuple<std::int64_t, double, JobId>;  // priority, value: the less the higher; job
  struct Known {
    Place place;
    bool rest_known;
    std::uint64_t waits_from;
  };
  std::set<Place> known_, unknown_;
  std::set<std::pair<std::uint64_t, JobId>> by_age_;
  std::unordered_map<JobId, Known> places_;
};

}  // namespace cleave
