// What the loop does about the health of GPUs, on a clock of its own over GPUs in memory. The table
// row by row is for health_table_test.

#include <gtest/gtest.h>

#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

using namespace std::chrono_literals;

/// Two GPUs; whole jobs take one each, and so does a pair of 3g and 2g.
class Health : public Loop {
 protected:
  Health() : Health({"A100-40GB", "A100-40GB"}) {}
  explicit Health(const std::vector<std::string>& gpus) : Loop(gpus) {
    for (std::size_t i = 0; i < machine.size(); ++i)
      machine.door(i).tells = GpuHealth{0, false, false, 0};
  }

  static NewJob restartable(std::string profile) {
    NewJob job = sized(std::move(profile));
    job.spec.restartable = true;
    return job;
  }
  /// Runs for hours unless it is stopped.
  JobNumber start(const NewJob& job) {
    const JobNumber number = submit(job, 100h);
    run(2s);
    return number;
  }
  /// Two on the same GPU, and nothing on the other.
  std::pair<JobNumber, JobNumber> start_beside() {
    const JobNumber one = start(restartable("3g.20gb")), far = start(restartable("7g.40gb"));
    const JobNumber two = start(restartable("2g.10gb"));
    EXPECT_EQ(gpu_of(one), gpu_of(two));
    control->cancel(far, "its user", moment());
    run(2s);
    return {one, two};
  }
  /// The index of the GPU where its latest attempt is.
  std::size_t gpu_of(JobNumber job) {
    const std::string uuid = attempts(job).back().gpu;
    return uuid == "GPU-0" ? 0 : uuid == "GPU-1" ? 1 : 2;
  }
  std::string device_of(JobNumber job) { return attempts(job).back().device; }
  GpuInstanceId instance_of(JobNumber job) {
    for (const auto& [id, instance] : machine.door(gpu_of(job)).instances)
      if (!instance.computes.empty() && instance.computes[0].uuid == device_of(job)) return id;
    return GpuInstanceId{99};
  }
  void xid(std::size_t gpu, std::uint64_t number, std::optional<GpuInstanceId> instance = {}) {
    machine.door(gpu).events.push_back({.kind = GpuEvent::Kind::xid,
                                        .gpu = GpuIndex{static_cast<std::uint32_t>(gpu)},
                                        .data = number,
                                        .gpu_instance = instance,
                                        .compute_instance = {}});
  }
  /// Its process ends with 1 in a moment, in all attempts from this one on.
  void fail_from(JobNumber job, std::int64_t attempt, Duration runs) {
    FakeCourse fails;
    fails.runs = runs;
    fails.outcome.code = 1;
    for (; attempt < 20; ++attempt) jobs.plan({job, attempt}, fails);
  }
  std::string troubles() const {
    std::string all;
    for (const std::string& each : control->troubles()) all += each + "\n";
    return all;
  }
  bool drained(std::size_t gpu) const { return control->gpus()[gpu].drained; }
  void undrain(std::size_t gpu) {
    EXPECT_TRUE(control->drain(GpuId{static_cast<std::uint32_t>(gpu)}, false, moment()));
  }
  std::size_t count(std::string_view kind) const {
    const auto events = control->events_since(0);
    return static_cast<std::size_t>(std::ranges::count(events, kind, &EventRecord::kind));
  }
};

TEST_F(Health, AContainedErrorCostsAnInstanceAndNoRetry) {
  const auto [hit, other] = start_beside();
  const std::string device = device_of(hit);
  xid(gpu_of(hit), 94, instance_of(hit));
  run(10s);
  ASSERT_EQ(attempts(hit).size(), 2U);
  EXPECT_EQ(attempts(hit)[0].end, AttemptEnd::lost);
  EXPECT_NE(attempts(hit)[0].why.find("Xid 94 (contained memory error)"), std::string::npos);
  EXPECT_EQ(record(hit).failures, 0);
  EXPECT_EQ(record(hit).state, JobState::running);
  EXPECT_NE(device_of(hit), device) << "the instance was not given out again";
  EXPECT_FALSE(machine.exists(device)) << "it was destroyed";
  EXPECT_EQ(attempts(other).size(), 1U) << "the rest of the GPU goes on";
  EXPECT_EQ(troubles(), "") << "and it is over";
  EXPECT_FALSE(drained(0) || drained(1));
}

