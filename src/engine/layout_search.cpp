#include "engine/layout_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <tuple>

#include "placement/gang_room.hpp"

namespace cleave {

namespace {

/// `time` from `from` on; as late as the clock goes where that is beyond it.
Instant later(Instant from, Duration time) {
  return from > Instant::max() - time ? Instant::max() : from + time;
}

/// The instances while jobs come and go. What ends is free again only when time moves on or nothing
/// else is free, as in the simulator, where a job of no duration ends after all starts of its
/// instant.
class Instances {
 public:
  Instances(const std::vector<std::size_t>& counts) : free_(counts) {}

  [[nodiscard]] std::optional<std::uint16_t> first_free(
      const std::vector<std::uint16_t>& among) const {
    for (const std::uint16_t group : among)
      if (free_[group] > 0) return group;
    return std::nullopt;
  }
  [[nodiscard]] Instant next_end() const { return ends_.top().first; }
  void free_until(Instant now) {
    for (; !ends_.empty() && ends_.top().first <= now; ends_.pop()) ++free_[ends_.top().second];
  }
  void take(std::uint16_t group, Instant until) {
    --free_[group];
    ends_.emplace(until, group);
  }

 private:
  using End = std::pair<Instant, std::uint16_t>;
  std::vector<std::size_t> free_;  // by group
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

/// GPUs of one model with the same things in their way; their layouts can be exchanged.
struct GpuClass {
  std::vector<GpuId> gpus;
  std::vector<PlacementSet> layouts;
  std::vector<std::vector<std::pair<std::uint16_t, std::size_t>>>
      instances;  // by layout: group, how many
};

/// How many GPUs of each class have each of its layouts.
using Combination = std::vector<std::vector<std::size_t>>;

std::vector<GpuClass> gpu_classes(const Fleet& fleet, const ExpectedWork& work) {
  std::vector<PlacementSet> useful(fleet.graphs().size());
  for (const auto& holding : work.holding)
    for (const std::uint16_t group : holding)
      useful[work.groups[group].kind] =
          useful[work.groups[group].kind] | work.groups[group].placements;
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<GpuId>> alike;
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const GpuState& state = fleet[static_cast<GpuId>(i)];
    alike[{state.kind, (state.held | state.walls).bits()}].push_back(static_cast<GpuId>(i));
  }
  std::vector<GpuClass> classes;
  for (auto& [what, gpus] : alike) {
    const auto& [kind, taken] = what;
    GpuClass made{std::move(gpus),
                  full_layouts(fleet.graphs()[kind]->geometry(), PlacementSet(taken), useful[kind]),
                  {}};
    for (const PlacementSet layout : made.layouts) {
      auto& instances = made.instances.emplace_back();
      for (std::size_t group = 0; group < work.groups.size(); ++group) {
        if (work.groups[group].kind != kind) continue;
        const int count = (work.groups[group].placements & layout).size();
        if (count > 0)
          instances.emplace_back(static_cast<std::uint16_t>(group),
                                 static_cast<std::size_t>(count));
      }
    }
    classes.push_back(std::move(made));
  }
  return classes;
}

/// How many ways there are to give `gpus` alike GPUs one of `layouts` each; no more than `most`
/// + 1.
std::size_t ways(std::size_t gpus, std::size_t layouts, std::size_t most) {
  double count = 1;  // (gpus + layouts - 1) over (layouts - 1)
  for (std::size_t i = 1; i < layouts; ++i) {
    count = count * static_cast<double>(gpus + i) / static_cast<double>(i);
    if (count > 1e15) break;
  }
  return count > static_cast<double>(most) ? most + 1 : static_cast<std::size_t>(count + 0.5);
}

class Search {
 public:
  Search(const Fleet& fleet, const ExpectedWork& work, const LayoutSearchOptions& options)
      : fleet_(&fleet), work_(&work), options_(&options), classes_(gpu_classes(fleet, work)) {
    for (const GpuClass& each : classes_) {
      auto& counts = now_.emplace_back(each.layouts.size(), 0);
      counts.front() = each.gpus.size();
    }
  }

