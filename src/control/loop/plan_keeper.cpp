#include "control/loop/plan_keeper.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::string_view change_names[] = {"pause", "resume", "cancel"};

bool is_under_way(const LivePlan& plan) {
  return plan.state == PlanState::running || plan.state == PlanState::paused;
}

/// "3 of 4 moves done; 2 of 2 GPUs freed"
std::string outcome_in_words(const LivePlan& plan) {
  const auto settled = std::ranges::count_if(plan.moves, [](const PlannedMove& move) {
    return move.state == MovePhase::done || move.state == MovePhase::over;
  });
  return fmt::format("{} of {} done; {} of {} freed", settled, counted(plan.moves.size(), "move"),
                     plan.freed.value_or(0), counted(plan.frees.size(), "GPU"));
}

}  // namespace

MigRules PlanKeeper::rules() const {
  return {settings_.may_switch_mig, brain_.wants_whole_gpus()};
}

Result<LivePlan> PlanKeeper::ordered(const PlanOrder& order, const std::string& by,
                                     const std::optional<PlanPurpose>& purpose) {
  if (const std::int64_t busy = node_.plan ? node_.plan->number : asked_; busy != 0)
    return fail(ErrorKind::infeasible, "plans", fmt::format("plan {} is being carried out", busy),
                fmt::format("wait until it has ended, or cancel it: cleave plans cancel {}", busy));
  if (brain_.furnishes() || brain_.wants_whole_gpus())
    return fail(ErrorKind::infeasible, "the scheduler",
                fmt::format("{} keeps a layout of its own", brain_.scheduler()),
                "an operator can choose another with `cleave scheduler`");
  auto plan = plan_of(node_, order, rules());
  if (!plan) return std::unexpected(plan.error());
  plan->number = ++node_.last_plan;
  plan->by = by;
  plan->begun = clock_.wall();
  plan->until = plan->begun + order.within;
  plan->purpose = purpose;
  return plan;
}

EventRecord PlanKeeper::beginning_of(const LivePlan& plan, Duration within) {
  std::string text =
      fmt::format("plan {} ({}) begins, by {}: {}, {} to be freed; it ends within {}", plan.number,
                  plan.kind, plan.by, counted(plan.moves.size(), "move"),
                  counted(plan.frees.size(), "GPU"), human(within));
  if (plan.purpose)
    text +=
        fmt::format("; job {} is to have room in {}, and to wait about {} less", plan.purpose->job,
                    human(std::max(Duration{}, plan.purpose->room_at - plan.begun)),
                    human(plan.purpose->saved));
  return book_.event_record("plan-begun", text, nullptr);
}

Result<std::int64_t> PlanKeeper::begin_for(const PlanOrder& order, const PlanPurpose& purpose) {
  auto plan = ordered(order, "compaction policy", purpose);
  if (!plan) return std::unexpected(plan.error());
  book_.note(*plan);
  book_.event(beginning_of(*plan, order.within));
  enter(*plan);
  return plan->number;
}

Result<std::int64_t> PlanKeeper::begin(const PlanOrder& order, const std::string& by) {
  const auto plan = ordered(order, by, {});
  if (!plan) return std::unexpected(plan.error());
  StoreBatch batch;
  batch.plans.push_back(*plan);
  batch.events.push_back(beginning_of(*plan, order.within));
  asked_ = plan->number;
  const std::int64_t number = plan->number;
  UserRequest& request = book_.request(
      std::move(batch), [this, entering = *plan]() mutable { enter(std::move(entering)); });
  request.refused = [this] { asked_ = 0; };
  return number;
}

void PlanKeeper::enter(LivePlan plan) {
  asked_ = 0;
  node_.plan = std::move(plan);
  node_.plan_refusals.clear();
  for (const PlannedMove& move : node_.plan->moves)
    if (LiveJob* job = node_.find(move.job)) job->planned = !is_settled(move.state) || job->planned;
  watch_time();
  lifecycle_.rebuild("a plan is carried out");
}

/// The loop wakes then.
void PlanKeeper::watch_time() {
  const Duration left = std::max(Duration{}, node_.plan->until - clock_.wall());
  node_.timers.emplace(clock_.steady() + left, JobKey{});
}

void PlanKeeper::recall(const LivePlan& plan) {
  enter(plan);
  for (const PlannedMove& move : node_.plan->moves) {
    LiveJob* job = node_.find(move.job);
    if (job == nullptr || is_final(job->record.state) || move.state != MovePhase::moving) continue;
    // Its process was told to end, or has ended for that.
    const bool runs = job->main && !job->attempts.at(*job->main).record.end;
    job->on_its_way = !runs && way_of(*job) == MoveWay::checkpoint;
  }
}