TEST_F(Health, AnInstanceThatStaysIsGivenToNobody) {
  const JobNumber hit = start(restartable("7g.40gb"));
  const JobNumber beside = start(restartable("7g.40gb"));
  const std::size_t gpu = gpu_of(hit);
  const std::string device = device_of(hit);
  const auto before = machine.door(gpu).refuse;
  machine.door(gpu).refuse = [before](std::string_view call) -> std::optional<nvml::Return> {
    if (call == "destroy_compute_instance") return nvml::Return::in_use;
    return before(call);
  };
  xid(gpu, 94, instance_of(hit));
  run(60s);
  EXPECT_EQ(record(hit).state, JobState::queued);
  EXPECT_TRUE(machine.exists(device));
  EXPECT_NE(troubles().find("7g.40gb@0 of GPU"), std::string::npos) << troubles();
  EXPECT_NE(troubles().find("is quarantined: Xid 94"), std::string::npos) << troubles();
  EXPECT_NE(control->gpus()[gpu].trouble.find("quarantined"), std::string::npos);
  EXPECT_EQ(count("instance-stays"), 1U) << "said once, though it is tried again";
  EXPECT_EQ(attempts(beside).size(), 1U);
  begin();
  run(20s);
  EXPECT_EQ(record(hit).state, JobState::queued) << "also after a restart";
  EXPECT_NE(troubles().find("is quarantined: Xid 94"), std::string::npos) << troubles();
  machine.door(gpu).refuse = before;
  run(6min);
  EXPECT_FALSE(machine.exists(device));
  EXPECT_EQ(record(hit).state, JobState::running);
  EXPECT_EQ(troubles(), "");
}

TEST_F(Health, AnUncontainedErrorStopsAllOnTheGpuAndDrainsIt) {
  const auto [one, two] = start_beside();
  const std::size_t gpu = gpu_of(one);
  xid(gpu, 95, instance_of(one));
  run(20s);
  for (const JobNumber each : {one, two}) {
    ASSERT_EQ(attempts(each).size(), 2U);
    EXPECT_EQ(gpu_of(each), 1 - gpu);
    EXPECT_EQ(record(each).failures, 0);
  }
  EXPECT_TRUE(drained(gpu));
  EXPECT_FALSE(drained(1 - gpu));
  EXPECT_NE(troubles().find("drained: Xid 95 (uncontained memory error)"), std::string::npos);
  EXPECT_NE(troubles().find("after a reset of the GPU"), std::string::npos) << troubles();
  EXPECT_NE(troubles().find(fmt::format("while job {} ran there", one)), std::string::npos);
  begin();
  run(10s);
  EXPECT_TRUE(drained(gpu)) << "a restart of the daemon changes nothing";
  machine.door(gpu).tells->recovery_action = 1;
  run(10s);
  machine.door(gpu).tells->recovery_action = 0;
  run(10s);
  EXPECT_FALSE(drained(gpu)) << "a driver that asked for a reset and does so no longer saw it";
  EXPECT_EQ(troubles(), "");
}

TEST_F(Health, AGpuThatWasLostAndIsBackWasReset) {
  run(2s);
  xid(0, 119);
  run(10s);
  EXPECT_TRUE(drained(0));
  machine.lose(0);
  run(10s);
  machine.give_back(0);
  run(10s);
  EXPECT_FALSE(drained(0)) << troubles();
}

TEST_F(Health, AStartOfTheMachineEndsWhatAResetEnds) {
  settings.boot = "one";
  begin();
  run(2s);
  xid(0, 119);
  xid(1, 64);
  run(10s);
  EXPECT_TRUE(drained(0) && drained(1));
  settings.boot = "two";
  begin();
  run(10s);
  EXPECT_FALSE(drained(0));
  EXPECT_TRUE(drained(1)) << "a remapping that failed is not mended by it";
}

