#include "simulate/compactor.hpp"

#include <algorithm>

#include "physics/reconfiguration.hpp"
#include "placement/gang_room.hpp"

namespace cleave {

namespace {

PlacementSet existing_on(const World& world, GpuId gpu) {
  return world.graph(world[gpu]).state(world[gpu].existing);
}

/// What stood there at the beginning and was not ours to use. A GPU that was lost comes back
/// without it.
PlacementSet kept_on(const Fleet& start, const World& world, GpuId gpu) {
  const PlacementSet kept = start[gpu].walls | start[gpu].held;
  return (kept - existing_on(world, gpu)).empty() ? kept : PlacementSet();
}

/// A run begins at midnight.
Duration since_midnight(Instant at) {
  constexpr Duration day = std::chrono::hours(24);
  const Duration into = at.time_since_epoch() % day;
  return into < Duration::zero() ? into + day : into;
}

}  // namespace

std::vector<JobId> Compactor::queue() const {
  std::vector<JobRank> ranks;
  for (const auto& [job, since] : since_) ranks.push_back(rank_of(&in_.facts, job));
  std::ranges::sort(ranks);
  std::vector<JobId> queue;
  for (const JobRank& rank : ranks) queue.push_back(rank.job);
  return queue;
}

std::optional<Instant> Compactor::due() const {
  if (since_.empty()) return std::nullopt;
  const auto first =
      std::ranges::min_element(since_, {}, [](const auto& job) { return job.second; });
  const Instant at = first->second + rules_.when_waiting;
  return look_again_ ? std::max(at, *look_again_) : at;
}

std::optional<Compactor::Plan> Compactor::look(const Engine& engine, Instant now) {
  history_.forget(rules_, now);
  const Seen seen = see(engine, now);
  CompactionDecision decision = decide_compaction(rules_, seen.scene, history_);
  look_again_ = decision.look_again ? std::max(*decision.look_again, now + Duration{1})
                                    : now + rules_.when_waiting;
  if (!decision.plan) return std::nullopt;
  look_again_.reset();
  Plan plan{static_cast<JobId>(decision.plan->job), {}};
  for (const RoomMove& move : decision.plan->room.moves) {
    const auto job = static_cast<JobId>(seen.scene.gpus[move.from.gpu].works[move.work].name);
    history_.note(static_cast<std::int64_t>(index(job)), now);
    plan.moves.push_back({job, seen.gpus[move.from.gpu], seen.gpus[move.to.gpu],
                          move.from.placement, move.to.placement, !in_.facts.movable(job)});
  }
  return plan;
}

Compactor::Seen Compactor::see(const Engine& engine, Instant now) const {
  Seen seen;
  CompactionScene& scene = seen.scene;
  for (const auto& graph : in_.start.graphs()) scene.geometries.push_back(&graph->geometry());
  for (std::size_t i = 0; i < in_.world.gpus().size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    if (in_.world[gpu].absent || reserved(gpu, now)) continue;
    scene.gpus.push_back(room_on(gpu, now, scene));
    seen.gpus.push_back(gpu);
  }
  scene.in_order = in_order_;
  scene.now = now;
  scene.since_midnight = since_midnight(now);
  add_waiting(engine, scene);
  return seen;
}

RoomGpu Compactor::room_on(GpuId gpu, Instant now, CompactionScene& scene) const {
  RoomGpu room{in_.world[gpu].kind, kept_on(in_.start, in_.world, gpu), {}};
  for (const JobId job : in_.rates.jobs_on(gpu)) {
    const JobRun& run = *in_.runs.find(job);
    if (run.mode == RunMode::shared) {
      room.walls.insert(run.placement);
      continue;
    }
    room.works.push_back(work_of(job, run));
    if (const auto end = end_of(job, run, now))
      scene.ends.emplace(static_cast<std::int64_t>(index(job)), *end);
  }
  return room;
}

/// By a second copy where the job may move, else from a checkpoint. What would begin anew stays.
RoomWork Compactor::work_of(JobId job, const JobRun& run) const {
  const std::size_t kind = in_.world[run.gpu].kind;
  RoomWork work{run.mode == RunMode::whole ? PlacementId{0} : run.placement,
                false,
                {},
                {},
                static_cast<std::int64_t>(index(job))};
  const JobDetails* details =
      in_.workload.details_of(in_.workload.jobs[index(in_.processes.job_of(job))]);
  const Keeps keeps = details == nullptr ? Keeps::unsaid : details->keeps;
  if (run.mode != RunMode::instance || in_.processes.in_gang(job) || keeps == Keeps::nothing ||
      in_.facts.kind(job) == JobKind::lease)
    return work;
  work.movable = in_.facts.movable(job) || in_.facts.restartable(job);
  const Geometry& geometry = in_.world.graph(in_.world[run.gpu]).geometry();
  const Duration make =
      in_.reconfiguration.value_or(create_time(geometry, PlacementSet::of(run.placement)));
  const Duration save = in_.facts.checkpoint_time(job, kind).value_or(in_.stops.checkpoint);
  const bool replica = in_.facts.movable(job) && keeps != Keeps::checkpoint;
  if (!replica) work.interrupted = make + save + in_.process_start;
  const Duration load = in_.stops.by_memory ? save / 2 : Duration::zero();
  work.takes = replica ? make + load + in_.process_start : make + save / 2;
  return work;
}

std::optional<Instant> Compactor::end_of(JobId job, const JobRun& run, Instant now) const {
  if (run.mode != RunMode::instance || !in_.facts.tells_times()) return std::nullopt;
  const int profile = in_.world.graph(in_.world[run.gpu]).geometry()[run.placement].profile_index;
  const auto all = in_.facts.time_on(job, in_.world[run.gpu].kind, profile);
  if (!all) return std::nullopt;
  if (const auto done = in_.facts.progress(job))
    return std::max(now, run.counts_from) +
           std::chrono::round<Duration>(*all * std::max(0.0, 1 - *done));
  const Instant end = std::max(run.begin, run.here_from) + *all;
  return end > now ? std::optional(end) : std::nullopt;
}

bool Compactor::reserved(GpuId gpu, Instant now) const {
  return std::ranges::any_of(in_.reservations, [&](const GpuReservation& each) {
    return each.gpu == gpu && each.until > now;
  });
}

/// Those of one place that nothing but the place keeps waiting.
void Compactor::add_waiting(const Engine& engine, CompactionScene& scene) const {
  for (const JobId job : queue()) {
    if (engine.array_is_full(job)) continue;
    const ResolvedRequest& asked = in_.requests[engine.request_of(job)];
    const Outlook outlook = engine.outlook(job);
    if (asked.request.places != 1 || !outlook.host.empty() || outlook.user_at_limit) {
      if (scene.in_order) return;  // and nobody may begin before it
      continue;
    }
    CompactionWaiting waiting{static_cast<std::int64_t>(index(job)),
                              since_.at(job),
                              {asked.candidates, asks_for_whole(asked.request)},
                              {}};
    if (outlook.kept) waiting.expected = outlook.kept->from;
    scene.waiting.push_back(std::move(waiting));
  }
}

Fleet fleet_of_now(const Fleet& start, const World& world) {
  Fleet fleet = start;
  for (std::size_t i = 0; i < world.gpus().size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const PlacementSet kept = kept_on(start, world, gpu);
    if (kept != (start[gpu].walls | start[gpu].held)) fleet.clear(gpu);
    const PlacementSet there = existing_on(world, gpu);
    for (const PlacementId placement : start[gpu].idle - there)
      if (fleet[gpu].idle.contains(placement)) fleet.destroy_idle(gpu, placement);
    for (const PlacementId placement : there - kept) {
      if (fleet[gpu].idle.contains(placement)) continue;
      fleet.hold(gpu, placement);
      fleet.release(gpu, placement);
    }
  }
  return fleet;
}

}  // namespace cleave