  FoundLayout run() {
    std::size_t all = 1;
    for (const GpuClass& each : classes_) {
      const std::size_t own =
          ways(each.gpus.size(), each.layouts.size(), options_->most_combinations);
      all = std::min(all * own, options_->most_combinations + 1);
    }
    found_.exhaustive =
        all <= options_->most_combinations && all * work_->jobs() <= options_->most_job_steps / 8;
    if (found_.exhaustive) {
      for (auto& counts : now_) std::ranges::fill(counts, 0);
      try_all(0, 0, classes_.empty() ? 0 : classes_.front().gpus.size());
    } else {
      improve_all();
    }
    write_down();
    return std::move(found_);
  }

 private:
  /// Whether the combination as it is now is better than the best, which it then becomes.
  bool try_now() {
    std::vector<std::size_t> instances(work_->groups.size(), 0);
    for (std::size_t c = 0; c < classes_.size(); ++c)
      for (std::size_t layout = 0; layout < now_[c].size(); ++layout)
        for (const auto& [group, count] : classes_[c].instances[layout])
          instances[group] += count * now_[c][layout];
    ++found_.tried;
    const LayoutScore score =
        schedule_first_come(*work_, instances, options_->goal, best_ ? &*best_ : nullptr);
    if (best_ && !better(score, *best_, options_->goal)) return false;
    best_ = score;
    best_combination_ = now_;
    return true;
  }

  /// Every way to give `left` GPUs of class `c` layouts from `layout` on, and all classes after it
  /// theirs.
  void try_all(std::size_t c, std::size_t layout, std::size_t left) {
    if (c == classes_.size()) {
      try_now();
      return;
    }
    std::size_t& here = now_[c][layout];
    if (layout + 1 == now_[c].size()) {
      here = left;
      try_all(c + 1, 0, c + 1 < classes_.size() ? classes_[c + 1].gpus.size() : 0);
      here = 0;
      return;
    }
    for (here = 0; here <= left; ++here) try_all(c, layout + 1, left - here);
    here = 0;
  }

  [[nodiscard]] bool tired() const {
    return found_.tried * std::max<std::size_t>(1, work_->jobs()) > options_->most_job_steps;
  }

  void improve_all() {
    try_now();
    std::size_t largest = 1;
    for (const GpuClass& each : classes_) largest = std::max(largest, each.gpus.size());
    // The first round moves whole classes: it finds the best uniform layout.
    for (std::size_t step = largest;; step = (step + 1) / 2) {
      while (!tired() && improve_by(step)) {
      }
      if (step == 1) break;
    }
  }

  /// One walk over all moves of `step` GPUs from one layout to another, keeping each that helps.
  bool improve_by(std::size_t step) {
    bool helped = false;
    for (std::size_t c = 0; c < classes_.size(); ++c)
      for (std::size_t to = 0; to < now_[c].size(); ++to)
        for (std::size_t from = 0; from < now_[c].size(); ++from) {
          const std::size_t moved = std::min(step, now_[c][from]);
          if (from == to || moved == 0 || tired()) continue;
          now_[c][from] -= moved;
          now_[c][to] += moved;
          if (try_now()) {
            helped = true;
          } else {
            now_[c][from] += moved;
            now_[c][to] -= moved;
          }
        }
    return helped;
  }

  void write_down() {
    found_.score = *best_;
    found_.by_gpu.resize(fleet_->size());
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      auto gpu = classes_[c].gpus.begin();
      for (std::size_t layout = 0; layout < best_combination_[c].size(); ++layout)
        for (std::size_t i = 0; i < best_combination_[c][layout]; ++i)
          found_.by_gpu[index(*gpu++)] = classes_[c].layouts[layout];
    }
  }

