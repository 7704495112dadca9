// Node mode against a cluster that takes whatever it was told of, in any order, at any place.

#include "slurm/node_counts.hpp"

#include <gtest/gtest.h>

#include "slurm/slurm_double.hpp"

namespace cleave {
namespace {

const std::function<bool()> always_may = [] { return true; };

void run_rounds(SlurmDouble& slurm, int rounds, const ControllerSettings& settings = {}) {
  ControllerMemory memory;
  for (int i = 0; i < rounds; ++i) {
    const auto round = run_round(slurm, settings, memory, {}, always_may);
    ASSERT_TRUE(round) << round.error().text();
    ASSERT_TRUE(round->trouble.empty()) << round->trouble.front();
  }
}

TEST(NodeCounts, AnUpdateEitherLowersOrRaises) {
  const GresCounts told = {{"1g.5gb", 7}, {"7g.40gb", 0}};
  const auto first = towards("n1", told, {{"7g.40gb", 1}});
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->lowers);
  EXPECT_EQ(first->counts, (GresCounts{{"1g.5gb", 0}, {"7g.40gb", 0}}));
  const auto second = towards("n1", first->counts, {{"7g.40gb", 1}});
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->lowers);
  EXPECT_EQ(second->counts, (GresCounts{{"1g.5gb", 0}, {"7g.40gb", 1}}));
  EXPECT_FALSE(towards("n1", second->counts, {{"7g.40gb", 1}}));
}

TEST(NodeCounts, WhatWaitsGoesFirst) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  run_rounds(slurm, 1);
  EXPECT_EQ(slurm.world().nodes[0].has.at("7g.40gb"), 1) << "what a new job may want";
  slurm.submit({{"1g.5gb", 5}}, false);
  run_rounds(slurm, 1);
  EXPECT_GE(slurm.world().nodes[0].has.at("1g.5gb"), 5);
  slurm.schedule();
  slurm.prolog();
  EXPECT_EQ(slurm.started(), 1U);
  EXPECT_EQ(slurm.put_back(), 0U);
}

TEST(NodeCounts, ADaemonThatIsAwayPromisesNothing) {
  SlurmDouble slurm({1, 2, "A100-40GB", 64}, 1);
  slurm.submit({{"3g.20gb", 1}}, false);
  run_rounds(slurm, 1);
  slurm.schedule();
  slurm.prolog();
  slurm.world().reports.clear();
  run_rounds(slurm, 2);
  EXPECT_EQ(slurm.world().nodes[0].has, slurm.world().nodes[0].used);
}

TEST(NodeCounts, WhatSlurmHasForgottenThatItGaveAwayIsNotGivenAgain) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  for (int i = 0; i < 5; ++i) slurm.submit({{"1g.5gb", 1}}, false);
  run_rounds(slurm, 1);
  slurm.schedule();
  slurm.prolog();
  ASSERT_EQ(slurm.started(), 5U);
  SlurmNode& node = slurm.world().nodes[0];
  node.used["1g.5gb"] = 1;  // as after a restart of slurmctld
  for (int i = 0; i < 5; ++i) slurm.submit({{"1g.5gb", 1}}, false);
  run_rounds(slurm, 2);
  EXPECT_EQ(node.has.at("1g.5gb"), 3) << "two more fit";
  slurm.schedule();
  slurm.prolog();
  EXPECT_EQ(slurm.put_back(), 0U);
}

TEST(NodeCounts, AForgottenEndIsToldToSlurm) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  const auto ended = slurm.submit({{"1g.5gb", 1}}, false);
  const auto runs = slurm.submit({{"1g.5gb", 1}}, false);
  run_rounds(slurm, 1);
  slurm.schedule();
  slurm.prolog();
  slurm.forget_end(ended);
  ControllerMemory memory;
  const Instant later = *slurm.find(ended)->starts + std::chrono::seconds(10);
  slurm.world().begun = later;
  const auto round = run_round(slurm, {}, memory, later, always_may);
  ASSERT_TRUE(round && round->ended.size() == 1);
  EXPECT_EQ(slurm.find(ended)->state, SlurmJobState::over);
  EXPECT_EQ(slurm.find(runs)->state, SlurmJobState::running);
}

TEST(NodeCounts, OthersInstancesAndDrainedGpusAreNoRoom) {
  SlurmDouble slurm({1, 2, "A100-40GB", 64}, 1);
  slurm.world().reports[0].gpus[0].serves = false;
  slurm.world().reports[0].gpus[1].walls.insert(*slurm.graph()->geometry().find("4g.20gb", 0));
  run_rounds(slurm, 2);
  const GresCounts& has = slurm.world().nodes[0].has;
  EXPECT_EQ(has.at("7g.40gb") + has.at("4g.20gb"), 0);
  EXPECT_EQ(has.at("3g.20gb"), 1);
}

TEST(NodeCounts, SmallJobsDoNotKeepALargeOneWaitingForEver) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 3);
  std::vector<std::int64_t> running;
  for (int i = 0; i < 7; ++i) running.push_back(slurm.submit({{"1g.5gb", 1}}, false));
  run_rounds(slurm, 1);
  slurm.schedule();
  slurm.prolog();
  const std::int64_t large = slurm.submit({{"7g.40gb", 1}}, false, 2000);
  for (int i = 0; i < 50; ++i) slurm.submit({{"1g.5gb", 1}}, false);
  for (const std::int64_t job : running) {
    run_rounds(slurm, 2);
    slurm.schedule();
    slurm.prolog();
    slurm.end(job);
  }
  run_rounds(slurm, 2);
  slurm.schedule();
  EXPECT_EQ(slurm.find(large)->state, SlurmJobState::running);
}

