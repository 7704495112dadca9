#include "control/loop/compaction_keeper.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "control/node/reserved_gpus.hpp"
#include "placement/gang_room.hpp"
#include "placement/request_table.hpp"

namespace cleave {

namespace {

/// Of those that wait, how many are looked at: the first of the queue.
constexpr std::size_t most_waiting = 256;

Duration since_midnight(Instant wall) {
  const std::time_t at = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(wall));
  std::tm here{};
  ::localtime_r(&at, &here);
  return std::chrono::hours(here.tm_hour) + std::chrono::minutes(here.tm_min) +
         std::chrono::seconds(here.tm_sec);
}

}  // namespace

void CompactionKeeper::note(const LivePlan& plan) {
  noted_ = std::max(noted_, plan.number);
  for (const PlannedMove& move : plan.moves)
    if (move.state != MovePhase::left && move.state != MovePhase::over)
      history_.note(move.job, plan.begun);
}

void CompactionKeeper::recall(std::span<const LivePlan> plans) {
  for (const LivePlan& plan : plans) note(plan);
}

/// Only one plan is carried out at a time, and the engine must have had its say.
bool CompactionKeeper::may_look() const {
  return settings_.compaction && brain_.active() && !node_.paused && !node_.plan && !node_.room &&
         !plans_.is_asked() && !brain_.furnishes() && !brain_.wants_whole_gpus();
}

bool CompactionKeeper::step() {
  // Those of operators count too.
  if (node_.plan && node_.plan->number > noted_) {
    note(*node_.plan);
    look_at_ = Instant::min();
  }
  if (std::exchange(by_, settings_.compaction) != settings_.compaction) look_at_ = Instant::min();
  if (!may_look()) return false;
  const CompactionRules& rules = *settings_.compaction;
  const Instant now = clock_.wall();
  // A clock that was set back does not put a look off.
  if (now < look_at_ && look_at_ <= now + rules.when_waiting) return false;
  history_.forget(rules, now);
  const LiveFleet live = plans_.fleet();
  SeenFleet seen = seen_fleet(node_, live, reserved(), {clock_.steady(), now});
  seen.scene.since_midnight = since_midnight(now);
  seen.scene.in_order = brain_.keeps_order();
  seen.scene.waiting = waiting(live, seen.scene.in_order);
  const CompactionDecision decision = decide_compaction(rules, seen.scene, history_);
  // A job that comes from now on has waited long enough no sooner.
  look_at_ =
      std::min(decision.look_again.value_or(now + rules.when_waiting), now + rules.when_waiting);
  if (!decision.plan) return false;
  const CompactionPlan& plan = *decision.plan;
  PlanPurpose purpose{plan.job, static_cast<std::int64_t>(plan.fewest), plan.saved, plan.room_at};
  return plans_.begin_for(order_of(plan, seen, live), purpose).has_value();
}

Duration CompactionKeeper::next() const {
  if (!may_look()) return Duration::max();
  if (look_at_ <= clock_.wall()) return clock_.steady();
  return clock_.steady() + (look_at_ - clock_.wall());
}

std::vector<CompactionWaiting> CompactionKeeper::waiting(const LiveFleet& live, bool in_order) {
  std::vector<CompactionWaiting> list;
  std::map<JobNumber, Instant> since;
  for (const JobNumber number : queue_of(node_)) {
    const LiveJob& job = node_.jobs.at(number);
    if (job.place) continue;  // the engine has a place for it
    if (brain_.outlook(job).array_is_full) continue;
    if (job.record.attempts > 0) {
      const auto before = since_.find(number);
      since[number] = before == since_.end() ? clock_.wall() : before->second;
    }
    if (list.size() >= most_waiting) continue;
    auto waits = waiting_for_room(job, live);
    if (!waits && in_order) break;  // and nobody may begin before it
    if (!waits) continue;
    if (const auto again = since.find(number); again != since.end()) waits->since = again->second;
    list.push_back(std::move(*waits));
  }
  since_ = std::move(since);
  return list;
}

/// Nothing where something else than the place keeps it waiting, or where it needs several.
std::optional<CompactionWaiting> CompactionKeeper::waiting_for_room(const LiveJob& job,
                                                                    const LiveFleet& live) const {
  if (!job.id || job.rejected || job.record.several()) return std::nullopt;
  const Brain::Outlook outlook = brain_.outlook(job);
  if (!outlook.host.empty() || !outlook.user_limit.empty()) return std::nullopt;
  const Request request = brain_.request_of(*job.id);
  ResolvedRequest asked = resolve(request, live.fleet.geometries);
  CompactionWaiting waits{job.record.number,
                          job.record.submitted,
                          {std::move(asked.candidates), asks_for_whole(request)},
                          {}};
  if (outlook.in) waits.expected = clock_.wall() + *outlook.in;
  return waits;
}

std::set<GpuId> CompactionKeeper::reserved() const {
  std::set<GpuId> gpus;
  for (const GpuReservation& each : reservations_of(settings_.reservations, node_, clock_.wall()))
    gpus.insert(each.gpu);
  return gpus;
}

}  // namespace cleave
