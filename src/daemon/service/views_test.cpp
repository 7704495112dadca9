#include "daemon/service/views.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace cleave {
namespace {

std::int64_t no_index(const std::string&) {
  return 0;
}

/// The first of two processes of a job that is now in this state.
ApiProcess view_of(JobState job, AttemptEnd end, std::optional<int> exit_code,
                   Request each = {ByProfile{"1g.5gb"}, {}}, std::int64_t rank = 0) {
  JobRecord process;
  process.number = 5 + rank;
  process.leader = rank == 0 ? 0 : 5;
  process.state = job;
  process.spec.request = std::move(each);
  process.spec.request.places = 2;
  AttemptRecord attempt;
  attempt.end = end;
  attempt.exit_code = exit_code;
  return process_view(process, &attempt, nullptr, no_index);
}

TEST(ProcessView, SaysHowTheProcessEndedAndNotItsJob) {
  for (const JobState job : {JobState::failed, JobState::cancelled, JobState::finished}) {
    EXPECT_EQ(view_of(job, AttemptEnd::ended_itself, 0).state, "finished") << name(job);
    EXPECT_EQ(view_of(job, AttemptEnd::gang, 143).state, name(job));
    EXPECT_EQ(view_of(job, AttemptEnd::gang, 0).state, name(job)) << "it ended well when stopped";
  }
  EXPECT_EQ(view_of(JobState::failed, AttemptEnd::ended_itself, 7).state, "failed");
  EXPECT_EQ(view_of(JobState::queued, AttemptEnd::ended_itself, 0).state, "queued")
      << "the job runs again";
}

TEST(ProcessView, AGpuThatIsOnlyHeldIsAsItsJob) {
  EXPECT_TRUE(view_of(JobState::failed, AttemptEnd::ended_itself, 0, {WholeGpu{}, {}}, 1).held);
  EXPECT_EQ(view_of(JobState::failed, AttemptEnd::ended_itself, 0, {WholeGpu{}, {}}, 1).state,
            "failed");
}

/// Two instances, with a job on the first.
GpuStatus one_of_two_held(GpuIdentity& identity) {
  identity.uuid = "GPU-x";
  DriverReading reading;
  reading.gpu.name = "NVIDIA H100 80GB HBM3";
  identity.geometry = std::make_shared<DriverGeometry>(*DriverGeometry::build(reading));
  GpuStatus status;
  status.gpu = &identity;
  status.observation.emplace();
  for (const char* device : {"MIG-a", "MIG-b"})
    status.observation->instances.emplace_back().device = device;
  status.jobs = {{"MIG-a", {7, 1}, 0.25}};
  return status;
}

TEST(InstanceView, ThatAJobHasItIsForEverybody) {
  GpuIdentity identity;
  const GpuStatus status = one_of_two_held(identity);
  const ApiGpu view = gpu_view(status, {[](JobNumber) { return false; }});
  EXPECT_TRUE(view.instances.at(0).held);
  EXPECT_TRUE(view.instances.at(0).jobs.empty());
  EXPECT_TRUE(view.instances.at(0).device.empty());
  EXPECT_FALSE(view.instances.at(1).held);
}

TEST(InstanceView, OfAClaimOthersLearnOnlyThatThereIsOne) {
  GpuIdentity identity;
  const GpuStatus status = one_of_two_held(identity);
  std::vector<ClaimStatus> claims(1);
  Claim& claim = claims.front().claim;
  claim.key = "slurm:12";
  claim.order.holder = "job 12 of ann";
  claim.order.uid = 1000;
  claim.places.emplace_back().device = "MIG-b";
  const auto view = [&](bool operates, std::int64_t uid) {
    return gpu_view(status, {[](JobNumber) { return false; }, operates, uid}, claims).instances;
  };
  for (const auto& seen : {view(true, 1), view(false, 1000)}) {
    EXPECT_EQ(seen.at(1).claim, "slurm:12");
    EXPECT_EQ(seen.at(1).claim_holder, "job 12 of ann");
    EXPECT_EQ(seen.at(1).device, "MIG-b");
  }
  const auto others = view(false, 1001);
  EXPECT_EQ(others.at(1).claim, "");
  EXPECT_EQ(others.at(1).claim_holder, "");
  EXPECT_TRUE(others.at(1).device.empty());
  EXPECT_EQ(others.at(0).claim, std::nullopt);
}

TEST(GpuView, SaysForWhomItIsReserved) {
  GpuIdentity identity;
  GpuStatus status = one_of_two_held(identity);
  status.jobs.clear();
  EXPECT_EQ(gpu_view(status, {}).reserved_for, std::nullopt);
  const GpuReservation reserved{
      {}, Instant(std::chrono::seconds(100)), Instant(std::chrono::seconds(200)), "ann"};
  const ApiGpu view = gpu_view(status, {}, {}, &reserved);
  EXPECT_EQ(view.reserved_for, "ann");
  EXPECT_EQ(view.reserved_from, reserved.from);
  EXPECT_EQ(view.reserved_until, reserved.until);
}

TEST(InstanceView, HowBusyItIsIsForThoseWhoOperateOrHaveAJobThere) {
  GpuIdentity identity;
  GpuStatus status = one_of_two_held(identity);
  const auto activity = [&](bool sees, bool operates, std::size_t instance = 0) {
    return gpu_view(status, {[sees](JobNumber) { return sees; }, operates})
        .instances.at(instance)
        .activity;
  };
  EXPECT_EQ(activity(true, false), 0.25);
  EXPECT_EQ(activity(false, true), 0.25);
  EXPECT_EQ(activity(false, false), std::nullopt);
  EXPECT_EQ(activity(true, true, 1), std::nullopt) << "no job runs there";
  status.jobs.front().activity.reset();
  EXPECT_EQ(activity(true, true), std::nullopt) << "it is not counted";
}

}  // namespace
}  // namespace cleave