Result<void> PlanKeeper::change(std::int64_t number, PlanChange what, const std::string& by) {
  const std::string place = fmt::format("plan {}", number);
  if (!node_.plan || node_.plan->number != number)
    return fail(ErrorKind::infeasible, place,
                number > node_.last_plan || number < 1 ? "there is no such plan"
                : number == asked_                     ? "it has not begun yet"
                                                       : "it has ended",
                "`cleave plans` shows those there are");
  if (!is_under_way(*node_.plan) && what != PlanChange::cancel)
    return fail(ErrorKind::infeasible, place, "it is about to stop",
                "wait until it has, and make another");
  LivePlan next = *node_.plan;
  if (is_under_way(next))
    next.state = what == PlanChange::cancel  ? PlanState::cancelling
                 : what == PlanChange::pause ? PlanState::paused
                                             : PlanState::running;
  if (what == PlanChange::cancel && next.why.empty()) next.why = fmt::format("cancelled by {}", by);
  StoreBatch batch;
  batch.plans.push_back(next);
  batch.events.push_back(book_.event_record(
      "plan-changed",
      fmt::format("plan {}: {} by {}", number, change_names[static_cast<std::size_t>(what)], by),
      nullptr));
  book_.request(std::move(batch), [this, number, what, by] { enter_change(number, what, by); });
  return {};
}

/// By now it may have ended, or be about to.
void PlanKeeper::enter_change(std::int64_t number, PlanChange what, const std::string& by) {
  if (!node_.plan || node_.plan->number != number) return;
  if (what == PlanChange::cancel) {
    stop(PlanState::cancelling, fmt::format("cancelled by {}", by));
  } else if (is_under_way(*node_.plan)) {
    node_.plan->state = what == PlanChange::pause ? PlanState::paused : PlanState::running;
  }
  book_.note(*node_.plan);
}

void PlanKeeper::stop(PlanState as, const std::string& why) {
  LivePlan& plan = *node_.plan;
  if (!is_under_way(plan)) return;
  plan.state = as;
  plan.why = why;
  book_.note(plan);
}

/// It waits no more: it has a place, or has ended.
bool PlanKeeper::is_served(const PlanPurpose& purpose) const {
  const LiveJob* job = node_.find(purpose.job);
  return job == nullptr || is_final(job->record.state) || job->record.cancelled || job->place ||
         job->main;
}

/// What became of the job for which there is room now: it was told of before all others.
bool PlanKeeper::watch_room() {
  if (!node_.room || !brain_.active()) return false;
  LivePlan plan = *std::exchange(node_.room, std::nullopt);
  const LiveJob* job = node_.find(plan.purpose->job);
  const bool over = job == nullptr || is_final(job->record.state) || job->record.cancelled;
  plan.served = !over && is_served(*plan.purpose);
  book_.note(plan);
  book_.event("plan-room",
              fmt::format("plan {}: job {} {}", plan.number, plan.purpose->job,
                          *plan.served ? "has the place that was made for it"
                          : over       ? "has ended, and does not need its room"
                                       : "still waits: the scheduler gave it no place"),
              job);
  return true;
}

bool PlanKeeper::step() {
  if (watch_room()) return true;
  if (!node_.plan) return false;
  LivePlan& plan = *node_.plan;
  if (plan.purpose && brain_.active() && is_served(*plan.purpose))
    stop(PlanState::stopping, fmt::format("job {} does not wait any more", plan.purpose->job));
  if (clock_.wall() >= plan.until) stop(PlanState::stopping, "its time is up");
  if (!node_.plan_refusals.empty()) stop(PlanState::stopping, node_.plan_refusals.front());
  if (!brain_.active()) return false;
  const auto settled = [&] {
    return std::ranges::count_if(plan.moves,
                                 [](const PlannedMove& move) { return is_settled(move.state); });
  };
  const auto before = settled();
  // What one move says may stop the others.
  bool was_under_way = is_under_way(plan);
  do {
    was_under_way = is_under_way(plan);
    const auto wave = wave_of(plan);
    for (PlannedMove& move : plan.moves)
      if (!is_settled(move.state) && (move.wave == wave || !is_under_way(plan))) judge(move);
  } while (was_under_way && !is_under_way(plan));
  const bool more = settled() > before;
  if (wave_of(plan)) return more;
  end();
  return true;
}

