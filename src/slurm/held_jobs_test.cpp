#include "slurm/held_jobs.hpp"

#include <gtest/gtest.h>

#include "slurm/slurm_double.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;
using Numbers = std::vector<std::int64_t>;

const Instant held_from{seconds(1'764'000'000)};

SlurmSight one_held(std::int64_t has) {
  SlurmSight sight;
  for (const char* name : {"n1", "n2", "cleave-template"}) {
    SlurmNode node;
    node.name = name;
    node.has = {{"7g.40gb", node.name == "n1" ? has : 1000}};
    sight.nodes.push_back(node);
  }
  SlurmJob job;
  job.number = 5;
  job.asks = {{"7g.40gb", 4}};
  job.wanted_nodes = "n1";
  job.reason = "BadConstraints";
  sight.jobs.push_back(job);
  return sight;
}

TEST(HeldJobs, AreReleasedWhenTheirNodesHaveEnough) {
  HeldMemory memory;
  EXPECT_TRUE(jobs_to_release(one_held(3), "cleave-template", memory, held_from).empty());
  EXPECT_EQ(jobs_to_release(one_held(4), "cleave-template", memory, held_from), Numbers{5});
  SlurmSight others = one_held(4);
  others.jobs[0].reason = "JobHeldUser";
  EXPECT_TRUE(jobs_to_release(others, "cleave-template", memory, held_from).empty())
      << "its user did";
  SlurmSight two = one_held(4);
  two.jobs[0].nodes = 3;
  EXPECT_TRUE(jobs_to_release(two, "cleave-template", memory, held_from).empty())
      << "the template runs none";
}

TEST(HeldJobs, AreLeftToSlurmAfterFiveTimes) {
  HeldMemory memory;
  int times = 0;
  for (int second = 0; second < 300; ++second) {
    SlurmSight sight = one_held(4);
    const Instant now = held_from + seconds(second);
    for (const std::int64_t job : jobs_to_release(sight, "cleave-template", memory, now)) {
      memory.released[job] = {now, memory.released[job].times + 1};
      ++times;
    }
    let_held_wait(sight.jobs, memory, now);
    EXPECT_EQ(sight.jobs[0].priority > 0, times < 5) << "nothing is kept for it any more";
  }
  EXPECT_EQ(times, 5);
}

/// Counts fall and rise all day long where a job waits for long.
TEST(HeldJobs, AReleaseThatLastedIsNotCounted) {
  HeldMemory memory;
  for (int hour = 0; hour < 20; ++hour) {
    SlurmSight sight = one_held(4);
    const Instant now = held_from + std::chrono::hours(hour);
    ASSERT_EQ(jobs_to_release(sight, "cleave-template", memory, now), Numbers{5}) << hour;
    memory.released[5] = {now, memory.released[5].times + 1};
    sight.jobs[0].priority = 70;
    for (int second = 0; second < 120; ++second)
      let_held_wait(sight.jobs, memory, now + seconds(second));
  }
}

TEST(HeldJobs, WaitWithThePriorityThatTheyHad) {
  HeldMemory memory;
  SlurmSight sight = one_held(0);
  SlurmJob& job = sight.jobs[0];
  const auto seen = [&](std::int64_t priority) {
    job.priority = priority;
    let_held_wait(sight.jobs, memory, held_from);
    return job.priority;
  };
  EXPECT_GT(seen(0), 1'000'000) << "not known: before all others";
  job.reason = "Priority";
  EXPECT_EQ(seen(70), 70);
  job.reason = "BadConstraints";
  EXPECT_EQ(seen(0), 70);
  EXPECT_EQ(seen(0), 70);
  job.reason = "JobHeldAdmin";
  EXPECT_EQ(seen(0), 0);
  job.state = SlurmJobState::running;
  EXPECT_EQ(seen(0), 0);
  EXPECT_TRUE(memory.priority.empty());
}

/// Slurm as it is: held where the node that it names has too few in all.
TEST(HeldJobs, AJobThatNamesItsNodeRunsThoughCountsFellMeanwhile) {
  SlurmDouble slurm({3, 4, "A100-40GB", 64}, 1);
  ControllerMemory memory;
  const ControllerSettings settings;
  const auto serve = [&](int second) {
    slurm.at(held_from + seconds(second));
    ASSERT_TRUE(
        run_round(slurm, settings, memory, held_from + seconds(second), [] { return true; }));
    for (SlurmJob& job : slurm.world().jobs)
      if (job.wanted_nodes == "n1" && job.state == SlurmJobState::pending &&
          count_of(slurm.world().nodes[0].has, "7g.40gb") < 4) {
        job.priority = 0;
        job.reason = "BadConstraints";
      }
    slurm.schedule();
    slurm.prolog();
  };
  Numbers fill;
  for (int i = 0; i < 12; ++i) fill.push_back(slurm.submit({{"7g.40gb", 1}}, false));
  for (int second = 0; second < 10; ++second) serve(second);
  for (const std::int64_t job : fill) ASSERT_EQ(slurm.find(job)->state, SlurmJobState::running);
  const std::int64_t late = slurm.submit({{"7g.40gb", 4}}, false);
  slurm.world().jobs.back().wanted_nodes = "n1";
  bool was_held = false;
  for (int second = 10; second < 60; ++second) {
    serve(second);
    // They end one by one, so that counts follow.
    if (second % 3 == 0 && !fill.empty()) {
      slurm.end(fill.back());
      fill.pop_back();
    }
    was_held = was_held || slurm.find(late)->priority == 0;
  }
  EXPECT_TRUE(was_held) << "else this shows nothing";
  EXPECT_EQ(slurm.find(late)->state, SlurmJobState::running);
  EXPECT_EQ(slurm.put_back(), 0U);
}

/// Else a job behind it could begin between the two.
TEST(HeldJobs, AreReleasedInTheRoundInWhichCountsRise) {
  SlurmDouble slurm({1, 4, "A100-40GB", 64}, 1);
  ControllerMemory memory;
  const std::int64_t job = slurm.submit({{"7g.40gb", 4}}, false);
  slurm.world().jobs.back().wanted_nodes = "n1";
  slurm.world().jobs.back().priority = 0;
  slurm.world().jobs.back().reason = "BadConstraints";
  const auto round = run_round(slurm, {}, memory, held_from, [] { return true; });
  ASSERT_TRUE(round);
  EXPECT_EQ(count_of(slurm.world().nodes[0].has, "7g.40gb"), 4);
  EXPECT_EQ(round->unheld, Numbers{job});
}

}  // namespace
}  // namespace cleave
