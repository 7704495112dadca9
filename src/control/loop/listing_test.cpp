// What users read of the node.

#include "control/loop/listing.hpp"

#include "control/loop/loop_parts_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class ListingTest : public LoopParts {
 protected:
  ListingTest() : LoopParts({"A100-SXM4-40GB", "A30"}) { think(); }

  [[nodiscard]] std::string why(JobNumber number) const {
    return listing.why_waits(number, listing.queue());
  }
};

TEST_F(ListingTest, JobsThatAreNotFinalAreListedByNumber) {
  submit("1g.5gb");
  submit("1g.5gb");
  node_.add_job(3).record.state = JobState::finished;
  ASSERT_EQ(listing.jobs().size(), 2U);
  EXPECT_EQ(listing.jobs()[1]->number, 2);
  EXPECT_NE(listing.job(2), nullptr);
  EXPECT_EQ(listing.job(3), nullptr);
  EXPECT_EQ(listing.job(4), nullptr);
}

TEST_F(ListingTest, WhatKillDoesNotEndIsSaid) {
  LiveJob& job = node_.add_job(7);
  LiveAttempt& attempt = node_.add_attempt(job, 0);
  attempt.gone_by = clock.steady() + 1s;
  EXPECT_TRUE(listing.troubles().empty());
  attempt.gone_by = clock.steady();
  ASSERT_EQ(listing.troubles().size(), 1U);
  EXPECT_TRUE(listing.troubles()[0].starts_with("job 7 was killed and is still there"))
      << listing.troubles()[0];
}

TEST_F(ListingTest, TheAttemptOfAJobIsTheOneThatCounts) {
  LiveJob& job = node_.add_job(1);
  EXPECT_EQ(listing.attempt_of(1), nullptr);
  EXPECT_EQ(listing.attempt_of(2), nullptr);
  node_.add_attempt(job, 0).last_reported = MiB{70};
  node_.add_attempt(job, 1);
  job.main = 1;
  EXPECT_EQ(listing.attempt_of(1)->key.attempt, 1);
  EXPECT_EQ(listing.memory_of(1), MiB{70});
  job.main.reset();
  EXPECT_EQ(listing.attempt_of(1)->key.attempt, 2) << "the newest";
  EXPECT_EQ(listing.memory_of(1), std::nullopt);
}

TEST_F(ListingTest, WhyAJobWaitsForRoom) {
  for (GpuId gpu : node.all_gpus()) node.gpu(gpu).drained = true;
  node.gpus[0].drained = false;
  const PlacementId all = node_.placement("7g.40gb", 0);
  node_.add_instance(all);
  node_.add_attempt(node_.add_job(1), all);
  node_.add_job(2).record.request.wanted = ByProfile{"3g.20gb"};
  node_.add_job(3).record.request.wanted = ByProfile{"3g.20gb"};
  node_.add_job(4).record.request.wanted = ByProfile{"3g.20gb"};
  EXPECT_EQ(why(1), "") << "it runs";
  EXPECT_EQ(why(9), "");
  EXPECT_EQ(why(2), "no GPU has room for it now") << "GPU 1 has no such profile";
  EXPECT_EQ(why(3), "no GPU has room for it now; 1 job waits before it");
  EXPECT_EQ(why(4), "no GPU has room for it now; 2 jobs wait before it");
  node.jobs.at(2).place = JobPlace{gpu0, all};
  EXPECT_EQ(why(3), "no GPU has room for it now") << "that one waits no more";
  node.jobs.at(3).record.request.wanted = BySize{MiB{9000}, {}};
  EXPECT_EQ(why(3), "no GPU has room for it now; GPU 1 is drained") << "it would do";
  EXPECT_EQ(why(2), "it is about to start on 7g.40gb@0 of GPU 0");
  node.occupants.clear();
  EXPECT_EQ(why(4),
            "there is room for it, but online has not started it yet; 1 job waits before it");
  node_.add_job(5).record.request.wanted = ByProfile{"1g.5gb"};
  node.gpus[1].drained = true;
  node.jobs.at(5).place.reset();
  EXPECT_FALSE(why(5).contains("drained")) << "there is room elsewhere";
}

