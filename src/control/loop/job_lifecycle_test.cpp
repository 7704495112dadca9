// How jobs move through their states.

#include "control/loop/job_lifecycle.hpp"

#include <algorithm>

#include "control/loop/loop_parts_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class LifecycleTest : public LoopParts {
 protected:
  LifecycleTest() { think(); }

  /// A job whose process runs.
  LiveJob& running(JobSpec spec = {}, FakeCourse course = {}) {
    LiveJob& job = submit("3g.20gb", std::move(spec));
    course.runs = 1h;
    for (std::int64_t attempt = 1; attempt < 5; ++attempt)
      jobs.plan({job.record.number, attempt}, course);
    act();
    succeed(fmt::format("MIG-{}", ++devices_));
    act();
    pass(10ms);
    processes.hear();
    EXPECT_EQ(job.record.state, JobState::running);
    happened();
    return job;
  }

  static JobSpec with_retries(std::int64_t retries) {
    JobSpec spec;
    spec.retries = retries;
    return spec;
  }
  static JobSpec restartable() {
    JobSpec spec;
    spec.restartable = true;
    return spec;
  }
  static JobSpec of_application(std::string name) {
    JobSpec spec;
    spec.application = std::move(name);
    return spec;
  }
  static JobSpec with_checkpoint() {
    JobSpec spec;
    spec.checkpoint_signal = 10;
    spec.checkpoint_grace = 30s;
    return spec;
  }

  std::int64_t devices_ = 0;
};

TEST_F(LifecycleTest, AFinishedJobLeavesEverything) {
  LiveJob& job = running();
  lifecycle.close(
      job, 1,
      {AttemptEnd::ended_itself,
       "exited",
       0,
       {.kind = JobVerdict::Kind::finish, .state = JobState::finished, .exit_code = 0}});
  EXPECT_EQ(job.record.state, JobState::finished);
  EXPECT_EQ(job.record.ended, clock.wall());
  EXPECT_EQ(job.record.exit_code, 0);
  EXPECT_FALSE(job.id);
  EXPECT_FALSE(job.place);
  EXPECT_TRUE(job.attempts.empty());
  EXPECT_TRUE(node.occupants.empty());
  lifecycle.drop_over();
  EXPECT_NE(node.find(1), nullptr) << "it is not written yet";
  EXPECT_EQ(happened(), "job-finished");
  EXPECT_EQ((*store.attempts(1))[0].end, AttemptEnd::ended_itself);
  lifecycle.drop_over();
  EXPECT_EQ(node.find(1), nullptr);
}

TEST_F(LifecycleTest, ARetryIsCountedAndWaits) {
  LiveJob& job = running(with_retries(2));
  lifecycle.close(job, 1,
                  {AttemptEnd::ended_itself,
                   "exited",
                   1,
                   {.kind = JobVerdict::Kind::retry, .reason = "it follows"}});
  EXPECT_EQ(job.record.failures, 1);
  EXPECT_TRUE(job.id) << "the engine has it again";
  EXPECT_EQ(happened(), "job-queued");
}

TEST_F(LifecycleTest, OneThatWasNotAtFaultKeepsItsRetries) {
  LiveJob& job = running(with_retries(2));
  lifecycle.close(
      job, 1,
      {AttemptEnd::lost, "lost", {}, {.kind = JobVerdict::Kind::wait_again, .reason = "lost"}});
  EXPECT_EQ(job.record.failures, 0);
  EXPECT_TRUE(job.id);
}

TEST_F(LifecycleTest, WhatAnApplicationHeldIsRemembered) {
  LiveJob& job = running(of_application("resnet"));
  AttemptVerdict verdict{
      AttemptEnd::ended_itself,
      "exited",
      0,
      {.kind = JobVerdict::Kind::finish, .state = JobState::finished, .remembers_need = true}};
  job.attempts.at(1).seen = MiB{900};
  job.attempts.at(1).record.peak = MiB{700};
  lifecycle.close(job, 1, verdict);
  EXPECT_EQ(book.need_of({1000, "resnet"}), MiB{700}) << "what it reported";
  LiveJob& silent = running(of_application("other"));
  silent.attempts.at(1).seen = MiB{900};
  lifecycle.close(silent, 1, verdict);
  EXPECT_EQ(book.need_of({1000, "other"}), MiB{900}) << "what the driver showed";
}

TEST_F(LifecycleTest, AfterItRanOutOfMemoryItAsksForMore) {
  LiveJob& job = running(restartable());
  const AttemptVerdict verdict{
      AttemptEnd::out_of_memory,
      "exited",
      1,
      {.kind = JobVerdict::Kind::larger_instance, .reason = "why", .exit_code = 1}};
  lifecycle.close(job, 1, verdict);
  EXPECT_TRUE(job.record.request.at_least);
  EXPECT_EQ(job.last_code, 1);
  EXPECT_EQ(job.record.failures, 0);
  EXPECT_EQ(happened(), "job-out-of-memory");
}

TEST_F(LifecycleTest, WithoutAnEngineItAsksForOneMibMoreThanItHad) {
  LiveJob& job = running(restartable());
  const auto had = node.capacity_of(job.attempts.at(1));
  lifecycle.rebuild("for the test");
  lifecycle.close(job, 1,
                  {AttemptEnd::out_of_memory,
                   "exited",
                   1,
                   {.kind = JobVerdict::Kind::larger_instance, .reason = "why", .exit_code = 1}});
  EXPECT_EQ(job.record.request.at_least, MiB{had->value + 1});
}

