// Cluster mode against a cluster in memory: every released job finds its place, whoever decides.

#include "slurm/cluster_round.hpp"

#include <gtest/gtest.h>

#include <set>

#include "slurm/slurm_double.hpp"

namespace cleave {
namespace {

const std::function<bool()> always = [] { return true; };
const Instant begin{std::chrono::seconds{1'764'000'000}};

ControllerRound run_cluster(SlurmDouble& slurm, Instant now = begin) {
  ControllerMemory memory;
  ControllerSettings settings;
  settings.mode = SlurmMode::cluster;
  slurm.at(now);
  const auto round = run_round(slurm, settings, memory, now, always);
  EXPECT_TRUE(round) << round.error().text();
  if (!round) return {};
  EXPECT_TRUE(round->trouble.empty());
  return *round;
}

TEST(ClusterRound, ReleasesByPriorityAndTellsExactCounts) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  const auto low = slurm.submit({{"4g.20gb", 1}}, true, 10);
  const auto high = slurm.submit({{"7g.40gb", 1}}, true, 20);
  const ControllerRound round = run_cluster(slurm);
  ASSERT_EQ(round.cluster.released.size(), 1U);
  EXPECT_EQ(round.cluster.released[0].job, high);
  EXPECT_EQ(round.cluster.released[0].nodes, "n1");
  EXPECT_EQ(round.cluster.released[0].comment, "cleave:1764000000:n1=0@0");
  EXPECT_EQ(slurm.world().nodes[0].has.at("7g.40gb"), 1);
  EXPECT_EQ(slurm.world().nodes[0].has.at("4g.20gb"), 0);
  slurm.schedule();
  slurm.prolog();
  slurm.end(high);
  run_cluster(slurm);
  slurm.schedule();
  slurm.prolog();
  EXPECT_EQ(slurm.find(low)->state, SlurmJobState::running);
  EXPECT_EQ(slurm.put_back(), 0U);
}

TEST(ClusterRound, AJobOfSeveralInstancesHasThemOnOneNode) {
  SlurmDouble slurm({2, 1, "A100-40GB", 64}, 1);
  const auto job = slurm.submit({{"2g.10gb", 3}}, true);
  run_cluster(slurm);
  slurm.schedule();
  slurm.prolog();
  EXPECT_EQ(slurm.find(job)->state, SlurmJobState::running);
  EXPECT_EQ(slurm.world().reports[0].claims.size() + slurm.world().reports[1].claims.size(), 3U);
}

TEST(ClusterRound, SeveralNodesAndSeveralProfiles) {
  SlurmDouble slurm({3, 1, "A100-40GB", 64}, 1);
  const auto wide = slurm.submit({{"3g.20gb", 1}}, true, 10, 3);
  const auto mixed = slurm.submit({{"1g.5gb", 2}, {"2g.10gb", 1}}, true, 5);
  run_cluster(slurm);
  slurm.schedule();
  slurm.prolog();
  EXPECT_EQ(slurm.find(wide)->state, SlurmJobState::running);
  EXPECT_EQ(slurm.find(mixed)->state, SlurmJobState::running);
  EXPECT_EQ(slurm.put_back(), 0U);
}

/// As the submit plugin has it: in the comment, or Slurm would look at it.
TEST(ClusterRound, NodesThatAUserNamesAreKept) {
  SlurmDouble slurm({3, 1, "A100-40GB", 64}, 1);
  const auto named = slurm.submit({{"3g.20gb", 1}}, true);
  const auto two = slurm.submit({{"3g.20gb", 1}}, true, 1, 2);
  const auto nowhere = slurm.submit({{"3g.20gb", 1}}, true);
  slurm.world().jobs[0].comment = "mine cleave:was=n3";
  slurm.world().jobs[1].comment = "cleave:was=n2";
  slurm.world().jobs[2].comment = "cleave:was=n9";
  run_cluster(slurm);
  EXPECT_EQ(slurm.find(named)->wanted_nodes, "n3");
  EXPECT_EQ(slurm.find(two)->wanted_nodes, "n2,n1") << "n2, and another beside it";
  EXPECT_TRUE(slurm.find(nowhere)->wanted_nodes.empty());
  run_cluster(slurm, begin + std::chrono::seconds(90));
  EXPECT_EQ(slurm.find(named)->comment, "mine cleave:was=n3") << "it was not started";
  EXPECT_TRUE(slurm.find(named)->wanted_nodes.empty());
}

TEST(ClusterRound, WhatIsNotStartedInTimeGoesBehindTheGateAgain) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  const auto job = slurm.submit({{"3g.20gb", 1}}, true);
  run_cluster(slurm);
  EXPECT_FALSE(slurm.find(job)->comment.empty());
  const ControllerRound soon = run_cluster(slurm, begin + std::chrono::seconds(30));
  EXPECT_TRUE(soon.cluster.gated.empty());
  const ControllerRound late = run_cluster(slurm, begin + std::chrono::seconds(90));
  ASSERT_EQ(late.cluster.gated.size(), 1U);
  EXPECT_EQ(slurm.find(job)->starts, slurm_gate);
  EXPECT_EQ(slurm.find(job)->comment, "cleave:was=~n1");
  EXPECT_TRUE(slurm.find(job)->wanted_nodes.empty());
}

/// Slurm says neither of a reservation, nor of memory, nor of a feature that only one node has it.
TEST(ClusterRound, WhatMayRunOnOneNodeOnlyGetsThere) {
  SlurmDouble slurm({4, 1, "A100-40GB", 64}, 1);
  const auto job = slurm.submit({{"3g.20gb", 1}}, true);
  int second = 0;
  while (second < 1000 && slurm.find(job)->wanted_nodes != "n3")
    run_cluster(slurm, begin + std::chrono::seconds(++second));
  EXPECT_LT(second, 4 * 62);
  for (; second < 2000 && slurm.find(job)->wanted_nodes != "n1"; ++second)
    run_cluster(slurm, begin + std::chrono::seconds(second));
  EXPECT_LT(second, 8 * 62) << "all were tried, and it begins anew";
}

TEST(ClusterRound, NodesWhereAJobMayNotBeAreLeftOut) {
  SlurmDouble slurm({3, 1, "A100-40GB", 64}, 1);
  const auto apart = slurm.submit({{"3g.20gb", 1}}, true);
  const auto other = slurm.submit({{"3g.20gb", 1}}, true);
  const auto dependent = slurm.submit({{"1g.5gb", 1}}, true);
  slurm.world().jobs[0].comment = "cleave:was=!n[1-2]";
  slurm.world().jobs[1].partitions = "half,more";
  slurm.world().nodes[0].partitions = slurm.world().nodes[2].partitions = "all";
  slurm.world().nodes[1].partitions = "all,more";
  slurm.world().jobs[2].reason = "Dependency";
  run_cluster(slurm);
  EXPECT_EQ(slurm.find(apart)->wanted_nodes, "n3");
  EXPECT_EQ(slurm.find(other)->wanted_nodes, "n2");
  EXPECT_TRUE(slurm.find(dependent)->wanted_nodes.empty()) << "it cannot begin, and takes no place";
}

TEST(ClusterRound, APlaceThatIsGoneIsNotUsed) {
  SlurmDouble slurm({2, 1, "A100-40GB", 64}, 1);
  const auto job = slurm.submit({{"7g.40gb", 1}}, true);
  run_cluster(slurm);
  ASSERT_EQ(slurm.find(job)->wanted_nodes, "n1");
  slurm.world().reports[0].gpus[0].walls.insert(*slurm.graph()->geometry().find("1g.5gb", 6));
  EXPECT_EQ(run_cluster(slurm).cluster.gated.size(), 1U);
  run_cluster(slurm);
  EXPECT_EQ(slurm.find(job)->wanted_nodes, "n2");
}

TEST(ClusterRound, WhatCameWithoutTheGateGetsIt) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  const auto job = slurm.submit({{"7g.40gb", 1}}, false);
  slurm.world().jobs[0].comment = "cleave:1:n9=0@0";
  EXPECT_EQ(run_cluster(slurm).cluster.gated.size(), 1U);
  EXPECT_EQ(slurm.find(job)->starts, slurm_gate);
}

/// Its mark is of no use any more, and its node would not take it, or not run its prolog.
TEST(ClusterRound, OneThatWasPutBackRestsFirst) {
  for (const auto& [times, seconds] : {std::pair{1, 5}, {2, 5}, {3, 121}}) {
    SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
    const auto job = slurm.submit({{"7g.40gb", 1}}, true);
    run_cluster(slurm);
    slurm.schedule();
    slurm.prolog();
    ASSERT_EQ(slurm.find(job)->state, SlurmJobState::running);
    slurm.world().jobs[0].restarts = times - 1;
    ASSERT_TRUE(slurm.requeue(job));
    run_cluster(slurm);
    EXPECT_EQ(slurm.find(job)->starts, begin + std::chrono::seconds(121));
    EXPECT_TRUE(slurm.find(job)->wanted_nodes.empty() && slurm.find(job)->comment.empty());
    int second = 0;
    while (second < 200 && slurm.find(job)->comment.empty())
      run_cluster(slurm, begin + std::chrono::seconds(++second));
    EXPECT_NEAR(second, seconds, 2) << times;
  }
}

/// Each round is decided by an engine that has seen nothing before, so that what it keeps for a job
/// must follow from what is there.
TEST(ClusterRound, SmallJobsDoNotKeepALargeOneWaitingForEver) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 3);
  for (int i = 0; i < 7; ++i) slurm.submit({{"1g.5gb", 1}}, true, 100);
  run_cluster(slurm);
  slurm.schedule();
  slurm.prolog();
  const std::int64_t large = slurm.submit({{"7g.40gb", 1}}, true, 2000);
  for (int i = 0; i < 50; ++i) slurm.submit({{"1g.5gb", 1}}, true, 100);
  int minute = 0;
  for (; minute < 40 && slurm.find(large)->state != SlurmJobState::running; ++minute) {
    for (const NodeReport& node : slurm.world().reports)
      if (!node.claims.empty()) slurm.end(*node.claims.front().job());
    run_cluster(slurm, begin + std::chrono::minutes(minute));
    slurm.schedule();
    slurm.prolog();
  }
  EXPECT_EQ(slurm.find(large)->state, SlurmJobState::running);
}

