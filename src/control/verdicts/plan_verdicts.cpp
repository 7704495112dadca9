#include "control/verdicts/plan_verdicts.hpp"

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/brain/fleet_of_node.hpp"
#include "control/verdicts/process_verdicts.hpp"

namespace cleave {

namespace {

using MoveKind = MoveVerdict::Kind;

/// Starts of a job at its new place, after which it stays where it is.
constexpr std::int64_t most_starts = 3;

MoveVerdict verdict(MoveKind kind, std::string why = {}) {
  return {kind, std::move(why), {}, {}};
}

/// The attempt that counts, if it runs and is known to be somewhere.
const LiveAttempt* settled_attempt(const LiveJob& job) {
  if (!job.main) return nullptr;
  const LiveAttempt& attempt = job.attempts.at(*job.main);
  return attempt.placed && !attempt.record.end ? &attempt : nullptr;
}

/// Why nothing new may be made on the GPU; empty where it may.
std::string why_unusable(const NodeState& node, GpuId id, const MigRules& rules) {
  const ManagedGpu& gpu = node.gpu(id);
  const std::string words = node.in_words(id);
  if (gpu.lost) return fmt::format("{} is lost", words);
  if (!takes_work(gpu, rules)) return fmt::format("{} takes no work", words);
  if (!gpu.observation->mig) return fmt::format("MIG mode is off on {}", words);
  if (!gpu.geometry().legal(gpu.immovable() | gpu.ready_instances()))
    return fmt::format("the layout of {} is not a legal one", words);
  return {};
}

bool is_leaving(const NodeState& node, const JobKey& key) {
  const LiveJob* job = node.find(key.job);
  return job == nullptr || !job->attempts.contains(key.attempt) ||
         job->attempts.at(key.attempt).record.end.has_value() || is_final(job->record.state);
}

/// Who is on a place, this job left out.
struct Others {
  bool any = false, stay = false;  // stay: some of them are not about to leave
};
Others others_on(const NodeState& node, const JobPlace& place, JobNumber but) {
  Others others;
  const auto found = node.occupants.find(place);
  if (found == node.occupants.end()) return others;
  for (const JobKey& key : found->second) {
    if (key.job == but) continue;
    others.any = true;
    others.stay = others.stay || !is_leaving(node, key);
  }
  return others;
}

/// What the wave still needs on the GPU, this move's place among it.
PlacementSet wanted_on(const NodeState& node, const PlannedMove& move, const JobPlace& place) {
  PlacementSet wanted = PlacementSet::of(*place.placement);
  if (!node.plan) return wanted;
  for (const PlannedMove& each : node.plan->moves) {
    if (is_settled(each.state) || each.wave != move.wave || each.to.gpu != move.to.gpu) continue;
    if (const auto there = node.place_of(each.to)) wanted.insert(*there->placement);
  }
  return wanted;
}

bool has_step(const ManagedGpu& gpu, GpuStep::Kind kind, PlacementId placement) {
  return std::ranges::any_of(gpu.steps, [&](const GpuStep& step) {
    return step.kind == kind && step.placement == placement;
  });
}

std::string in_the_way(const NodeState& node, const JobPlace& place, PlacementSet wanted) {
  const ManagedGpu& gpu = node.gpu(place.gpu);
  for (const auto& [placement, instance] : gpu.instances)
    if (others_on(node, {place.gpu, placement}, 0).stay &&
        !gpu.geometry().legal(wanted | PlacementSet::of(placement)))
      return fmt::format("{} is in use and in the way of {}",
                         node.in_words(JobPlace{place.gpu, placement}), node.in_words(place));
  return fmt::format("what must stay there leaves no room for {}", node.in_words(place));
}

/// The steps that make the instance: idle ones go that cannot stand beside it.
MoveVerdict make_instance(const NodeState& node, const PlannedMove& move, const JobPlace& place) {
  const ManagedGpu& gpu = node.gpu(place.gpu);
  const Geometry& geometry = gpu.geometry();
  const PlacementSet wanted = wanted_on(node, move, place);
  PlacementSet stay = gpu.walls, leave, idle;
  for (const auto& [placement, instance] : gpu.instances) {
    const Others others = others_on(node, {place.gpu, placement}, 0);
    const bool changes = instance.state != ManagedInstance::State::ready;
    (others.stay || gpu.quarantines(instance) ? stay
     : others.any || changes                  ? leave
                                              : idle)
        .insert(placement);
  }
  if (gpu.walls.meets(wanted) || !geometry.legal(stay | wanted))
    return verdict(MoveKind::blocked, in_the_way(node, place, wanted));
  if (!geometry.legal(stay | leave | wanted)) return verdict(MoveKind::wait);
  MoveVerdict go = verdict(MoveKind::go);
  PlacementSet kept = stay | leave | wanted;
  for (const PlacementId placement : idle) {
    const PlacementSet with = kept | PlacementSet::of(placement);
    if (geometry.legal(with))
      kept = with;
    else if (!has_step(gpu, GpuStep::Kind::destroy, placement))
      go.steps.push_back({GpuStep::Kind::destroy, placement, 0});
  }
  if (!has_step(gpu, GpuStep::Kind::create, *place.placement))
    go.steps.push_back({GpuStep::Kind::create, *place.placement, 0});
  return go;
}

/// The job is where it was, or is not anywhere and its place is being got ready.
MoveVerdict go_on(const NodeState& node, const LiveJob& job, const PlannedMove& move,
                  const MigRules& rules) {
  if (const LiveAttempt* attempt = settled_attempt(job); attempt && attempt->unsaved)
    return verdict(MoveKind::leave, *attempt->unsaved);
  const auto place = node.place_of(move.to);
  if (!place) return verdict(MoveKind::blocked, fmt::format("GPU {} is not managed", move.to.gpu));
  const bool begun = move.state == MovePhase::moving;
  if (begun && job.record.attempts - move.attempts_then >= most_starts)
    return verdict(MoveKind::leave,
                   fmt::format("it was started {} times on {} and did not stay there", most_starts,
                               node.in_words(*place)));
  if (std::string why = why_unusable(node, place->gpu, rules); !why.empty())
    return verdict(MoveKind::blocked, std::move(why));
  const ManagedGpu& gpu = node.gpu(place->gpu);
  const auto instance = gpu.instances.find(*place->placement);
  MoveVerdict go = verdict(MoveKind::go);
  if (instance == gpu.instances.end()) {
    go = make_instance(node, move, *place);
    if (go.kind != MoveKind::go) return go;
  } else {
    const Others others = others_on(node, *place, job.record.number);
    if (others.stay || gpu.quarantines(instance->second))
      return verdict(MoveKind::blocked, fmt::format("{} is in use", node.in_words(*place)));
    if (others.any || instance->second.state == ManagedInstance::State::going)
      return verdict(MoveKind::wait);
  }
  go.gpu = place->gpu;
  const JobNumber number = job.record.number;
  if (std::ranges::find(gpu.steps, number, &GpuStep::job) == gpu.steps.end())
    go.steps.push_back({job.on_its_way                       ? GpuStep::Kind::start
                        : way_of(job) == MoveWay::checkpoint ? GpuStep::Kind::hand_over
                                                             : GpuStep::Kind::replica,
                        *place->placement, number});
  return go.steps.empty() ? verdict(MoveKind::wait) : go;
}

/// What is wrong with the move of an order, where the job is expected there by then.
std::string flaw_of(const NodeState& node, const PlannedMove& move,
                    const std::optional<PlannedPlace>& expected, const MigRules& rules) {
  const LiveJob* job = node.find(move.job);
  const LiveAttempt* attempt = job == nullptr ? nullptr : settled_attempt(*job);
  if (attempt == nullptr || !attempt->record.began || is_final(job->record.state))
    return fmt::format("job {} does not run", move.job);
  if (way_of(*job) == MoveWay::stays)
    return fmt::format("{} does not allow that it is moved", NodeState::in_words(job->record));
  const auto from = node.place_of(move.from), to = node.place_of(move.to);
  if (!from || !to) {
    const PlannedPlace& wrong = from ? move.to : move.from;
    return fmt::format("there is no place {}@{} on a managed GPU {}", shown(wrong.profile),
                       wrong.start, shown(wrong.gpu));
  }
  if (expected ? *expected != move.from : *from != attempt->place)
    return fmt::format("{} is not on {}", NodeState::in_words(job->record), node.in_words(*from));
  if (move.from.profile != move.to.profile)
    return fmt::format("{} would get another profile", NodeState::in_words(job->record));
  if (*from == *to) return fmt::format("{} is there already", NodeState::in_words(job->record));
  return why_unusable(node, to->gpu, rules);
}

/// GPUs that have no job once all moves are made, and nothing of others.
std::vector<std::string> freed_in_the_end(const NodeState& node, const LivePlan& plan) {
  std::map<JobNumber, std::string> ends;
  for (const PlannedMove& move : plan.moves) ends[move.job] = move.to.gpu;
  std::set<std::string> used;
  for (const auto& [job, uuid] : ends) used.insert(uuid);
  for (const auto& [place, keys] : node.occupants)
    for (const JobKey& key : keys)
      if (!ends.contains(key.job)) used.insert(node.gpu(place.gpu).identity->uuid);
  std::set<std::string> freed;
  for (const PlannedMove& move : plan.moves) {
    const auto gpu = node.gpu_of(move.from.gpu);
    if (gpu && node.gpu(*gpu).walls.empty() && !used.contains(move.from.gpu))
      freed.insert(move.from.gpu);
  }
  return {freed.begin(), freed.end()};
}

InstanceEntry entry_of(const NodeState& node, GpuId id, PlacementId placement,
                       std::vector<LiveWorkload>& work) {
  InstanceEntry entry;
  entry.placement = placement;
  entry.owned = false;  // a wall, unless it is known to be more
  const ManagedGpu& gpu = node.gpu(id);
  const ManagedInstance& instance = gpu.instances.at(placement);
  if (instance.state != ManagedInstance::State::ready || gpu.quarantines(instance)) return entry;
  const auto found = node.occupants.find({id, placement});
  if (found == node.occupants.end()) {
    entry.owned = true;
    return entry;
  }
  const JobKey key = *found->second.begin();
  const LiveJob* job = node.find(key.job);
  const bool alone = found->second.size() == 1 && job != nullptr && job->attempts.size() == 1;
  const LiveAttempt* attempt = alone ? settled_attempt(*job) : nullptr;
  if (attempt == nullptr || is_final(job->record.state)) return entry;
  entry.owned = true;
  const bool moves = attempt->record.began.has_value() && !job->record.cancelled;
  work.push_back({workload_of(key.job), key.job, NodeState::in_words(job->record),
                  moves ? way_of(*job) : MoveWay::stays, time_to_save(job->record),
                  time_to_start(attempt->record)});
  entry.workload = work.back().workload;
  entry.movable = work.back().way != MoveWay::stays;
  return entry;
}

void add_waiting(const NodeState& node, FleetFile& fleet) {
  for (const JobNumber number : queue_of(node)) {
    const Request& request = node.jobs.at(number).record.request;
    const bool simple = std::holds_alternative<ByProfile>(request.wanted) ||
                        std::holds_alternative<BySize>(request.wanted);
    if (!simple || request.places != 1 || request.fits || request.at_least) continue;
    fleet.waiting.push_back({workload_of(number), {request.wanted, {}}, {}});
  }
}

}  // namespace

MoveWay way_of(const JobRecord& job) {
  if (job.several() || kind_of(job.spec) == JobKind::lease) return MoveWay::stays;
  if (moves_by_checkpoint(job.spec)) return MoveWay::checkpoint;
  if (may_be_moved(job.spec)) return MoveWay::replica;
  // It may be stopped and started again, and asks to be told to save its work.
  const bool saves = may_be_restarted(job.spec) && is_told_to_save(job.spec);
  return saves && !job.is_replica() ? MoveWay::checkpoint : MoveWay::stays;
}

MoveWay way_of(const LiveJob& job) {
  const JobSpec& spec = job.record.spec;
  if (kind_of(spec) != JobKind::lease) return way_of(job.record);
  const LiveAttempt* attempt = settled_attempt(job);
  const bool saves = spec.progress == Keeps::checkpoint || spec.progress == Keeps::stateless;
  // One that is on its way was idle when it was told to go.
  const bool idle = attempt == nullptr || attempt->idle.lasts() >= idle_enough;
  return saves && idle && !job.record.several() ? MoveWay::checkpoint : MoveWay::stays;
}

Duration time_to_save(const JobRecord& job) {
  const bool lease = kind_of(job.spec) == JobKind::lease;
  if (!lease && way_of(job) != MoveWay::checkpoint) return {};
  return (is_told_to_save(job.spec) ? job.spec.checkpoint_grace : Duration{}) + job.spec.stop_grace;
}

Duration time_to_start(const AttemptRecord& attempt) {
  return attempt.began ? std::max(Duration{}, *attempt.began - attempt.started) : usual_start;
}

LiveFleet live_fleet_of(const NodeState& node, const MigRules& rules) {
  const FleetFile all = fleet_of(node);
  LiveFleet live;
  live.fleet.geometries = all.geometries;
  live.times = node.change_times;
  for (const GpuId id : node.all_gpus()) {
    const ManagedGpu& gpu = node.gpu(id);
    if (!why_unusable(node, id, rules).empty()) continue;
    GpuEntry entry = all.gpus[index(id)];
    entry.instances.clear();
    for (const PlacementId wall : gpu.walls) {
      InstanceEntry& instance = entry.instances.emplace_back();
      instance.placement = wall;
      instance.owned = false;
    }
    for (const auto& [placement, instance] : gpu.instances)
      if (!gpu.walls.contains(placement))
        entry.instances.push_back(entry_of(node, id, placement, live.work));
    live.fleet.gpus.push_back(std::move(entry));
    live.uuids.push_back(gpu.identity->uuid);
  }
  std::ranges::sort(live.work, {}, &LiveWorkload::job);
  add_waiting(node, live.fleet);
  return live;
}

Result<LivePlan> plan_of(const NodeState& node, const PlanOrder& order, const MigRules& rules) {
  const auto refuse = [](std::string why) {
    return fail(ErrorKind::infeasible, "the plan", std::move(why),
                "things have changed since it was made: make it again");
  };
  LivePlan plan;
  plan.kind = order.kind;
  plan.moves = order.moves;
  plan.expected = order.expected;
  if (plan.moves.empty() || std::ssize(plan.moves) > most_moves)
    return fail(ErrorKind::bad_input, "moves",
                plan.moves.empty() ? "the plan moves nothing"
                                   : fmt::format("the plan has more than {} moves", most_moves));
  std::ranges::stable_sort(plan.moves, {}, &PlannedMove::wave);
  std::map<JobNumber, PlannedMove> before;
  for (PlannedMove& move : plan.moves) {
    for (PlannedPlace* place : {&move.from, &move.to})
      for (const ManagedGpu& gpu : node.gpus)
        if (place->gpu == fmt::format("{}", gpu.identity->index)) place->gpu = gpu.identity->uuid;
    move.state = MovePhase::open;
    move.why_not.clear();
    move.attempts_then = 0;
    const auto earlier = before.find(move.job);
    const bool again = earlier != before.end();
    if (again && earlier->second.wave == move.wave)
      return refuse(fmt::format("job {} moves twice in wave {}", move.job, move.wave));
    const auto expected = again ? std::optional(earlier->second.to) : std::nullopt;
    if (std::string wrong = flaw_of(node, move, expected, rules); !wrong.empty())
      return refuse(std::move(wrong));
    before[move.job] = move;
  }
  plan.frees = freed_in_the_end(node, plan);
  return plan;
}

MoveVerdict judge_move(const NodeState& node, const PlannedMove& move, const MigRules& rules) {
  const LiveJob* job = node.find(move.job);
  if (job == nullptr || is_final(job->record.state)) return verdict(MoveKind::over);
  if (job->record.cancelled) return verdict(MoveKind::wait);
  if (const LiveAttempt* attempt = settled_attempt(*job)) {
    const bool there = node.place_of(move.to) == attempt->place;
    if (there && attempt->record.began && job->attempts.size() == 1) return verdict(MoveKind::done);
    if (there || job->replica) return verdict(MoveKind::wait);
    if (node.place_of(move.from) != attempt->place)
      return verdict(MoveKind::leave, fmt::format("it runs on {}", node.in_words(attempt->place)));
    if (!attempt->record.began || job->attempts.size() > 1) return verdict(MoveKind::wait);
    return go_on(node, *job, move, rules);
  }
  if (!job->attempts.empty()) return verdict(MoveKind::wait);
  if (!job->on_its_way) return verdict(MoveKind::leave, "it does not run any more, and waits");
  if (job->not_before) return verdict(MoveKind::wait);
  return go_on(node, *job, move, rules);
}

bool may_be_withdrawn(const NodeState& node, const PlannedMove& move) {
  const LiveJob* job = node.find(move.job);
  return job == nullptr ||
         (!job->on_its_way && !job->replica && job->attempts.size() <= 1 &&
          node.place_of(move.to) !=
              (job->main ? std::optional(job->attempts.at(*job->main).place) : std::nullopt));
}

std::optional<std::int64_t> wave_of(const LivePlan& plan) {
  std::optional<std::int64_t> first;
  for (const PlannedMove& move : plan.moves)
    if (!is_settled(move.state)) first = std::min(first.value_or(move.wave), move.wave);
  return first;
}

std::int64_t freed_by(const NodeState& node, const LivePlan& plan) {
  return std::ranges::count_if(plan.frees, [&](const std::string& uuid) {
    const auto gpu = node.gpu_of(uuid);
    if (!gpu || node.gpu(*gpu).lost) return false;
    const auto next = node.occupants.lower_bound({*gpu, std::nullopt});
    return next == node.occupants.end() || next->first.gpu != *gpu;
  });
}

}  // namespace cleave
