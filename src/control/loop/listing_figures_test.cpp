// The node in numbers.

#include "control/loop/loop_parts_test.hpp"

namespace cleave {
namespace {

class ListingFiguresTest : public LoopParts {
 protected:
  ListingFiguresTest() { think(); }
  [[nodiscard]] NodeFigures figures() const { return listing.figures(listing.queue()); }
  [[nodiscard]] GpuFigures gpu_figures() const { return figures().gpus.front(); }
  [[nodiscard]] std::int64_t waiting(WaitReason reason) const {
    return figures().waiting[static_cast<std::size_t>(reason)];
  }
};

TEST_F(ListingFiguresTest, SlicesAndInstancesByWhatTheyAreFor) {
  const PlacementId held = node_.placement("3g.20gb", 0), idle = node_.placement("1g.5gb", 4),
                    stuck = node_.placement("1g.5gb", 5);
  for (const PlacementId each : {held, idle, stuck}) node_.add_instance(each);
  node_.add_attempt(node_.add_job(7), held);
  node.gpu(gpu0).instances.at(held).numbers = JobDevice::Instance{2, 0};
  node.gpu(gpu0).instances.at(stuck).held = "in use by a monitor";
  const GpuFigures gpu = gpu_figures();
  EXPECT_EQ(gpu.standing, GpuStanding::ready);
  EXPECT_EQ(gpu.memory_slices, (std::array<std::int64_t, 5>{4, 1, 1, 0, 2}));
  EXPECT_EQ(gpu.compute_slices, (std::array<std::int64_t, 5>{3, 1, 1, 0, 2}));
  ASSERT_EQ(gpu.instances.size(), 3U);
  for (const InstanceFigures& each : gpu.instances) {
    if (each.profile == "3g.20gb") {
      EXPECT_EQ(each.standing, InstanceStanding::held);
      EXPECT_EQ(each.job, 7);
      EXPECT_EQ(each.gpu_instance, 2U);
    } else {
      EXPECT_EQ(each.job, 0);
      EXPECT_FALSE(each.gpu_instance) << "not seen yet";
    }
  }
}

TEST_F(ListingFiguresTest, RoomBySizeAndByPosition) {
  // 1g at 1 and at 4: five memory slices are free beside them, but no 3g.20gb can start.
  for (const int start : {1, 4}) {
    const PlacementId place = node_.placement("1g.5gb", start);
    node_.add_instance(place);
    node_.add_attempt(node_.add_job(start), place);
  }
  const GpuFigures gpu = gpu_figures();
  const auto room = std::ranges::find(gpu.room, "3g.20gb", &RoomFigures::profile);
  ASSERT_NE(room, gpu.room.end());
  EXPECT_EQ(room->by_size, 1);
  EXPECT_EQ(room->by_position, 0);
  EXPECT_GT(gpu.fragmentation, 0);
  node.gpu(gpu0).drained = true;
  const GpuFigures drained = gpu_figures();
  EXPECT_EQ(drained.standing, GpuStanding::drained);
  for (const RoomFigures& each : drained.room) EXPECT_EQ(each.by_size + each.by_position, 0);
}

TEST_F(ListingFiguresTest, GpusByWhatKeepsJobsOffThem) {
  ManagedGpu& gpu = node.gpu(gpu0);
  gpu.hung = true;
  EXPECT_EQ(gpu_figures().standing, GpuStanding::hung);
  gpu.lost = true;
  EXPECT_EQ(gpu_figures().standing, GpuStanding::lost);
  gpu.lost = gpu.hung = false;
  gpu.trouble = "the driver refuses";
  EXPECT_EQ(gpu_figures().standing, GpuStanding::trouble);
  gpu.observation.reset();
  EXPECT_EQ(gpu_figures().standing, GpuStanding::starting);
}

TEST_F(ListingFiguresTest, UtilisationGoesBySlicesAndIsKnownWhereTheDriverCounts) {
  EXPECT_FALSE(gpu_figures().utilisation);
  node.gpu(gpu0).counts_work = true;
  EXPECT_EQ(gpu_figures().utilisation, 0);
  const PlacementId place = node_.placement("4g.20gb", 0);
  node_.add_instance(place);
  LiveAttempt& attempt = node_.add_attempt(node_.add_job(1), place);
  EXPECT_FALSE(gpu_figures().utilisation) << "not counted yet";
  attempt.activity = 0.5;
  EXPECT_DOUBLE_EQ(*gpu_figures().utilisation, 0.5 * 4 / 7);
}

TEST_F(ListingFiguresTest, JobsThatWaitByWhy) {
  submit("1g.5gb").place.reset();
  EXPECT_EQ(figures().jobs[static_cast<std::size_t>(JobState::queued)] +
                figures().jobs[static_cast<std::size_t>(JobState::starting)],
            1);
  node.paused = true;
  EXPECT_EQ(waiting(WaitReason::paused), 1);
  EXPECT_TRUE(figures().paused);
  EXPECT_EQ(figures().tally.submitted, 1);
}

TEST_F(ListingFiguresTest, WhatHappensIsCounted) {
  submit("1g.5gb");
  act();
  succeed("MIG-1");
  Tally tally = figures().tally;
  EXPECT_EQ(tally.created.done, 1);
  EXPECT_EQ(tally.created.took.count(), 1U);
  LiveJob& job = *node.find(1);
  jobs.advance_to(epoch + now);
  lifecycle.cancel(job, "somebody");
  tally = figures().tally;
  EXPECT_EQ(tally.jobs_ended[static_cast<std::size_t>(JobState::cancelled)], 1);
  EXPECT_EQ(tally.turnaround.count(), 0U) << "of jobs that have finished";
}

}  // namespace
}  // namespace cleave