TEST_F(LifecycleTest, ALaterStartWaitsForItsTime) {
  LiveJob& job = running();
  lifecycle.close(job, 1,
                  {AttemptEnd::not_started,
                   "why",
                   {},
                   {.kind = JobVerdict::Kind::start_later, .reason = "why", .delay = 4s}});
  EXPECT_EQ(job.not_started, 1);
  EXPECT_EQ(job.not_before, now + 4s);
  EXPECT_FALSE(job.id);
  pass(3s);
  lifecycle.take_timers();
  EXPECT_FALSE(job.id);
  pass(1s);
  lifecycle.take_timers();
  EXPECT_FALSE(job.not_before);
  EXPECT_TRUE(job.id);
}

TEST_F(LifecycleTest, AStopIsSentOnceItIsWritten) {
  LiveJob& job = running();
  lifecycle.stop_attempt(job, 1, AttemptEnd::lost, "why");
  EXPECT_EQ(job.record.state, JobState::stopping);
  EXPECT_EQ(job.record.reason, "why");
  lifecycle.stop_attempt(job, 1, AttemptEnd::made_room, "another reason");
  EXPECT_EQ(job.attempts.at(1).record.why, "why") << "the first reason stays";
  pass(1s);
  EXPECT_EQ(jobs.running().size(), 1U);
  book.commit(node);
  pass(1s);
  EXPECT_TRUE(jobs.running().empty());
}

TEST_F(LifecycleTest, ACheckpointSignalComesFirstAndTheStopAfterItsGrace) {
  LiveJob& job = running(with_checkpoint());
  lifecycle.stop_attempt(job, 1, AttemptEnd::made_room, "why");
  disk.fail_writes(1);
  book.commit(node);
  pass(5s);
  EXPECT_FALSE(job.attempts.at(1).stop_at) << "it has not been told yet";
  book.commit(node);
  EXPECT_EQ(job.attempts.at(1).stop_at, now + 30s);
  pass(29s);
  lifecycle.take_timers();
  book.commit(node);
  pass(500ms);
  EXPECT_EQ(jobs.running().size(), 1U);
  pass(500ms);
  lifecycle.take_timers();
  EXPECT_FALSE(job.attempts.at(1).stop_at);
  book.commit(node);
  pass(1s);
  EXPECT_TRUE(jobs.running().empty());
}

TEST_F(LifecycleTest, CancellingDoesNotWaitForACheckpoint) {
  LiveJob& job = running(with_checkpoint());
  lifecycle.stop_attempt(job, 1, AttemptEnd::made_room, "why");
  lifecycle.cancel(job, "someone");
  book.commit(node);
  EXPECT_FALSE(job.attempts.at(1).stop_at);
  EXPECT_EQ(job.attempts.at(1).record.end, AttemptEnd::cancelled);
  EXPECT_EQ(job.record.reason, "cancelled by someone");
  EXPECT_FALSE(job.id);
  pass(1s);
  EXPECT_TRUE(jobs.running().empty());
}

TEST_F(LifecycleTest, CancellingOnceMoreShortensTheGrace) {
  FakeCourse deaf;
  deaf.stops = 1h;
  LiveJob& job = running({}, deaf);
  lifecycle.cancel(job, "its user");
  book.commit(node);
  pass(10min);
  EXPECT_EQ(jobs.running().size(), 1U);
  lifecycle.cancel(job, "an operator", Duration{});
  book.commit(node);
  pass(1s);
  EXPECT_TRUE(jobs.running().empty());
  EXPECT_EQ(job.record.reason, "cancelled by an operator");
}

TEST_F(LifecycleTest, OneThatWaitsIsCancelledAtOnce) {
  LiveJob& job = submit("7g.40gb");
  lifecycle.cancel(job, "someone");
  EXPECT_EQ(job.record.state, JobState::cancelled);
  const auto starts = [](const GpuStep& step) { return step.job != 0; };
  EXPECT_TRUE(std::ranges::none_of(node.gpus[0].steps, starts)) << "it begins no more";
  lifecycle.cancel(job, "another");
  EXPECT_EQ(job.record.reason, "cancelled by someone");
}

TEST_F(LifecycleTest, ARebuildPutsWhatHasNotBegunBackIntoTheQueue) {
  LiveJob& runs = running();
  LiveJob& starts = submit("2g.10gb");
  starts.rejected = "as things were";
  EXPECT_EQ(starts.record.state, JobState::starting);
  lifecycle.rebuild("for the test");
  EXPECT_TRUE(node.gpus[0].steps.empty());
  EXPECT_EQ(starts.record.state, JobState::queued);
  EXPECT_FALSE(starts.id);
  EXPECT_FALSE(starts.place);
  EXPECT_FALSE(starts.rejected);
  EXPECT_EQ(runs.record.state, JobState::running);
  EXPECT_FALSE(runs.id);
  think();
  EXPECT_TRUE(runs.place) << "the new engine has adopted it";
  EXPECT_EQ(starts.record.state, JobState::starting);
}

TEST_F(LifecycleTest, EarlyRestartsOfTheDayBeforeAreForgotten) {
  LiveJob& job = node_.add_job(1);
  job.record.early_restarts = {clock.wall() - 25h, clock.wall() - 23h};
  lifecycle.forget_old_restarts(job);
  EXPECT_EQ(job.record.early_restarts, std::vector{clock.wall() - 23h});
}

}  // namespace
}  // namespace cleave
