// Plans that the loop carries out: jobs move by what they allow, the scheduler places around the
// plan, and whatever happens meanwhile, it ends or stops and says so.

#include "plan_stand.hpp"

namespace cleave::trial {
namespace {

/// A 3g on each of two GPUs, which a 7g could have one of.
class Plans : public PlanStand {
 protected:
  Plans() : PlanStand({"A100-40GB", "A100-40GB"}) {}

  std::int64_t begin_plan() {
    order = compaction().value();
    const auto number = control->begin_plan(order, "ann", moment());
    EXPECT_TRUE(number) << number.error().text();
    return number.value_or(0);
  }
  /// One of which no move has begun, and none does.
  std::int64_t begin_paused_plan() {
    control->pause(true, moment());
    const std::int64_t number = begin_plan();
    run(1s);
    EXPECT_TRUE(control->change_plan(number, PlanChange::pause, "ann", moment()));
    control->pause(false, moment());
    run(1s);
    return number;
  }
  [[nodiscard]] std::size_t target() const {
    return machine.managed()[0].uuid == order.moves.at(0).to.gpu ? 0 : 1;
  }
  [[nodiscard]] JobNumber moved() const { return order.moves.at(0).job; }

  PlanOrder order;
};

TEST_F(Plans, ServeALargeJobThatWaits) {
  fragment(Allows::replica);
  const JobNumber large = submit_long("7g.40gb", Allows::nothing);
  run(20s);
  ASSERT_EQ(record(large).state, JobState::queued);
  begin_plan();
  ASSERT_EQ(order.moves.size(), 1U);
  run(30s);
  const LivePlan plan = latest_plan();
  EXPECT_EQ(plan.state, PlanState::finished) << plan.why;
  EXPECT_EQ(plan.moves.at(0).state, MovePhase::done);
  EXPECT_EQ(plan.frees.size(), 1U);
  EXPECT_EQ(plan.freed, 1);
  EXPECT_EQ(plan.by, "ann");
  EXPECT_EQ(record(large).state, JobState::running);
  EXPECT_EQ(place(moved()), order.moves.at(0).to);
  const auto both = attempts(moved());
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].end, AttemptEnd::moved);
  EXPECT_GE(*both[0].ended, *both[1].began) << "the replica began first";
  EXPECT_EQ(control->plan(), nullptr);
}

TEST_F(Plans, MoveAJobThatSavesItsWork) {
  for (const Allows allows : {Allows::checkpoint, Allows::restart}) {
    kept.clear();
    fragment(allows);
    begin_plan();
    run(30s);
    EXPECT_EQ(state_of_plan(), "finished");
    EXPECT_EQ(place(moved()), order.moves.at(0).to);
    const auto both = attempts(moved());
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[0].end,
              allows == Allows::checkpoint ? AttemptEnd::moved : AttemptEnd::made_room);
    EXPECT_LE(*both[0].ended, both[1].started) << "never two at once";
    for (const JobNumber each : kept) control->cancel(each, "its user", moment());
    run(20s);
  }
}

TEST_F(Plans, MoveAJobThatACommandSaves) {
  next_course.saves = 1s;
  fragment(Allows::command);
  begin_plan();
  run(30s);
  EXPECT_EQ(state_of_plan(), "finished");
  EXPECT_EQ(place(moved()), order.moves.at(0).to);
  const auto both = attempts(moved());
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].end, AttemptEnd::moved);
  EXPECT_LE(*both[0].ended, both[1].started);
  EXPECT_EQ(record(moved()).checkpoint, 1);
  const Launch& launch = jobs.launch_of({moved(), 2});
  EXPECT_EQ(launch.argv, (std::vector<std::string>{"/bin/sh", "-c", "restore"}));
  EXPECT_NE(std::ranges::find(launch.environment, "CLEAVE_CHECKPOINT_OF=1"),
            launch.environment.end());
  begin();  // the next daemon knows it too
  run(5s);
  EXPECT_EQ(record(moved()).checkpoint, 1);
}

TEST_F(Plans, LeaveAJobThatNoCommandSaves) {
  next_course.saves = 5s;  // longer than it may take
  fragment(Allows::command);
  begin_plan();
  run(30s);
  EXPECT_EQ(state_of_plan(), fmt::format("stopped: job {} was not moved: it could not be "
                                         "checkpointed: as planned",
                                         moved()));
  EXPECT_EQ(place(moved()), order.moves.at(0).from) << "it goes on where it was";
  EXPECT_EQ(record(moved()).state, JobState::running);
  EXPECT_EQ(record(moved()).reason, "it could not be checkpointed: as planned");
  EXPECT_EQ(attempts(moved()).size(), 1U);
  EXPECT_FALSE(attempts(moved())[0].end);
  control->cancel(moved(), "its user", moment());
  run(5s);
  EXPECT_EQ(record(moved()).state, JobState::cancelled);
}