TEST_F(Health, AnOperatorTakesBackWhatOnlyPeopleKnow) {
  run(2s);
  machine.door(0).tells->rows_failed = true;
  run(10s);
  EXPECT_TRUE(drained(0));
  EXPECT_NE(troubles().find("cleave undrain 0"), std::string::npos) << troubles();
  undrain(0);
  run(30s);
  EXPECT_FALSE(drained(0)) << "though the driver says it still";
  begin();
  run(10s);
  EXPECT_FALSE(drained(0)) << "for good";
  machine.door(0).tells->rows_failed = false;
  run(10s);
  machine.door(0).tells->rows_failed = true;
  run(10s);
  EXPECT_TRUE(drained(0)) << "that is another failure";
}

TEST_F(Health, WhatTheDriverAsksForEndsWithTheAsking) {
  const JobNumber job = start(restartable("7g.40gb"));
  const std::size_t gpu = gpu_of(job);
  machine.door(gpu).tells->recovery_action = 4;
  run(10s);
  EXPECT_TRUE(drained(gpu));
  EXPECT_EQ(attempts(job).size(), 1U) << "what runs may end";
  machine.door(gpu).tells->recovery_action = 2;
  run(10s);
  EXPECT_NE(troubles().find("recovery action 2 (reboot)"), std::string::npos) << troubles();
  EXPECT_EQ(troubles().find("recovery action 4"), std::string::npos) << troubles();
  machine.door(gpu).tells.reset();
  run(10s);
  EXPECT_TRUE(drained(gpu)) << "that it is not told does not mean that it is over";
  machine.door(gpu).tells = GpuHealth{0, {}, {}, {}};
  run(10s);
  EXPECT_FALSE(drained(gpu));
  EXPECT_EQ(count("gpu-recovered"), 1U);
}

TEST_F(Health, AnOperatorsDrainStandsApart) {
  run(2s);
  machine.door(0).tells->recovery_action = 1;
  ASSERT_TRUE(control->drain(GpuId{0}, true, moment()));
  run(10s);
  machine.door(0).tells->recovery_action = 0;
  run(10s);
  EXPECT_TRUE(drained(0)) << "the operator's own";
  EXPECT_EQ(troubles(), "");
  undrain(0);
  run(1s);
  EXPECT_FALSE(drained(0));
}

/// One that brings the GPU down wherever it runs is stopped at the second, however often it may
/// run.
TEST_F(Health, OneJobDoesNotDrainAFleet) {
  NewJob wanted = restartable("7g.40gb");
  wanted.spec.retries = 100;
  const JobNumber job = submit(wanted);
  fail_from(job, 1, 4s);
  run(1s);
  for (int i = 0; i < 100 && !is_final(record(job).state); ++i) {
    if (record(job).state == JobState::running) xid(gpu_of(job), 119, instance_of(job));
    run(1s);
  }
  EXPECT_EQ(record(job).state, JobState::failed);
  EXPECT_EQ(attempts(job).size(), 2U);
  EXPECT_EQ(drained(0) + drained(1), 1);
}

TEST_F(Health, AJobThatMeetsAGraveSignOnTwoGpusIsTakenForTheCause) {
  NewJob wanted = restartable("7g.40gb");
  wanted.spec.retries = 100;
  const JobNumber job = start(wanted);
  const std::size_t first = gpu_of(job);
  xid(first, 95, instance_of(job));
  run(10s);
  ASSERT_EQ(record(job).state, JobState::running);
  ASSERT_EQ(gpu_of(job), 1 - first);
  EXPECT_TRUE(drained(first));
  xid(1 - first, 95, instance_of(job));
  run(10s);
  EXPECT_EQ(record(job).state, JobState::failed);
  EXPECT_NE(record(job).reason.find("taken for the cause"), std::string::npos)
      << record(job).reason;
  EXPECT_FALSE(drained(1 - first));
  EXPECT_EQ(count("gpu-spared"), 1U);
  const JobNumber next = start(restartable("7g.40gb"));
  EXPECT_EQ(record(next).state, JobState::running) << "the GPU takes others";
}

