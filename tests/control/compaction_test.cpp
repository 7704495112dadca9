// Plans that the loop begins by itself, as the setting `compaction` allows.

#include "plan_stand.hpp"

namespace cleave::trial {
namespace {

/// A 3g on each of two GPUs, which a 7g could have one of.
class Compaction : public PlanStand {
 protected:
  Compaction() : PlanStand({"A100-40GB", "A100-40GB"}) {
    settings.scheduler = "online:migration=off";
    begin();
  }

  void allow(std::string_view rules) {
    settings.compaction = *parse_compaction(rules);
    ASSERT_TRUE(control->reload(settings, moment()));
  }
  [[nodiscard]] std::size_t plans() const { return store->plans(INT64_MAX, 1000)->size(); }
  [[nodiscard]] bool has_event(std::string_view part) const {
    const auto events = store->events(0, std::nullopt, 10'000);
    return std::ranges::any_of(*events, [&](const EventRecord& event) {
      return (event.kind + " " + event.text).find(part) != std::string::npos;
    });
  }
};

TEST_F(Compaction, ServesALargeJobWithTheFewestMoves) {
  fragment(Allows::replica);
  allow("on");
  const JobNumber large = submit_long("7g.40gb", Allows::nothing);
  run(110s);
  EXPECT_EQ(plans(), 0U) << "it has not waited long enough";
  const Instant began = moment().wall;
  run(60s);
  ASSERT_EQ(plans(), 1U);
  const LivePlan plan = latest_plan();
  EXPECT_EQ(plan.state, PlanState::finished) << plan.why;
  EXPECT_EQ(plan.by, "compaction policy");
  EXPECT_GE(plan.begun, began + 10s);
  EXPECT_LT(plan.begun, began + 12s);
  ASSERT_TRUE(plan.purpose);
  EXPECT_EQ(plan.purpose->job, large);
  EXPECT_EQ(plan.purpose->fewest, 1);
  EXPECT_GT(plan.purpose->saved, 60s);
  EXPECT_EQ(plan.moves.size(), 1U);
  EXPECT_EQ(plan.served, true);
  EXPECT_EQ(record(large).state, JobState::running);
  EXPECT_TRUE(has_event(fmt::format("job {} is to have room in", large)));
  EXPECT_TRUE(has_event(fmt::format("job {} has the place that was made for it", large)));
  EXPECT_EQ(control->plan(), nullptr);
}

TEST_F(Compaction, DoesNothingUnlessItIsAllowed) {
  fragment(Allows::replica);
  submit_long("7g.40gb", Allows::nothing);
  run(1h);
  EXPECT_EQ(plans(), 0U);
  allow("gain=1");
  run(1min);
  EXPECT_EQ(plans(), 1U) << "a reload is enough";
}

TEST_F(Compaction, LeavesAloneWhatMayNotMove) {
  fragment(Allows::nothing);
  allow("on");
  submit_long("7g.40gb", Allows::nothing);
  run(1h);
  EXPECT_EQ(plans(), 0U);
}

class CompactionUnder : public Compaction, public testing::WithParamInterface<const char*> {};

TEST_P(CompactionUnder, NobodyElseHasTheRoom) {
  fragment(Allows::replica);
  settings.scheduler = GetParam();
  allow("on");
  ASSERT_TRUE(control->set_scheduler(settings.scheduler, moment()));
  run(5s);
  const JobNumber large = submit_long("7g.40gb", Allows::nothing);
  std::vector<JobNumber> others;
  for (int i = 0; i < 10; ++i) others.push_back(submit_long("4g.20gb", Allows::nothing));
  run(5min);
  ASSERT_EQ(plans(), 1U);
  const LivePlan plan = latest_plan();
  EXPECT_EQ(plan.purpose.value().job, large);
  EXPECT_EQ(plan.served, true);
  EXPECT_EQ(record(large).state, JobState::running);
  for (const JobNumber each : others) EXPECT_EQ(record(each).state, JobState::queued);
}

INSTANTIATE_TEST_SUITE_P(Schedulers, CompactionUnder,
                         testing::Values("online:migration=off", "scheme-a", "scheme-b"));

TEST_F(Compaction, StopsWhereNobodyWaitsForItAnyMore) {
  fragment(Allows::checkpoint);
  allow("on");
  const JobNumber large = submit_long("7g.40gb", Allows::nothing);
  run(119s);
  ASSERT_EQ(plans(), 0U);
  for (int i = 0; i < 100 && plans() == 0; ++i) run(100ms);
  ASSERT_EQ(plans(), 1U);
  control->cancel(large, "its user", moment());
  run(5min);
  const LivePlan plan = latest_plan();
  EXPECT_TRUE(is_final(plan.state));
  EXPECT_EQ(plan.served, false);
  EXPECT_EQ(plans(), 1U);
  for (const JobNumber each : kept) EXPECT_EQ(record(each).state, JobState::running);
}

TEST_F(Compaction, AnotherDaemonKnowsWhatWasMovedLately) {
  fragment(Allows::replica);
  allow("at_most=1 move/1 h per job");
  const JobNumber first = submit_long("7g.40gb", Allows::nothing);
  run(3min);
  ASSERT_EQ(plans(), 1U);
  ASSERT_EQ(record(first).state, JobState::running);
  begin();
  run(10s);
  // The job that was moved is the only one that could make room for another 4g.
  control->cancel(first, "its user", moment());
  const LivePlan plan = latest_plan();
  EXPECT_EQ(plan.served, true);
  run(20s);
  const JobNumber other = plan.moves.at(0).job == kept[0] ? kept[1] : kept[0];
  control->cancel(other, "its user", moment());
  const JobNumber fixed = submit_long("7g.40gb", Allows::nothing);
  run(10min);
  EXPECT_EQ(record(fixed).state, JobState::running);
  EXPECT_EQ(plans(), 1U);
}

}  // namespace
}  // namespace cleave::trial