/// The law at work: things happen at every moment between two effects of the controller, and no
/// job that Slurm starts is without a place. Jobs end only where a look follows before others
/// start: the one race that is the prolog's.
TEST(NodeCounts, NothingIsEverPromisedThatCannotBeMade) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SlurmDouble slurm({2, 1 + seed % 3, seed % 2 == 0 ? "A100-40GB" : "A30-24GB", 64}, seed);
    const auto profiles = slurm.graph()->geometry().profile_names();
    slurm.meanwhile = [&] {
      if (slurm.random().below(2) == 0)
        slurm.submit({{profiles[slurm.random().below(profiles.size())],
                       1 + static_cast<std::int64_t>(slurm.random().below(2))}},
                     false, static_cast<std::int64_t>(1 + slurm.random().below(3)));
      if (slurm.random().below(2) == 0) slurm.schedule(true);
      if (slurm.random().below(2) == 0) slurm.prolog();
    };
    ControllerSettings settings;
    settings.counts.most_raised = 1 + seed % 2;
    for (int round = 0; round < 40; ++round) {
      run_rounds(slurm, 1, settings);
      slurm.prolog();
      const auto keep = std::exchange(slurm.meanwhile, nullptr);
      slurm.end_some(0.3);
      run_rounds(slurm, 2, settings);
      slurm.meanwhile = keep;
    }
    ASSERT_EQ(slurm.put_back(), 0U) << "seed " << seed;
    ASSERT_GT(slurm.started(), 8U) << "seed " << seed;
  }
}

/// Where a node gives an instance the place that one like it has left last, and else room that none
/// has left, no race is left either: jobs end and begin at every moment.
TEST(NodeCounts, NoRaceIsLeftWhereNodesReuseWhatWasLeft) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SlurmDouble slurm({2, 1 + seed % 4, seed % 2 == 0 ? "A100-40GB" : "A30-24GB", 64}, seed);
    slurm.placing = DoublePlacing::where_left;
    const auto profiles = slurm.graph()->geometry().profile_names();
    slurm.meanwhile = [&] {
      slurm.submit({{profiles[slurm.random().below(profiles.size())], 1}}, false,
                   static_cast<std::int64_t>(1 + slurm.random().below(3)));
      slurm.prolog();
      if (slurm.random().below(2) == 0) slurm.end_some(0.2);
      if (slurm.random().below(2) == 0) slurm.schedule(true);
      slurm.prolog();
    };
    run_rounds(slurm, 100);
    EXPECT_EQ(slurm.put_back(), 0U) << "seed " << seed;
    ASSERT_GT(slurm.started(), 20U) << "seed " << seed;
  }
}

TEST(NodeCounts, AJobThatWasPutBackNeedNotWaitForThat) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  slurm.at(Instant{});
  const auto job = slurm.submit({{"7g.40gb", 1}}, false);
  run_rounds(slurm, 1);
  slurm.schedule();
  slurm.prolog();
  ASSERT_TRUE(slurm.requeue(job));
  EXPECT_EQ(slurm.find(job)->reason, "BeginTime");
  run_rounds(slurm, 1);
  EXPECT_EQ(slurm.find(job)->reason, "BeginTime") << "its node would not take it yet";
  const Instant later{std::chrono::seconds(6)};
  slurm.at(later);
  ControllerMemory memory;
  ASSERT_TRUE(run_round(slurm, {}, memory, later, always_may));
  EXPECT_EQ(slurm.find(job)->starts, later);
}

/// Its node may take the prolog for done until then, and it would be put back for ever.
TEST(NodeCounts, AJobThatWasPutBackThriceTakesItsTwoMinutes) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  slurm.at(Instant{});
  const auto job = slurm.submit({{"7g.40gb", 1}}, false);
  slurm.world().jobs[0].restarts = 2;
  ASSERT_TRUE(slurm.requeue(job));
  for (int second = 0; second <= 120; ++second) {
    const Instant now{std::chrono::seconds(second)};
    ControllerMemory memory;
    const auto round = run_round(slurm, {}, memory, now, always_may);
    ASSERT_TRUE(round);
    EXPECT_TRUE(round->counts.hurried.empty()) << second;
  }
}

TEST(NodeCounts, RoomIsPromisedWhereAJobMayBe) {
  SlurmDouble slurm({3, 1, "A100-40GB", 64}, 1);
  slurm.submit({{"7g.40gb", 1}}, false);
  slurm.world().jobs[0].comment = "cleave:was=!n1";
  slurm.world().jobs[0].partitions = "half";
  slurm.world().nodes[0].partitions = slurm.world().nodes[1].partitions = "all";
  slurm.world().nodes[2].partitions = "all,half";
  ControllerSettings settings;
  settings.counts.spare = false;
  run_rounds(slurm, 2, settings);
  EXPECT_EQ(count_of(slurm.world().nodes[0].has, "7g.40gb"), 0);
  EXPECT_EQ(count_of(slurm.world().nodes[1].has, "7g.40gb"), 0);
  EXPECT_EQ(count_of(slurm.world().nodes[2].has, "7g.40gb"), 1);
}

TEST(NodeCounts, OneThatKeepsStillIsNotUpdated) {
  SlurmDouble slurm({3, 4, "A100-40GB", 64}, 5);
  for (int i = 0; i < 8; ++i) slurm.submit({{"2g.10gb", 1}}, false);
  run_rounds(slurm, 3);
  slurm.schedule();
  slurm.prolog();
  run_rounds(slurm, 3);
  ControllerMemory memory;
  const auto round = run_round(slurm, {}, memory, {}, always_may);
  ASSERT_TRUE(round);
  EXPECT_EQ(round->done, 0U);
}

}  // namespace
}  // namespace cleave