TEST_F(Plans, EndAJobThatIsCancelledWhileItIsSaved) {
  next_course.saves = 2s;
  fragment(Allows::command);
  begin_plan();
  run(1s);
  ASSERT_EQ(record(moved()).state, JobState::stopping);
  control->cancel(moved(), "its user", moment());
  run(30s);
  EXPECT_EQ(record(moved()).state, JobState::cancelled);
  EXPECT_EQ(attempts(moved()).size(), 1U);
  EXPECT_EQ(state_of_plan(), "finished") << "there is nothing to move";
}

TEST_F(Plans, HaveTheirGpusForThemselvesUntilTheyEnd) {
  fragment(Allows::replica);
  const std::int64_t number = begin_paused_plan();
  const JobNumber small = submit_long("1g.5gb", Allows::nothing);
  run(60s);
  EXPECT_EQ(latest_plan().moves.at(0).state, MovePhase::open) << "paused before it began to move";
  EXPECT_EQ(record(small).state, JobState::queued);
  EXPECT_NE(control->why_waits(small).find("is held by plan 1"), std::string::npos)
      << control->why_waits(small);
  ASSERT_TRUE(control->change_plan(number, PlanChange::cancel, "ben", moment()));
  run(20s);
  EXPECT_EQ(state_of_plan(), "cancelled: cancelled by ben");
  EXPECT_EQ(latest_plan().moves.at(0).state, MovePhase::left);
  EXPECT_EQ(record(small).state, JobState::running);
  EXPECT_EQ(attempts(moved()).size(), 1U);
}

TEST_F(Plans, LeaveTheRestOfAGpuToOthers) {
  fragment(Allows::replica, "2g.10gb", 3);
  const std::int64_t number = begin_paused_plan();
  const PlannedPlace to = order.moves.at(0).to;
  std::vector<JobNumber> small;
  for (int i = 0; i < 4; ++i) small.push_back(submit_long("1g.5gb", Allows::nothing));
  run(60s);
  std::size_t running = 0;
  for (const JobNumber each : small) {
    if (record(each).state != JobState::running) continue;
    ++running;
    EXPECT_EQ(place(each)->gpu, to.gpu) << "the other GPU is to be empty";
  }
  EXPECT_EQ(running, 3U) << "two 2g.10gb of seven slices leave three";
  EXPECT_NE(control->why_waits(small.back()).find("is in part held by plan 1"), std::string::npos)
      << control->why_waits(small.back());
  ASSERT_TRUE(control->change_plan(number, PlanChange::resume, "ann", moment()));
  run(30s);
  EXPECT_EQ(state_of_plan(), "finished");
  EXPECT_EQ(place(moved()), to);
  EXPECT_EQ(latest_plan().freed, 1) << "the last of the small ones waited until it had ended";
  EXPECT_EQ(record(small.back()).state, JobState::running);
}

TEST_F(Plans, GoOnWhenTheyAreResumed) {
  fragment(Allows::checkpoint);
  const std::int64_t number = begin_paused_plan();
  run(10s);
  EXPECT_EQ(latest_plan().moves.at(0).state, MovePhase::open);
  ASSERT_TRUE(control->change_plan(number, PlanChange::resume, "ann", moment()));
  run(30s);
  EXPECT_EQ(state_of_plan(), "finished");
  EXPECT_FALSE(control->change_plan(number, PlanChange::cancel, "ann", moment()));
}

TEST_F(Plans, AreOneAtATime) {
  fragment(Allows::replica);
  begin_plan();
  const auto second = control->begin_plan(order, "ben", moment());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text().find("plan 1 is being carried out"), std::string::npos);
  run(30s);
  EXPECT_EQ(latest_plan().number, 1);
}

TEST_F(Plans, AreRefusedWhereTheyDoNotFitWhatIsThere) {
  fragment(Allows::nothing);
  EXPECT_TRUE(compaction().value().moves.empty()) << "nothing may be moved";
  const PlannedPlace from = place(kept[0]).value();
  PlannedPlace to = place(kept[1]).value();
  to.start = to.start == 0 ? 4 : 0;
  const auto why = [&](PlannedMove move) {
    const auto begun = control->begin_plan({"compact", 1h, {std::move(move)}}, "ann", moment());
    return begun ? "" : begun.error().text();
  };
  EXPECT_NE(why({1, kept[0], from, to, {}, {}, 0}).find("does not allow"), std::string::npos);
  EXPECT_NE(why({1, 99, from, to, {}, {}, 0}).find("job 99 does not run"), std::string::npos);
  const JobNumber free = submit_long("1g.5gb", Allows::replica);
  run(20s);
  const PlannedPlace there = place(free).value();
  EXPECT_NE(why({1, free, from, to, {}, {}, 0}).find("is not on"), std::string::npos);
  EXPECT_NE(why({1, free, there, to, {}, {}, 0}).find("another profile"), std::string::npos);
  EXPECT_NE(why({1, free, there, {there.gpu, "1g.5gb", 77}, {}, {}, 0}).find("no place"),
            std::string::npos);
  EXPECT_NE(why({1, free, there, there, {}, {}, 0}).find("there already"), std::string::npos);
  EXPECT_EQ(control->plan(), nullptr);
}