  const Fleet* fleet_;
  const ExpectedWork* work_;
  const LayoutSearchOptions* options_;
  std::vector<GpuClass> classes_;
  Combination now_, best_combination_;
  std::optional<LayoutScore> best_;
  FoundLayout found_;
};

/// Adds to `all`, by combination of profiles, the full layouts with `chosen` and placements from
/// `from` on.
void collect_layouts(const Geometry& geometry, PlacementSet taken, PlacementSet useful,
                     PlacementSet chosen, PlacementSet from,
                     std::map<std::vector<int>, PlacementSet, std::greater<>>& all) {
  const PlacementSet room = geometry.free(taken | chosen) & useful;
  if (room.empty()) {
    std::vector<int> counts(geometry.model().profiles.size(), 0);
    for (const PlacementId id : chosen)
      ++counts[static_cast<std::size_t>(geometry[id].profile_index)];
    all.try_emplace(std::move(counts), chosen);
    return;
  }
  // Placements in ascending order only: each layout is reached once.
  for (const PlacementId id : room& from) {
    from.erase(id);
    collect_layouts(geometry, taken, useful, chosen | PlacementSet::of(id), from, all);
  }
}

}  // namespace

std::vector<InstanceGroup> instance_groups(
    const std::vector<std::shared_ptr<const StateGraph>>& graphs) {
  std::vector<InstanceGroup> groups;
  const auto profile_of = [&](const InstanceGroup& group) -> const Profile& {
    return graphs[group.kind]->geometry().model().profiles[static_cast<std::size_t>(group.profile)];
  };
  for (std::size_t kind = 0; kind < graphs.size(); ++kind) {
    const Geometry& geometry = graphs[kind]->geometry();
    for (const Profile* profile : geometry.profile_list()) {
      const auto number = static_cast<int>(profile - geometry.model().profiles.data());
      groups.push_back({kind, number, geometry.of_profile(number)});
    }
  }
  std::ranges::stable_sort(groups, {}, [&](const InstanceGroup& group) {
    const Profile& profile = profile_of(group);
    return std::tuple(profile.name_gb(), profile.compute, profile.attribute, group.kind);
  });
  return groups;
}

std::vector<std::uint16_t> groups_among(std::span<const PlacementSet> placements,
                                        std::span<const InstanceGroup> groups) {
  std::vector<std::uint16_t> having;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (placements[groups[i].kind].meets(groups[i].placements))
      having.push_back(static_cast<std::uint16_t>(i));
  return having;
}

bool better(const LayoutScore& a, const LayoutScore& b, LayoutGoal goal) {
  if (goal == LayoutGoal::turnaround)
    return std::tie(a.unserved, a.turnaround_s, a.makespan_s) <
           std::tie(b.unserved, b.turnaround_s, b.makespan_s);
  return std::tie(a.unserved, a.makespan_s, a.turnaround_s) <
         std::tie(b.unserved, b.makespan_s, b.turnaround_s);
}

Result<ExpectedWork> expected_work(const SchedulerSetup& setup) {
  auto expected =
      setup.facts == nullptr ? std::vector<JobFacts::Expected>() : setup.facts->expected();
  // Jobs of whole GPUs will be rejected.
  std::erase_if(expected, [&](const JobFacts::Expected& one) {
    return asks_for_whole(setup.requests[one.request].request);
  });
  if (expected.empty())
    return fail(ErrorKind::bad_usage, "layout", "layout=best needs to know all jobs beforehand",
                "give a layout, or simulate a workload");
  if (!setup.facts->tells_times())
    return fail(ErrorKind::bad_usage, "layout", "layout=best needs to know how long jobs take",
                "give a layout, or let times be known");
  if (expected.size() > most_expected) expected.resize(most_expected);
  ExpectedWork work;
  work.groups = instance_groups(setup.fleet.graphs());
  std::map<RequestId, std::uint32_t> seen;
  const auto add = [&](const JobFacts::Expected& one) {
    const auto [entry, fresh] =
        seen.try_emplace(one.request, static_cast<std::uint32_t>(work.holding.size()));
    if (fresh) work.holding.push_back(groups_among(setup.requests[one.request].holds, work.groups));
    work.arrivals.push_back(one.arrival);
    work.wants.push_back(entry->second);
    const std::size_t row = work.times.size();
    work.times.resize(row + work.groups.size(), ExpectedWork::cannot_run);
    for (const std::uint16_t group : work.holding[entry->second])
      if (const auto time =
              setup.facts->time_on(one.job, work.groups[group].kind, work.groups[group].profile))
        work.times[row + group] = *time;
  };
  // Each place of several counts as a job.
  for (const JobFacts::Expected& one : expected)
    for (std::uint32_t left = setup.requests[one.request].request.places;
         left > 0 && work.jobs() < most_expected; --left)
      add(one);
  work.least_after_s.resize(work.jobs() + 1, 0);
  for (std::size_t job = work.jobs(); job-- > 0;) {
    std::optional<Duration> least;
    for (const std::uint16_t group : work.holding[work.wants[job]]) {
      const Duration time = work.times[job * work.groups.size() + group];
      if (time != ExpectedWork::cannot_run && (!least || time < *least)) least = time;
    }
    work.least_after_s[job] = work.least_after_s[job + 1] + in_seconds(least.value_or(Duration{}));
  }
  return work;
}

