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
  const ApiGpu view = gpu_view(
      status, [](JobNumber) { return false; }, false);
  EXPECT_TRUE(view.instances.at(0).held);
  EXPECT_TRUE(view.instances.at(0).jobs.empty());
  EXPECT_TRUE(view.instances.at(0).device.empty());
  EXPECT_FALSE(view.instances.at(1).held);
}

TEST(InstanceView, HowBusyItIsIsForThoseWhoOperateOrHaveAJobThere) {
  GpuIdentity identity;
  GpuStatus status = one_of_two_held(identity);
  const auto activity = [&](bool sees, bool operates, std::size_t instance = 0) {
    return gpu_view(
               status, [sees](JobNumber) { return sees; }, operates)
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
