#include "engine/schedulers/miso_partition.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace cleave {

namespace {

constexpr std::int64_t no_sum = -1;  // below every real sum

/// Gives each of `count` instances to another of `count` jobs so that the sum of worth(job,
/// instance) is greatest; a worth of `no_sum` means that the job does not run there. best[set] is
/// the most that the jobs of the set make on the first instances.
template <class Worth>
std::int64_t assign(std::size_t count, const Worth& worth,
                    std::vector<std::size_t>* job_of = nullptr) {
  const std::size_t all = (std::size_t{1} << count) - 1;
  std::vector<std::int64_t> best(all + 1, no_sum);
  std::vector<std::size_t> last(all + 1);
  best[0] = 0;
  for (std::size_t set = 1; set <= all; ++set) {
    const auto instance = static_cast<std::size_t>(std::popcount(set)) - 1;
    for (std::size_t job = 0; job < count; ++job) {
      const std::size_t without = set & ~(std::size_t{1} << job);
      if (without == set || best[without] == no_sum) continue;
      const std::int64_t adds = worth(job, instance);
      if (adds == no_sum || best[without] + adds < best[set])
        continue;  // equal: the later job here
      best[set] = best[without] + adds;
      last[set] = job;
    }
  }
  if (job_of != nullptr && best[all] != no_sum) {
    job_of->assign(count, 0);
    for (std::size_t set = all; set != 0; set &= ~(std::size_t{1} << last[set]))
      (*job_of)[static_cast<std::size_t>(std::popcount(set)) - 1] = last[set];
  }
  return best[all];
}

Millionths speed_there(const PartitionJob& job, int profile) {
  return job.speed[static_cast<std::size_t>(profile)];
}

/// No assignment to these profiles makes more; `no_sum` where some job runs on none of them.
Millionths bound(std::span<const PartitionJob> jobs, const std::vector<int>& profiles) {
  Millionths sum = 0;
  for (const PartitionJob& job : jobs) {
    Millionths most = 0;
    for (const int profile : profiles) most = std::max(most, speed_there(job, profile));
    if (most == 0) return no_sum;
    sum += most;
  }
  return sum;
}

Millionths sum_on(std::span<const PartitionJob> jobs, const std::vector<int>& profiles) {
  return assign(jobs.size(), [&](std::size_t job, std::size_t instance) {
    const Millionths speed = speed_there(jobs[job], profiles[instance]);
    return speed > 0 ? speed : no_sum;
  });
}

}  // namespace

PartitionSearch::PartitionSearch(std::shared_ptr<const StateGraph> graph, PlacementSet fixed)
    : graph_(std::move(graph)) {
  const Geometry& geometry = graph_->geometry();
  std::map<std::vector<int>, std::vector<PlacementSet>> by_profiles;
  for (int i = 0; i < graph_->size(); ++i) {
    const PlacementSet state = graph_->state(static_cast<StateId>(i));
    if ((state & fixed) != fixed) continue;
    const PlacementSet layout = state - fixed;
    std::vector<int> profiles;
    for (const PlacementId placement : layout)
      profiles.push_back(geometry[placement].profile_index);
    std::ranges::sort(profiles);
    by_profiles[std::move(profiles)].push_back(layout);
  }
  for (auto& [profiles, layouts] : by_profiles) {
    if (groups_.size() <= profiles.size()) groups_.resize(profiles.size() + 1);
    groups_[profiles.size()].push_back({profiles, std::move(layouts)});
  }
}

std::span<const PartitionSearch::Group> PartitionSearch::groups_of(std::size_t jobs) const {
  if (jobs >= groups_.size()) return {};
  return groups_[jobs];
}

Millionths PartitionSearch::most(std::span<const PartitionJob> jobs,
                                 std::span<const Group> groups) const {
  Millionths best = no_sum;
  for (const Group& group : groups)
    if (bound(jobs, group.profiles) > best) best = std::max(best, sum_on(jobs, group.profiles));
  return best;
}

std::optional<Partition> PartitionSearch::best(std::span<const PartitionJob> jobs) const {
  const Geometry& geometry = graph_->geometry();
  const std::span<const Group> groups = groups_of(jobs.size());
  const Millionths speed = most(jobs, groups);
  if (speed == no_sum) return std::nullopt;
  Partition chosen;
  chosen.speed = speed;
  // Most jobs kept, fewest slices, lowest numbers: the least of these.
  std::optional<std::tuple<std::int64_t, int, std::uint32_t>> least;
  std::vector<std::size_t> job_of;
  for (const Group& group : groups) {
    if (bound(jobs, group.profiles) < speed || sum_on(jobs, group.profiles) < speed) continue;
    for (const PlacementSet layout : group.layouts) {
      std::vector<PlacementId> places;
      for (const PlacementId placement : layout) places.push_back(placement);
      // A kept job weighs less than the smallest difference of speed, all of them together.
      const auto weight = static_cast<std::int64_t>(jobs.size()) + 1;
      const std::int64_t sum = assign(
          jobs.size(),
          [&](std::size_t job, std::size_t instance) {
            const Millionths there =
                speed_there(jobs[job], geometry[places[instance]].profile_index);
            return there > 0 ? there * weight + (jobs[job].at == places[instance] ? 1 : 0) : no_sum;
          },
          &job_of);
      const std::tuple rank{-sum, geometry.memory(layout).value, layout.bits()};
      if (least && *least <= rank) continue;
      least = rank;
      chosen.places.assign(jobs.size(), 0);
      for (std::size_t i = 0; i < places.size(); ++i) chosen.places[job_of[i]] = places[i];
    }
  }
  return chosen;
}

bool PartitionSearch::possible(std::span<const PartitionJob> jobs) {
  if (groups_of(jobs.size()).empty()) return false;
  std::vector<std::uint32_t> key;
  for (const PartitionJob& job : jobs) {
    std::uint32_t profiles = 0;
    for (std::size_t i = 0; i < job.speed.size(); ++i)
      if (job.speed[i] > 0) profiles |= std::uint32_t{1} << i;
    key.push_back(profiles);
  }
  std::ranges::sort(key);
  const auto [entry, fresh] = known_.try_emplace(std::move(key), false);
  if (fresh)
    entry->second = std::ranges::any_of(groups_of(jobs.size()), [&](const Group& group) {
      return bound(jobs, group.profiles) != no_sum && sum_on(jobs, group.profiles) != no_sum;
    });
  return entry->second;
}

}  // namespace cleave
