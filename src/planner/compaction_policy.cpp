#include "planner/compaction_policy.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// Of the jobs that have waited long enough, those that are looked at in one decision. Jobs that
/// ask for the same count once.
constexpr std::size_t most_asks = 8;

bool same(const RoomAsk& a, const RoomAsk& b) {
  return a.whole == b.whole && a.candidates == b.candidates;
}

/// The fleet, with jobs that were moved too lately where they are.
std::vector<RoomGpu> movable_now(const CompactionRules& rules, const CompactionScene& scene,
                                 const MoveHistory& history) {
  std::vector<RoomGpu> gpus = scene.gpus;
  for (RoomGpu& gpu : gpus)
    for (RoomWork& work : gpu.works)
      work.movable = work.movable && history.may_move(work.name, rules, scene.now);
  return gpus;
}

/// Until the job would have room if nothing moved: as the scheduler expects it, else when what is
/// in the way of its first place has ended. What is not known to end is taken to last as long again
/// as the job has waited.
Duration wait_without(const CompactionScene& scene, const CompactionWaiting& job) {
  if (job.expected) return std::max(Duration{}, *job.expected - scene.now);
  const Duration waited = scene.now - job.since;
  std::optional<Duration> least;
  for (const RoomGpu& gpu : scene.gpus) {
    const Geometry& geometry = *scene.geometries[gpu.kind];
    for (const PlacementId placement : job.ask.candidates[gpu.kind]) {
      const PlacementSet there = job.ask.whole
                                     ? geometry.all()
                                     : geometry[placement].conflicts | PlacementSet::of(placement);
      if (there.meets(gpu.walls)) continue;
      Duration until{};
      for (const RoomWork& work : gpu.works) {
        if (!there.contains(work.placement)) continue;
        const auto end = scene.ends.find(work.name);
        until = std::max(until, end == scene.ends.end()
                                    ? waited
                                    : std::max(Duration{}, end->second - scene.now));
      }
      least = std::min(least.value_or(until), until);
    }
  }
  return least.value_or(waited);
}

std::string why_no_plan(const RoomFound& found, const RoomLimits& limits) {
  if (!found.all_seen)
    return fmt::format("none was found within the effort allowed; {} at least are needed",
                       counted(found.fewest, "move"));
  return fmt::format("no plan of {} at most makes room", counted(limits.moves, "move"));
}

/// What becomes of one job that has waited long enough.
CompactionDecision plan_for(const CompactionRules& rules, const CompactionScene& scene,
                            const CompactionWaiting& job, std::span<const RoomGpu> gpus,
                            const RoomLimits& limits) {
  CompactionDecision decision;
  RoomFound found = make_room(scene.geometries, gpus, job.ask, limits);
  if (!found.plan) {
    decision.why_not = why_no_plan(found, limits);
    return decision;
  }
  const Duration saved = wait_without(scene, job) - found.plan->takes;
  const double interrupted = in_seconds(found.plan->interrupted);
  if (saved <= Duration::zero() || in_seconds(saved) < rules.gain * interrupted) {
    decision.why_not =
        fmt::format("{} would be interrupted for {} in all and save about {} of its wait",
                    counted(found.plan->moves.size(), "move"), human(found.plan->interrupted),
                    human(std::max(Duration{}, saved)));
    return decision;
  }
  const Instant room_at = scene.now + found.plan->takes;
  decision.plan = CompactionPlan{job.job, std::move(*found.plan), found.fewest, saved, room_at};
  return decision;
}

}  // namespace

bool MoveHistory::may_move(std::int64_t job, const CompactionRules& rules, Instant now) const {
  const auto found = moves_.find(job);
  if (found == moves_.end()) return true;
  const auto lately =
      std::ranges::count_if(found->second, [&](Instant at) { return now - at < rules.every; });
  return lately < rules.moves;
}

void MoveHistory::forget(const CompactionRules& rules, Instant now) {
  for (auto& [job, moves] : moves_)
    std::erase_if(moves, [&](Instant at) { return now - at >= rules.every; });
  std::erase_if(moves_, [](const auto& of) { return of.second.empty(); });
}

CompactionDecision decide_compaction(const CompactionRules& rules, const CompactionScene& scene,
                                     const MoveHistory& history, const RoomLimits& limits) {
  CompactionDecision decision;
  const Duration until_hours =
      rules.hours ? rules.hours->begin_in(scene.since_midnight) : Duration::zero();
  const auto look_at = [&](Instant at) {
    at = std::max(at, scene.now + until_hours);
    decision.look_again = std::min(decision.look_again.value_or(at), at);
  };
  std::vector<const CompactionWaiting*> asked;
  const std::vector<RoomGpu> gpus = movable_now(rules, scene, history);
  for (const CompactionWaiting& job : scene.waiting) {
    const bool due = scene.now - job.since >= rules.when_waiting;
    look_at(due ? scene.now + rules.when_waiting : job.since + rules.when_waiting);
    const auto as_before = [&](const CompactionWaiting* other) {
      return same(other->ask, job.ask);
    };
    if (due && until_hours == Duration::zero() && asked.size() < most_asks &&
        std::ranges::none_of(asked, as_before) && !has_room(scene.geometries, gpus, job.ask)) {
      asked.push_back(&job);
      CompactionDecision of_job = plan_for(rules, scene, job, gpus, limits);
      if (of_job.plan) {
        decision.plan = std::move(of_job.plan);
        return decision;
      }
      if (decision.why_not.empty())
        decision.why_not = fmt::format("job {}: {}", job.job, of_job.why_not);
    }
    if (scene.in_order) break;
  }
  return decision;
}

}  // namespace cleave