/// What an earlier daemon saw of it counts.
TEST_F(Health, TheCauseIsFoundAcrossARestart) {
  const JobNumber job = start(restartable("7g.40gb"));
  const std::size_t first = gpu_of(job);
  xid(first, 95, instance_of(job));
  run(10s);
  begin();
  run(10s);
  ASSERT_EQ(gpu_of(job), 1 - first);
  xid(1 - first, 95, instance_of(job));
  run(10s);
  EXPECT_EQ(record(job).state, JobState::failed);
  EXPECT_FALSE(drained(1 - first));
}

TEST_F(Health, FaultsOfLongAgoDoNotMakeACause) {
  const JobNumber job = start(restartable("7g.40gb"));
  const std::size_t first = gpu_of(job);
  xid(first, 95, instance_of(job));
  run(10s);
  undrain(first);
  run(25h);
  ASSERT_EQ(record(job).state, JobState::running);
  xid(1 - first, 95, instance_of(job));
  run(10s);
  EXPECT_EQ(record(job).state, JobState::running);
  EXPECT_EQ(attempts(job).size(), 3U);
  EXPECT_TRUE(drained(1 - first));
}

class Fleet : public Health {
 protected:
  Fleet() : Health({"A100-40GB", "A100-40GB", "A100-40GB"}) {}
};

/// A new job each time, but the same user.
TEST_F(Fleet, OneUsersJobsDoNotDrainAFleet) {
  for (int i = 0; i < 3; ++i) {
    const JobNumber job = start(sized("7g.40gb"));
    ASSERT_EQ(record(job).state, JobState::running);
    xid(gpu_of(job), 95, instance_of(job));
    run(10s);
    EXPECT_EQ(record(job).state, JobState::failed);
  }
  EXPECT_EQ(drained(0) + drained(1) + drained(2), 2);
  EXPECT_EQ(count("gpu-spared"), 1U);
  NewJob others = restartable("7g.40gb");
  others.owner.uid = 1001;
  const JobNumber job = start(others);
  ASSERT_EQ(record(job).state, JobState::running);
  xid(gpu_of(job), 95, instance_of(job));
  run(10s);
  EXPECT_EQ(drained(0) + drained(1) + drained(2), 3) << "another user's is another matter";
}

TEST_F(Health, AJobRunsAgainForNothingOnlySoOften) {
  NewJob wanted = restartable("3g.20gb");
  wanted.spec.retries = 1;
  const JobNumber job = submit(wanted);
  fail_from(job, 1, 3s);
  run(1s);
  for (int i = 0; i < 40 && !is_final(record(job).state); ++i) {
    if (record(job).state == JobState::running) xid(gpu_of(job), 32, instance_of(job));
    run(1s);
  }
  EXPECT_EQ(record(job).state, JobState::failed);
  EXPECT_EQ(attempts(job).size(), 5U) << "three for nothing, one retry, and the last";
  EXPECT_EQ(record(job).failures, 1);
  EXPECT_NE(record(job).reason.find("time within a day"), std::string::npos) << record(job).reason;
  EXPECT_FALSE(drained(0) || drained(1));
}

/// It runs on where it is, as the operator's drain has it, but it does not begin there again.
TEST_F(Health, AReplicaIsNotStartedAgainOnASickGpu) {
  NewJob wanted = restartable("7g.40gb");
  wanted.spec.service.emplace().replicas = 1;
  const JobNumber job = submit(wanted, 20s);
  run(5s);
  const std::size_t gpu = gpu_of(job);
  machine.door(gpu).tells->recovery_action = 1;
  run(10s);
  ASSERT_TRUE(drained(gpu));
  EXPECT_EQ(attempts(job).size(), 1U);
  run(30s);
  ASSERT_GE(attempts(job).size(), 2U);
  EXPECT_EQ(gpu_of(job), 1 - gpu);
}

