// Random live situations and a plan for each, by seeds: jobs that may move and others, instances of
// somebody else, and while the plan is carried out jobs that end and come, GPUs that are lost and
// refuse, a daemon that dies at any effect, operators who change their mind.
//
//   CLEAVE_PLAN_SEEDS   how many; the long form is 1000
//   CLEAVE_PLAN_SEED    the first; alone, only that one
//
// Laws: a plan ends; it is finished exactly if each of its moves is done or has no job any more,
// and else says why not; where nothing happened it is finished, with the GPUs freed that it said.
// No job is lost, or runs twice but for a replica that takes over; what may not be moved never is;
// no instance has two jobs; nothing of others is touched; in the end nothing is held. In a third of
// the seeds large jobs wait, and the loop makes plans by itself: the same holds of each, it has as
// few moves as was proven, and where nothing happens its job is served.

#include <cstdlib>
#include <set>

#include "base/number_asked_test.hpp"
#include "base/random.hpp"
#include "base/sanitized_test.hpp"
#include "device/ledger.hpp"
#include "plan_stand.hpp"

namespace cleave::trial {
namespace {

struct Death {};

/// What happened in all of them.
struct Counts {
  std::size_t plans = 0, nothing = 0, calm = 0, finished = 0, stopped = 0, cancelled = 0, done = 0,
              over = 0, left = 0, deaths = 0, lost = 0, refusals = 0, waves = 0, by_policy = 0,
              served = 0;
};

class Trial final : public PlanStand {
 public:
  Trial(std::uint64_t seed, Counts& counts)
      : PlanStand(std::vector<std::string>(3 + seed % 3, "A100-40GB")),
        random_(seed),
        counts_(counts),
        calm_(seed % 5 < 2),
        by_policy_(seed % 3 == 0) {
    jobs = FakeJobs(seed);
  }
  void TestBody() override {}

  /// What happened, as far as the store has it.
  void tell() {
    const auto events = store->events(0, std::nullopt, 10'000).value();
    for (const EventRecord& each : events)
      fmt::print("{:9.3f}  {}  {}\n", in_seconds(each.at.time_since_epoch() - 1'000'000h),
                 each.kind, each.text);
  }

  std::vector<std::string> run_it() {
    furnish();
    if (by_policy_) return wait_for_policy();
    const auto order = compaction(random_.uniform() < 0.3 ? "optimal" : "rules");
    if (!order) broken("no plan: " + order.error().text());
    if (!order || order->moves.empty()) {
      ++counts_.nothing;
      return broken_;
    }
    const auto number = control->begin_plan(*order, "ann", moment());
    if (!number) {
      broken("it is refused: " + number.error().text());
      return broken_;
    }
    one_step();
    if (store->plans(INT64_MAX, 1)->empty()) return broken_;  // it died before it had written that
    ++counts_.plans;
    const Duration patience = now + 2h;
    while (broken_.empty() && !latest_plan().ended && now < patience) disturbed_step();
    mend();
    if (!latest_plan().ended) broken("it does not end: " + state_of_plan());
    pass(10min);
    if (broken_.empty()) check_end();
    return broken_;
  }

 private:
  void broken(std::string what) { broken_.push_back(std::move(what)); }

  /// Large jobs wait, and the loop plans for them by itself: each plan keeps the laws.
  std::vector<std::string> wait_for_policy() {
    settings.compaction =
        *parse_compaction("when_waiting=20 s;gain=0;at_most=2 moves/5 min per job");
    if (!control->reload(settings, moment())) broken("the rules are refused");
    for (std::uint64_t large = 1 + random_.below(2); large > 0; --large) {
      const auto profile = random_.uniform() < 0.5 ? "7g.40gb" : "4g.20gb";
      allows_[submit_long(profile, Allows::nothing)] = Allows::nothing;
    }
    pass(15s);
    const Duration until = now + 90s;
    const auto has_ended = [&] {
      const auto latest = store->plans(INT64_MAX, 1);
      return latest && !latest->empty() && latest->front().ended;
    };
    while (broken_.empty() && now < until && !has_ended()) disturbed_step();
    settings.compaction.reset();
    mend();
    while (!control->reload(settings, moment())) pass(1s);
    pass(15min);
    const auto all = store->plans(INT64_MAX, 100);
    if (all->empty()) ++counts_.nothing;
    for (const LivePlan& plan : *all) {
      ++counts_.plans;
      ++counts_.by_policy;
      counts_.served += plan.served.value_or(false) ? 1 : 0;
      if (!plan.purpose) broken("the policy began a plan for nobody");
      if (!plan.ended) broken("it does not end");
      if (plan.by != "compaction policy") broken("it is by " + plan.by);
      if (plan.purpose && std::ssize(plan.moves) != plan.purpose->fewest)
        broken(fmt::format("{} moves, and {} would do", plan.moves.size(), plan.purpose->fewest));
      if (broken_.empty()) check_plan(plan);
      if (calm_ && plan.served != true) broken("nothing happened, and the job was not served");
    }
    if (broken_.empty()) check_jobs();
    return broken_;
  }

  void furnish() {
    constexpr std::string_view profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "1g.10gb"};
    constexpr Allows ways[] = {Allows::replica,    Allows::replica, Allows::replica,
                               Allows::checkpoint, Allows::restart, Allows::command,
                               Allows::nothing};
    const auto count = 4 + random_.below(5 * machine.size());
    for (std::uint64_t i = 0; i < count; ++i) {
      const Allows allows = ways[random_.below(std::size(ways))];
      next_course.saves = calm_ || random_.uniform() < 0.7 ? std::optional(1s) : std::nullopt;
      allows_[submit_long(std::string(profiles[random_.below(std::size(profiles))]), allows)] =
          allows;
    }
    pass(60s);
    for (const auto& [number, allows] : allows_)
      if (random_.uniform() < 0.55) cancel(number);
    pass(30s);
    if (random_.uniform() < 0.3)
      if (const auto made = machine.make_foreign(random_.below(machine.size()), "1g.5gb"))
        foreign_.insert(*made);
    pass(30s);
    if (calm_) return;
    disk.before_write = disk.after_write = [this](const StoreBatch&) { perhaps_die(); };
    machine.at = [this](std::string_view) { perhaps_die(); };
    if (random_.uniform() < 0.4) delays.faults.refuse = random_.uniform() * 0.2;
    begin();
    pass(10s);
    dying_ = random_.uniform() < 0.5 ? 0.05 : 0;
  }
  void cancel(JobNumber number) {
    control->cancel(number, "its user", moment());
    cancelled_.insert(number);
  }
  void perhaps_die() {
    if (dying_ > 0 && random_.uniform() < dying_) throw Death{};
  }