/// All claims, as (node, GPU, slice), each once.
void expect_no_slice_twice(SlurmDouble& slurm, std::uint64_t seed) {
  for (const NodeReport& report : slurm.world().reports)
    for (std::size_t g = 0; g < report.gpus.size(); ++g) {
      PlacementSet all;
      for (const SlurmClaim& claim : report.claims)
        if (claim.gpu == g) all.insert(claim.placement);
      ASSERT_TRUE(slurm.graph()->geometry().legal(all)) << "seed " << seed;
    }
}

TEST(ClusterRound, EveryReleasedJobFindsItsPlace) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SlurmDouble slurm({3, 2, "A100-40GB", 64}, seed);
    const auto profiles = slurm.graph()->geometry().profile_names();
    slurm.meanwhile = [&] {
      if (slurm.random().below(2) == 0) slurm.schedule(true);
      if (slurm.random().below(2) == 0) slurm.prolog();
      if (slurm.random().below(3) == 0) slurm.end_some(0.2);
    };
    for (int round = 0; round < 30; ++round) {
      for (std::uint64_t n = slurm.random().below(4); n > 0; --n)
        slurm.submit({{profiles[slurm.random().below(profiles.size())],
                       1 + static_cast<std::int64_t>(slurm.random().below(2))}},
                     slurm.random().below(8) != 0,
                     static_cast<std::int64_t>(1 + slurm.random().below(3)));
      run_cluster(slurm, begin + std::chrono::seconds(10 * round));
      expect_no_slice_twice(slurm, seed);
    }
    ASSERT_EQ(slurm.put_back(), 0U) << "seed " << seed;
    ASSERT_GT(slurm.started(), 8U) << "seed " << seed;
  }
}

TEST(ClusterRound, OneThatSlurmHeldForItsCountsGoesOn) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  const auto job = slurm.submit({{"7g.40gb", 1}}, true);
  ASSERT_EQ(run_cluster(slurm).cluster.released.size(), 1U);
  SlurmJob& held = slurm.world().jobs.front();
  held.priority = 0;
  held.reason = "BadConstraints";
  EXPECT_EQ(run_cluster(slurm).cluster.gated.size(), 1U);
  EXPECT_EQ(run_cluster(slurm).cluster.released.size(), 1U);
  slurm.schedule();
  EXPECT_EQ(slurm.find(job)->state, SlurmJobState::running);
  SlurmJob& users = slurm.world().jobs.front();
  users.state = SlurmJobState::pending;
  users.priority = 0;
  users.reason = "JobHeldUser";
  EXPECT_TRUE(run_cluster(slurm).cluster.gated.empty()) << "that is its user's to say";
}

}  // namespace
}  // namespace cleave