TEST_F(Health, ItsOwnErrorIsTheJobs) {
  NewJob wanted = restartable("3g.20gb");
  const JobNumber job = submit(wanted);
  fail_from(job, 1, 8s);
  run(7s);
  const std::string device = device_of(job);
  xid(gpu_of(job), 13, instance_of(job));
  xid(gpu_of(job), 13, instance_of(job));
  xid(gpu_of(job), 4242);
  run(20s);
  EXPECT_EQ(record(job).state, JobState::failed);
  EXPECT_EQ(attempts(job).size(), 1U);
  EXPECT_EQ(attempts(job)[0].end, AttemptEnd::ended_itself);
  EXPECT_TRUE(machine.exists(device));
  EXPECT_EQ(troubles(), "");
  EXPECT_EQ(count("gpu-sign"), 2U) << "each said once";
}

TEST_F(Health, WhatMustNotRunTwiceFails) {
  const JobNumber job = start(sized("3g.20gb"));
  xid(gpu_of(job), 94, instance_of(job));
  run(10s);
  EXPECT_EQ(record(job).state, JobState::failed);
  EXPECT_NE(record(job).reason.find("--restartable"), std::string::npos) << record(job).reason;
}

TEST_F(Health, WhoAskedForRetriesKeepsThem) {
  NewJob wanted = sized("3g.20gb");
  wanted.spec.retries = 1;
  const JobNumber job = start(wanted);
  xid(gpu_of(job), 94, instance_of(job));
  run(10s);
  EXPECT_EQ(record(job).state, JobState::running);
  EXPECT_EQ(record(job).failures, 0);
}

TEST_F(Health, AFailureLongAfterASignIsTheJobs) {
  NewJob wanted = restartable("3g.20gb");
  const JobNumber job = submit(wanted);
  fail_from(job, 1, 3min);
  run(5s);
  xid(gpu_of(job), 32, instance_of(job));
  run(5min);
  EXPECT_EQ(record(job).state, JobState::failed);
}

TEST_F(Health, OthersInstancesConcernNobody) {
  const JobNumber job = start(restartable("3g.20gb"));
  const std::size_t gpu = gpu_of(job);
  ASSERT_TRUE(machine.make_foreign(gpu, "1g.5gb"));
  run(6s);
  xid(gpu, 94, GpuInstanceId{77});
  run(10s);
  EXPECT_EQ(attempts(job).size(), 1U);
  EXPECT_EQ(troubles(), "");
  xid(gpu, 95, GpuInstanceId{77});
  run(10s);
  EXPECT_TRUE(drained(gpu)) << "what concerns the GPU concerns all";
}

TEST_F(Health, MemoryErrorsAreSeenByTheCount) {
  const auto [job, other] = start_beside();
  const std::size_t gpu = gpu_of(job);
  machine.door(gpu).errors[instance_of(other)] = 7;  // of before: nothing new
  begin();
  run(10s);
  EXPECT_EQ(attempts(other).size(), 1U);
  ++machine.door(gpu).errors[instance_of(job)];
  run(10s);
  EXPECT_EQ(attempts(job).size(), 2U);
  EXPECT_NE(attempts(job)[0].why.find("uncorrected memory errors"), std::string::npos);
  EXPECT_EQ(attempts(other).size(), 1U);
}

TEST_F(Health, AnOlderDriverTellsLessAndIsNotAsked) {
  for (std::size_t i = 0; i < 2; ++i) machine.door(i).tells.reset();
  const JobNumber job = start(restartable("3g.20gb"));
  const std::size_t gpu = gpu_of(job);
  xid(gpu, 48, instance_of(job));
  run(10s);
  EXPECT_TRUE(drained(gpu)) << "without a recovery action the Xid decides";
  EXPECT_EQ(attempts(job).size(), 1U);
}

}  // namespace
}  // namespace cleave::trial