TEST_F(Plans, StopWhereAPlaceIsTaken) {
  settings.keep_idle = 2s;
  begin();
  fragment(Allows::replica);
  begin_paused_plan();
  ASSERT_TRUE(machine.make_foreign(target(), "3g.20gb"));
  run(10s);
  EXPECT_EQ(latest_plan().state, PlanState::stopped);
  EXPECT_NE(latest_plan().why.find("leaves no room"), std::string::npos) << latest_plan().why;
  EXPECT_EQ(latest_plan().freed, 0);
  EXPECT_EQ(attempts(moved()).size(), 1U) << "where it was";
  EXPECT_EQ(record(moved()).state, JobState::running);
}

TEST_F(Plans, StopWhereAGpuIsLost) {
  for (const Duration after : {0ms, 100ms, 1000ms, 2500ms}) {
    kept.clear();
    fragment(Allows::restart);
    ASSERT_TRUE(control->change_plan(begin_paused_plan(), PlanChange::resume, "ann", moment()));
    const PlannedMove move = order.moves.at(0);
    run(after);
    machine.lose(target());
    run(60s);
    EXPECT_NE(latest_plan().state, PlanState::running);
    EXPECT_EQ(control->plan(), nullptr);
    EXPECT_EQ(record(move.job).state, JobState::running) << "wherever it was";
    EXPECT_EQ(place(move.job).value().gpu, move.from.gpu) << after / 1ms;
    machine.give_back(target());
    for (const JobNumber each : kept) control->cancel(each, "ann", moment());
    run(30s);
  }
}

TEST_F(Plans, StopWhereAGpuRefuses) {
  settings.keep_idle = 2s;
  begin();
  fragment(Allows::replica);
  const std::int64_t number = begin_paused_plan();
  delays.faults.refuse = 1;
  begin();  // with drivers that refuse whatever they are asked
  ASSERT_TRUE(control->change_plan(number, PlanChange::resume, "ann", moment()));
  run(2h);
  EXPECT_EQ(latest_plan().state, PlanState::stopped);
  EXPECT_FALSE(latest_plan().why.empty());
  EXPECT_EQ(attempts(moved()).size(), 1U);
}

TEST_F(Plans, EndWithTheJobsThatTheyWereToMove) {
  fragment(Allows::replica);
  begin_paused_plan();
  control->cancel(moved(), "its user", moment());
  run(20s);
  EXPECT_EQ(state_of_plan(), "finished");
  EXPECT_EQ(latest_plan().moves.at(0).state, MovePhase::over);
  EXPECT_EQ(latest_plan().freed, 1);
}

TEST_F(Plans, HoldNothingWhenTheirTimeIsUp) {
  fragment(Allows::replica);
  order = compaction().value();
  order.within = 60s;
  control->pause(true, moment());
  const auto number = control->begin_plan(order, "ann", moment());
  ASSERT_TRUE(number);
  control->step(moment());
  ASSERT_TRUE(control->change_plan(*number, PlanChange::pause, "ann", moment()));
  run(59s);
  EXPECT_NE(control->plan(), nullptr);
  run(2s);
  EXPECT_EQ(state_of_plan(), "stopped: its time is up");
  EXPECT_EQ(control->plan(), nullptr);
}

/// At each moment of a move, in steps of 100 ms.
TEST_F(Plans, AreGoneOnWithByTheNextDaemon) {
  std::size_t on_its_way = 0;
  for (int tenths = 0; tenths < 40; tenths += 3) {
    kept.clear();
    fragment(tenths % 2 == 0 ? Allows::restart : Allows::replica);
    begin_plan();
    run(100ms * tenths);
    const bool runs = place(moved()).has_value();
    if (!runs) ++on_its_way;
    begin();
    run(60s);
    EXPECT_EQ(state_of_plan(), "finished") << "killed after " << tenths << " tenths";
    EXPECT_EQ(place(moved()), order.moves.at(0).to);
    EXPECT_EQ(attempts(moved()).size(), 2U);
    for (const JobNumber each : kept) control->cancel(each, "its user", moment());
    run(20s);
  }
  EXPECT_GT(on_its_way, 0U) << "one was killed between the end and the start elsewhere";
}

}  // namespace
}  // namespace cleave::trial