TEST_F(ListingTest, WhyAJobWaitsForSomethingElse) {
  LiveJob& job = node_.add_job(1);
  job.record.request.wanted = ByProfile{"1g.5gb"};
  job.record.reason = "its last reason";
  EXPECT_EQ(why(1), "there is room for it, but online has not started it yet");
  job.rejected = "it cannot run at present: no";
  node.gpus[0].walls = PlacementSet::of(3);
  EXPECT_EQ(why(1), "it cannot run at present: no; GPU 0 has instances that are not ours");
  node.gpus[0].walls = {};
  brain.begin_rebuild("a GPU was lost");
  EXPECT_EQ(why(1), "the scheduler starts again when the GPUs have answered: a GPU was lost");
  job.not_before = 20s;
  EXPECT_EQ(why(1), "its last reason");
  node.paused = true;
  EXPECT_EQ(why(1), "the daemon is paused");
  book.store_refused(Error{ErrorKind::infeasible, "the disk", "it is full", {}});
  EXPECT_EQ(why(1), book.trouble());
}

TEST_F(ListingTest, GpusThatTakeNoWorkAreNamedWithTheReason) {
  node_.add_job(1).record.request.wanted = ByProfile{"7g.40gb"};
  node.gpus[0].lost = true;
  node.gpus[1].hung = true;
  EXPECT_EQ(why(1), "no GPU has room for it now; GPU 0 is lost") << "GPU 1 has no such profile";
  node_.add_job(2).record.request.wanted = BySize{MiB{9000}, {}};
  EXPECT_EQ(why(2),
            "no GPU has room for it now; 1 job waits before it; GPU 0 is lost; "
            "GPU 1 does not answer");
  node.gpus[0].lost = false;
  brain.refused(gpu0);
  node.gpus[1].hung = false;
  EXPECT_EQ(why(1), "no GPU has room for it now; GPU 0 cannot be changed now");
  pass(2s);
  EXPECT_EQ(why(1), "there is room for it, but online has not started it yet") << "it has rested";
}

TEST_F(ListingTest, GpusWithTheJobsOnThem) {
  const PlacementId at = node_.placement("1g.5gb", 2);
  node_.add_instance(at);
  node_.add_attempt(node_.add_job(1), at).record.device = "MIG-1";
  node.gpus[1].drained = true;
  const auto all = listing.gpus();
  ASSERT_EQ(all.size(), 2U);
  ASSERT_EQ(all[0].jobs.size(), 1U);
  EXPECT_EQ(all[0].jobs[0].device, "MIG-1");
  EXPECT_EQ(all[0].jobs[0].attempt, (JobKey{1, 1}));
  EXPECT_TRUE(all[1].jobs.empty());
  EXPECT_TRUE(all[1].drained);
  EXPECT_EQ(all[1].gpu->index, 1U);
}

TEST_F(ListingTest, Troubles) {
  EXPECT_TRUE(listing.troubles().empty());
  node.gpus[0].lost = true;
  node.gpus[1].trouble = "its driver does not answer";
  settings.may_switch_mig = false;
  node.gpus[0].observation->mig = false;
  node.gpus[1].observation->mig = false;
  EXPECT_EQ(listing.troubles(),
            (std::vector<std::string>{
                "GPU 0 is lost",
                "GPU 1: MIG mode is off; switch it with `cleave mig`, or set may_switch_mig",
                "GPU 1: its driver does not answer"}));
  book.store_refused(Error{ErrorKind::infeasible, "the disk", "it is full", {}});
  EXPECT_EQ(listing.troubles().front(), book.trouble());
}

}  // namespace
}  // namespace cleave