  void one_step() {
    try {
      control->step(moment());
      Duration next = std::min(now + 1s, control->wake_at());
      if (const auto due = executor->next()) next = std::min(next, *due);
      if (const auto due = jobs.next()) next = std::min(next, due->time_since_epoch());
      now = std::max(now + 1us, next);
      jobs.advance_to(Instant{} + now);
      executor->advance_to(now);
    } catch (const Death&) {
      ++counts_.deaths;
      const double before = std::exchange(dying_, 0);
      begin();
      // Users who had no answer ask again.
      for (const JobNumber number : cancelled_) control->cancel(number, "its user", moment());
      dying_ = before;
    } catch (const std::logic_error& wrong) {
      broken(wrong.what());
    }
    check_now();
  }
  void pass(Duration time) {
    const Duration end = now + time;
    while (broken_.empty() && now < end) one_step();
  }
  void disturbed_step() {
    one_step();
    if (calm_ || !broken_.empty() || random_.uniform() > 0.12) return;
    const double what = random_.uniform();
    if (what < 0.3) {
      auto which = allows_.begin();
      std::advance(which, static_cast<std::ptrdiff_t>(random_.below(allows_.size())));
      cancel(which->first);
    } else if (what < 0.5) {
      const Allows allows = random_.uniform() < 0.5 ? Allows::replica : Allows::nothing;
      allows_[submit_long("1g.5gb", allows)] = allows;
    } else if (what < 0.6) {
      const auto gpu = random_.below(machine.size());
      if (machine.lost(gpu)) return;
      ++counts_.lost;
      for (const std::string& device : std::set(foreign_))
        if (machine.lose(gpu); !machine.exists(device)) foreign_.erase(device);
      machine.lose(gpu);
      lost_any_ = true;
    } else if (what < 0.7) {
      // One that is made just where the daemon was about to make its own, and died, cannot be told
      // from that.
      const auto ledger = Ledger::open(machine.state_directory(), "test");
      if (!ledger || !ledger->state().open().empty()) return;
      if (const auto made = machine.make_foreign(random_.below(machine.size()), "1g.5gb"))
        foreign_.insert(*made);
    } else if (const LivePlan* plan = control->plan()) {
      const auto change = what < 0.85   ? PlanChange::resume
                          : what < 0.95 ? PlanChange::pause
                                        : PlanChange::cancel;
      static_cast<void>(control->change_plan(plan->number, change, "ben", moment()));
    }
  }
  void mend() {
    dying_ = 0;
    counts_.refusals += delays.faults.refuse > 0 ? 1 : 0;
    delays.faults = {};
    executor->mend();
    for (std::size_t gpu = 0; gpu < machine.size(); ++gpu) machine.give_back(gpu);
  }

  void check_now() {
    std::map<JobNumber, std::size_t> processes;
    std::set<std::string> devices;
    for (const JobKey& key : jobs.running()) {
      ++processes[key.job];
      if (!devices.insert(jobs.launch_of(key).visible_devices).second)
        broken(fmt::format("two jobs on {}", jobs.launch_of(key).visible_devices));
    }
    for (const auto& [number, count] : processes)
      if (count > (allows_[number] == Allows::replica ? 2U : 1U))
        broken(fmt::format("job {} runs {} times at once", number, count));
    for (const std::string& device : foreign_)
      if (!machine.exists(device)) broken(fmt::format("{} of others is gone", device));
  }