LayoutScore schedule_first_come(const ExpectedWork& work, const std::vector<std::size_t>& instances,
                                LayoutGoal goal, const LayoutScore* beat) {
  std::vector<std::vector<std::uint16_t>> among(work.holding.size());
  for (std::size_t i = 0; i < among.size(); ++i)
    std::ranges::copy_if(work.holding[i], std::back_inserter(among[i]),
                         [&](std::uint16_t group) { return instances[group] > 0; });
  LayoutScore score;
  for (const std::uint32_t wants : work.wants) score.unserved += among[wants].empty() ? 1 : 0;
  if (beat != nullptr && score.unserved > beat->unserved) return score;
  const bool bounded =
      beat != nullptr && goal == LayoutGoal::turnaround && score.unserved == beat->unserved;
  // What the jobs to come take at least is known only where all of them are served.
  const bool all_served = score.unserved == 0;
  Instances fleet(instances);
  Instant now = work.jobs() > 0 ? work.arrivals.front() : Instant{};
  const Instant begin = now;
  for (std::size_t job = 0; job < work.jobs(); ++job) {
    const auto& groups = among[work.wants[job]];
    if (groups.empty()) continue;
    if (work.arrivals[job] > now) fleet.free_until(now = work.arrivals[job]);
    auto group = fleet.first_free(groups);
    for (; !group; group = fleet.first_free(groups))
      fleet.free_until(now = std::max(now, fleet.next_end()));
    const Duration time = work.times[job * work.groups.size() + *group];
    if (time == ExpectedWork::cannot_run) {  // it ends at once, without what was wanted
      ++score.unserved;
      continue;
    }
    const Instant end = later(now, time);
    fleet.take(*group, end);
    score.turnaround_s += in_seconds(end - work.arrivals[job]);
    score.makespan_s = std::max(score.makespan_s, in_seconds(end - begin));
    // A hair of room: sums in another order round differently.
    const double least = score.turnaround_s + (all_served ? work.least_after_s[job + 1] : 0);
    if (bounded && least > beat->turnaround_s * (1 + 1e-9))
      return {score.unserved, std::numeric_limits<double>::infinity(), score.makespan_s};
  }
  return score;
}

std::vector<PlacementSet> full_layouts(const Geometry& geometry, PlacementSet taken,
                                       PlacementSet useful) {
  std::map<std::vector<int>, PlacementSet, std::greater<>> all;
  collect_layouts(geometry, taken, useful, {}, geometry.all(), all);
  std::vector<PlacementSet> layouts;
  for (const auto& [counts, layout] : all) layouts.push_back(layout);
  return layouts;
}

FoundLayout search_layout(const Fleet& fleet, const ExpectedWork& work,
                          const LayoutSearchOptions& options) {
  return Search(fleet, work, options).run();
}

}  // namespace cleave
