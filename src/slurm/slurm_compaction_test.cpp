#include "slurm/slurm_compaction.hpp"

#include <gtest/gtest.h>

#include "slurm/slurm_double.hpp"

namespace cleave {
namespace {

const Instant now{std::chrono::seconds{1'764'000'600}};

/// One node with GPUs on which jobs run where the test puts them.
class Compaction : public testing::Test {
 protected:
  void runs(std::size_t gpu, const std::string& profile, int start, bool requeueable = true,
            int minutes = 10) {
    const std::int64_t job = slurm.submit({{profile, 1}}, false);
    SlurmJob& of = slurm.world().jobs.back();
    of.state = SlurmJobState::running;
    of.runs_on = "n1";
    of.requeueable = requeueable;
    of.starts = now - std::chrono::minutes(minutes);
    slurm.world().reports[0].claims.push_back(
        {"slurm:" + std::to_string(job), gpu, *slurm.graph()->geometry().find(profile, start)});
  }
  const SlurmJob& waits(const std::string& profile) {
    slurm.submit({{profile, 1}}, false);
    return slurm.world().jobs.back();
  }
  std::vector<NodeView> views() { return views_of(slurm.world()); }

  SlurmDouble slurm{{1, 2, "A100-40GB", 64}, 1};
};

TEST_F(Compaction, TheOneThatHasRunLeastMoves) {
  runs(0, "1g.5gb", 0, true, 50);
  runs(1, "1g.5gb", 0, true, 5);
  const SlurmJob& job = waits("7g.40gb");
  const auto plan = compact_for(views(), job, 3, now);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->place, "n1/1 7g.40gb@0");
  ASSERT_EQ(plan->moves.size(), 1U);
  EXPECT_EQ(plan->moves[0].job, 2);
  EXPECT_EQ(plan->moves[0].from, "n1/1 1g.5gb@0");
  EXPECT_TRUE(plan->moves[0].to.starts_with("n1/0 1g.5gb@")) << plan->moves[0].to;
}

TEST_F(Compaction, WhatMayNotBePutBackStays) {
  runs(0, "1g.5gb", 0, false);
  runs(1, "1g.5gb", 0, false);
  const SlurmJob& job = waits("7g.40gb");
  EXPECT_FALSE(compact_for(views(), job, 3, now));
  EXPECT_EQ(why_waits(views(), job, now).reason,
            "7g.40gb fits nowhere by size: no GPU has enough free slices (looked at 2)");
}

TEST_F(Compaction, BySizeAndNotByPosition) {
  for (const std::size_t gpu : {0U, 1U}) {
    runs(gpu, "1g.5gb", 1);
    runs(gpu, "1g.5gb", 5);
  }
  const SlurmJob& job = waits("3g.20gb");
  const SlurmWhy why = why_waits(views(), job, now);
  EXPECT_EQ(why.reason, "3g.20gb fits by size on 2 of 2 GPUs, but by position on none");
  EXPECT_TRUE(why.remedy.starts_with("putting back ")) << why.remedy;
}

TEST_F(Compaction, NeverMoreMovesThanAskedFor) {
  for (const std::size_t gpu : {0U, 1U})
    for (const int start : {0, 4}) runs(gpu, "1g.5gb", start);
  waits("7g.40gb");
  waits("7g.40gb");
  const auto plans = plan_compact(views(), waiting_in_order(slurm.world().jobs), 1, now);
  EXPECT_TRUE(plans.empty()) << "it takes two";
  const auto two = plan_compact(views(), waiting_in_order(slurm.world().jobs), 2, now);
  ASSERT_EQ(two.size(), 1U);
  EXPECT_EQ(two[0].moves.size(), 2U);
}

}  // namespace
}  // namespace cleave