void PlanKeeper::judge(PlannedMove& move) {
  const LivePlan& plan = *node_.plan;
  const bool begun = move.state == MovePhase::moving;
  const bool ends = !is_under_way(plan);
  if (ends && (!begun || may_be_withdrawn(node_, move))) return withdraw(move);
  const MoveVerdict verdict = judge_move(node_, move, rules());
  switch (verdict.kind) {
    case MoveVerdict::Kind::wait:
      return;
    case MoveVerdict::Kind::done:
      book_.event("plan-moved",
                  fmt::format("plan {}: job {} runs on its new place", plan.number, move.job),
                  node_.find(move.job), move.to.gpu);
      settle(move, MovePhase::done);
      return lifecycle_.rebuild("a plan has moved a job");
    case MoveVerdict::Kind::over:
      return settle(move, MovePhase::over);
    case MoveVerdict::Kind::leave:
      return settle(move, MovePhase::left, verdict.why);
    case MoveVerdict::Kind::blocked:
      stop(PlanState::stopping, verdict.why);
      return settle(move, MovePhase::left, verdict.why);
    case MoveVerdict::Kind::go:
      if (begun || (plan.state == PlanState::running && !node_.paused)) take(move, verdict);
  }
}

void PlanKeeper::take(PlannedMove& move, const MoveVerdict& verdict) {
  for (const GpuStep& step : verdict.steps) node_.gpu(verdict.gpu).steps.push_back(step);
  if (move.state == MovePhase::moving) return;
  move.state = MovePhase::moving;
  move.attempts_then = node_.find(move.job)->record.attempts;
  book_.note(*node_.plan);
}

void PlanKeeper::withdraw(PlannedMove& move) {
  const LiveJob* job = node_.find(move.job);
  const bool over = job == nullptr || is_final(job->record.state);
  settle(move, over ? MovePhase::over : MovePhase::left, over ? "" : "the plan did not come to it");
}

/// And what was still to be done for it is not. A job that was on its way waits for the scheduler.
void PlanKeeper::settle(PlannedMove& move, MovePhase state, const std::string& why) {
  move.state = state;
  move.why_not = why;
  book_.note(*node_.plan);
  if (state == MovePhase::done) {
    if (LiveJob* job = node_.find(move.job)) job->on_its_way = false;
    return;
  }
  if (const auto place = node_.place_of(move.to))
    std::erase_if(node_.gpu(place->gpu).steps, [&](const GpuStep& step) {
      return step.kind == GpuStep::Kind::create && step.placement == *place->placement;
    });
  lifecycle_.drop_steps(move.job);
  let_go(move.job);
  lifecycle_.rebuild("a plan keeps a place no longer");
}

void PlanKeeper::let_go(JobNumber number) {
  LiveJob* job = node_.find(number);
  if (job == nullptr || !std::exchange(job->on_its_way, false)) return;
  if (is_final(job->record.state) || job->record.cancelled) return;
  if (job->attempts.empty()) return lifecycle_.wait_again(*job, "the plan that moved it stopped");
  lifecycle_.rebuild("a plan has let a job go");  // the engine has it where it was
}

void PlanKeeper::end() {
  LivePlan plan = *std::exchange(node_.plan, std::nullopt);
  const auto left = std::ranges::find(plan.moves, MovePhase::left, &PlannedMove::state);
  const bool whole = left == plan.moves.end();
  if (plan.why.empty() && !whole)
    plan.why = fmt::format("job {} was not moved: {}", left->job, left->why_not);
  plan.state = whole                                 ? PlanState::finished
               : plan.state == PlanState::cancelling ? PlanState::cancelled
                                                     : PlanState::stopped;
  if (whole) plan.why.clear();
  ++node_.tally.plans_ended[static_cast<std::size_t>(plan.state)];
  plan.ended = clock_.wall();
  plan.freed = freed_by(node_, plan);
  book_.note(plan);
  book_.event(
      fmt::format("plan-{}", plan_state_names[static_cast<std::size_t>(plan.state)]),
      fmt::format("plan {} {}{}: {}", plan.number,
                  plan_state_names[static_cast<std::size_t>(plan.state)],
                  plan.why.empty() ? "" : fmt::format(" ({})", plan.why), outcome_in_words(plan)));
  for (const PlannedMove& move : plan.moves)
    if (LiveJob* job = node_.find(move.job)) {
      job->planned = false;
      job->on_its_way = false;
    }
  node_.plan_refusals.clear();
  if (plan.purpose) node_.room = std::move(plan);
  lifecycle_.rebuild("a plan has ended");
}

}  // namespace cleave
