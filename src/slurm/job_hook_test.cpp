#include "slurm/job_hook.hpp"

#include <gtest/gtest.h>

#include <map>

namespace cleave {
namespace {

Result<HookJob> read(const std::map<std::string, std::string>& environment) {
  return read_hook_job([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(JobHook, ReadsSlurmsEnvironment) {
  const auto job = read({{"SLURM_JOB_ID", "12"},
                         {"SLURM_JOB_UID", "1000"},
                         {"SLURM_JOB_USER", "alice"},
                         {"SLURMD_NODENAME", "n1"}});
  ASSERT_TRUE(job);
  EXPECT_EQ(*job, (HookJob{12, 1000, "alice", "n1", true}));
  const auto step = [](const std::string& number) {
    return read({{"SLURM_JOB_ID", "12"}, {"SLURMD_NODENAME", "n1"}, {"SLURM_STEP_ID", number}});
  };
  EXPECT_FALSE(step("0")->is_script);
  EXPECT_TRUE(step("4294967291")->is_script);
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({{"SLURM_JOB_ID", "12"}}));
  EXPECT_FALSE(read({{"SLURM_JOB_ID", "12"}, {"SLURMD_NODENAME", "../n1"}}));
  EXPECT_FALSE(read({{"SLURM_JOB_ID", "-1"}, {"SLURMD_NODENAME", "n1"}}));
}

TEST(JobHook, AsksForTheGresOfTheJob) {
  SlurmJob job;
  job.number = 12;
  job.asks = parse_gres("gres:mig:1g.5gb:3");
  const ClaimOrder order = claim_order_of(job, {12, 1000, "alice", "n1"});
  ASSERT_EQ(order.asks.size(), 1U);
  EXPECT_EQ(order.asks.front(), (ClaimAsk{"1g.5gb", {}, 3, {}, {}}));
  EXPECT_EQ(order.holder, "job 12 of alice");
  EXPECT_EQ(order.uid, 1000);
  job.asks = {};
  EXPECT_TRUE(claim_order_of(job, {12, 1000, "alice", "n1"}).asks.empty());
}

TEST(JobHook, TakesTheMarkedPlaces) {
  SlurmJob job;
  job.number = 12;
  job.asks = {{"3g.20gb", 2}};
  job.comment = "mine cleave:1764205000:n1=0@4,3@0;n2=1@0,2@0";
  const ClaimOrder order = claim_order_of(job, {12, 1000, "alice", "n1"});
  ASSERT_EQ(order.asks.size(), 2U);
  EXPECT_EQ(order.asks[0], (ClaimAsk{"3g.20gb", {}, 1, 0, 4}));
  EXPECT_EQ(order.asks[1], (ClaimAsk{"3g.20gb", {}, 1, 3, 0}));
  const ClaimOrder elsewhere = claim_order_of(job, {12, 1000, "alice", "n3"});
  EXPECT_EQ(elsewhere.asks.front().count, 2) << "a mark for other nodes says nothing";
}

TEST(JobHook, NotesGoThereAndBack) {
  const HookNote held{"MIG-1,MIG-2", "", Instant(std::chrono::seconds(1764205648))},
      refused{"", "no room \"here\"\nat all"};
  EXPECT_EQ(parse_note(note_text(held)), held);
  EXPECT_EQ(parse_note(note_text(refused)).refused, "no room  here  at all");
  EXPECT_EQ(task_prolog_text(held), "export CUDA_VISIBLE_DEVICES=MIG-1,MIG-2\n");
  EXPECT_EQ(task_prolog_text(parse_note(note_text(refused))),
            "print cleave: no room  here  at all\n");
  EXPECT_EQ(task_prolog_text({}), "");
}

TEST(JobHook, FindsClaimsThatAreLeftOver) {
  EXPECT_EQ(claims_left_over({"slurm:1", "slurm:2", "other:3", "slurm:x"},
                             parse_job_numbers("  2 \n7\n")),
            (std::vector<std::string>{"slurm:1"}));
}

}  // namespace
}  // namespace cleave