  void check_end() {
    const LivePlan plan = latest_plan();
    check_plan(plan);
    if (calm_) check_calm(plan);
    check_jobs();
  }
  void check_jobs() {
    for (const auto& [number, allows] : allows_) check_job(number, allows);
  }
  void check_plan(const LivePlan& plan) {
    if (control->plan() != nullptr) broken("something is still held");
    std::size_t settled = 0;
    for (const PlannedMove& move : plan.moves) {
      if (!is_settled(move.state)) broken(fmt::format("the move of job {} is open", move.job));
      if (move.state == MovePhase::left && move.why_not.empty()) broken("a move left without why");
      (move.state == MovePhase::done   ? counts_.done
       : move.state == MovePhase::over ? counts_.over
                                       : counts_.left) += 1;
      settled += move.state == MovePhase::left ? 0 : 1;
    }
    const bool whole = settled == plan.moves.size();
    if (whole != (plan.state == PlanState::finished) || whole != plan.why.empty())
      broken(fmt::format("{} of {} moves are made, and it is {}", settled, plan.moves.size(),
                         state_of_plan()));
    if (plan.freed.value_or(-1) > std::ssize(plan.frees)) broken("more is freed than it said");
    if (plan.moves.back().wave > 1) ++counts_.waves;
    (plan.state == PlanState::finished  ? counts_.finished
     : plan.state == PlanState::stopped ? counts_.stopped
                                        : counts_.cancelled) += 1;
  }
  void check_calm(const LivePlan& plan) {
    ++counts_.calm;
    if (plan.state != PlanState::finished) broken("nothing happened, and it is " + state_of_plan());
    if (plan.freed != std::ssize(plan.frees))
      broken(fmt::format("{} GPUs are freed of {}", plan.freed.value_or(-1), plan.frees.size()));
    std::map<JobNumber, PlannedPlace> ends;
    for (const PlannedMove& move : plan.moves) ends[move.job] = move.to;
    for (const auto& [number, to] : ends)
      if (place(number) != to) broken(fmt::format("job {} is not where it was to be", number));
  }
  void check_job(JobNumber number, Allows allows) {
    const auto found = store->job(number);
    if (!found || !*found) {
      // A submission that the daemon did not live to write was never answered.
      if (calm_) broken(fmt::format("job {} is not in the store", number));
      return;
    }
    const JobRecord& job = **found;
    if (cancelled_.contains(number)) {
      if (!is_final(job.state)) broken(fmt::format("job {} was cancelled and is not over", number));
      return;
    }
    // What runs for ever is lost only with a GPU, and only where it may not be run again.
    const bool saves = allows == Allows::checkpoint || allows == Allows::command;
    if (is_final(job.state) && !(lost_any_ && !saves))
      broken(fmt::format("job {} is {}: {}", number, name(job.state), job.reason));
    if (job.state == JobState::starting || job.state == JobState::stopping)
      broken(fmt::format("job {} is {} for minutes", number, name(job.state)));
    if (allows == Allows::nothing && jobs.begun(number) > 1)
      broken(fmt::format("job {} may not be moved and began {} times", number, jobs.begun(number)));
  }

  Random random_;
  Counts& counts_;
  bool calm_, by_policy_, lost_any_ = false;
  double dying_ = 0;
  std::map<JobNumber, Allows> allows_;
  std::set<JobNumber> cancelled_;
  std::set<std::string> foreign_;
  std::vector<std::string> broken_;
};

TEST(PlanSeeds, EndWhereTheySay) {
  const bool one = std::getenv("CLEAVE_PLAN_SEED") != nullptr;
  const std::uint64_t first = number_asked("CLEAVE_PLAN_SEED", 1);
  const std::uint64_t usual = std::getenv("CLEAVE_LONG") != nullptr ? 1000 : sanitized ? 60 : 250;
  const std::uint64_t count = number_asked("CLEAVE_PLAN_SEEDS", one ? 1 : usual);
  Counts all;
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Trial trial(seed, all);
    const std::vector<std::string> broken = trial.run_it();
    if (one && !broken.empty()) trial.tell();
    for (const std::string& each : broken)
      ADD_FAILURE() << each << "\nrepeat it: CLEAVE_PLAN_SEED=" << seed
                    << " build/release/bin/daemon_loop_test --gtest_filter=PlanSeeds.*";
  }
  fmt::print(
      "{} seeds: {} plans ({} of them undisturbed, {} with several waves), {} without a move; {} "
      "finished, {} stopped, {} cancelled; {} moves done, {} without a job any more, {} left; {} "
      "deaths, {} GPUs lost, {} with drivers that refuse; {} plans by the policy, {} jobs served\n",
      count, all.plans, all.calm, all.waves, all.nothing, all.finished, all.stopped, all.cancelled,
      all.done, all.over, all.left, all.deaths, all.lost, all.refusals, all.by_policy, all.served);
  if (count < 100) return;
  for (const std::size_t each :
       {all.calm, all.waves, all.finished, all.stopped, all.cancelled, all.done, all.over, all.left,
        all.deaths, all.lost, all.refusals, all.by_policy, all.served})
    EXPECT_GT(each, 0U);
}

}  // namespace
}  // namespace cleave::trial
