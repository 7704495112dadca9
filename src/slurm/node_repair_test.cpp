#include "slurm/node_repair.hpp"

#include <gtest/gtest.h>

#include "slurm/slurm_double.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

Instant at(int second) {
  return Instant(seconds(second));
}

SlurmSight one_job(int starts) {
  SlurmSight sight;
  for (const char* name : {"n1", "n2"}) {
    SlurmNode node;
    node.name = name;
    node.has = {{"1g.5gb", 1}};
    node.state = "MIXED";
    sight.nodes.push_back(node);
  }
  SlurmJob job;
  job.number = 7;
  job.state = SlurmJobState::running;
  job.asks = {{"1g.5gb", 1}};
  job.runs_on = "n[1-2]";
  job.starts = at(starts);
  sight.jobs.push_back(job);
  return sight;
}

TEST(NodeRepair, AJobThatBeganWhenADaemonDiedIsLookedFor) {
  SlurmSight sight = one_job(1000);
  EXPECT_TRUE(nodes_to_register(sight, at(1040)).empty()) << "nothing died";
  sight.nodes[0].begun = at(1010);
  EXPECT_EQ(nodes_to_register(sight, at(1040)), Names{"n1"});
  EXPECT_TRUE(nodes_to_register(sight, at(1020)).empty()) << "Slurm would not judge it yet";
  EXPECT_TRUE(nodes_to_register(sight, at(2000)).empty()) << "that was done";
  sight.nodes[0].begun = at(900);
  EXPECT_TRUE(nodes_to_register(sight, at(1040)).empty()) << "it began before";
  sight.nodes[1].begun = at(1010);
  EXPECT_TRUE(nodes_to_register(sight, at(1040)).empty()) << "the script is on the first node";
  sight.begun = at(1024);
  EXPECT_TRUE(nodes_to_register(sight, at(1040)).empty()) << "slurmctld counts from its own start";
  EXPECT_EQ(nodes_to_register(sight, at(1046)), Names{"n1"}) << "slurmctld died";
  sight.begun = at(1300);
  EXPECT_TRUE(nodes_to_register(sight, at(1310)).empty());
  EXPECT_EQ(nodes_to_register(sight, at(1322)), Names{"n1"}) << "it may have forgotten the end";
  EXPECT_TRUE(nodes_to_register(sight, at(1400)).empty()) << "that was done";
  sight.begun = at(1024);
  sight.nodes[0].takes_jobs = false;
  EXPECT_TRUE(nodes_to_register(sight, at(1046)).empty()) << "somebody drained it";
}

TEST(NodeRepair, SlurmsOwnDrainEndsAndNobodyElses) {
  SlurmSight sight = one_job(1000);
  for (SlurmNode& node : sight.nodes) {
    node.state = "MIXED+DRAIN";
    node.takes_jobs = false;
  }
  sight.nodes[0].reason = "Duplicate jobid";
  sight.nodes[1].reason = "Duplicate jobid, says Ann";
  EXPECT_EQ(nodes_to_register(sight, at(1001)), Names{"n1"});
  sight.nodes[0].state = "MIXED";
  EXPECT_TRUE(nodes_to_register(sight, at(1001)).empty());
}

TEST(NodeRepair, ARoundLeavesTheNodeTimeToAnswer) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  const auto drain = [&] {
    SlurmNode& node = slurm.world().nodes[0];
    node.state = "IDLE+DRAIN";
    node.reason = "Duplicate jobid";
    node.takes_jobs = false;
  };
  ControllerMemory memory;
  const auto round = [&](int second) {
    return run_round(slurm, {}, memory, at(second), [] { return true; })->registered;
  };
  drain();
  EXPECT_EQ(round(100), Names{"n1"});
  EXPECT_TRUE(slurm.world().nodes[0].takes_jobs);
  EXPECT_TRUE(round(101).empty());
  drain();
  EXPECT_TRUE(round(109).empty());
  EXPECT_EQ(round(110), Names{"n1"});
}

TEST(NodeRepair, AClaimThatIsLeftIsGivenBackAfterAWhile) {
  SlurmDouble slurm({1, 1, "A100-40GB", 64}, 1);
  slurm.at(at(100));
  const auto job = slurm.submit({{"1g.5gb", 1}}, false);
  ControllerMemory memory;
  const auto round = [&](int second) {
    return run_round(slurm, {}, memory, at(second), [] { return true; })->given_back.size();
  };
  round(100);
  slurm.schedule();
  slurm.prolog();
  auto& claims = slurm.world().reports[0].claims;
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(round(200), 0U) << "its job runs";
  claims.push_back(claims.front());
  claims.back().key = "slurm:77";
  claims.back().placement = slurm.graph()->geometry().find("1g.5gb", 6).value();
  EXPECT_EQ(round(300), 0U) << "its job may have just begun";
  EXPECT_EQ(round(310), 0U);
  EXPECT_EQ(round(316), 1U);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims.front().job(), job);
}

}  // namespace
}  // namespace cleave
