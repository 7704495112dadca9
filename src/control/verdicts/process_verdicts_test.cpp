// What the end of a process means, case by case.

#include "control/verdicts/process_verdicts.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "base/format.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;
using Kind = JobVerdict::Kind;
using End = ProcessOutcome::End;

ProcessOutcome exited(int code) {
  ProcessOutcome outcome;
  outcome.code = code;
  return outcome;
}

ProcessOutcome signalled(int number) {
  ProcessOutcome outcome = exited(number);
  outcome.end = End::signalled;
  return outcome;
}

ProcessOutcome unstartable(std::string reason) {
  ProcessOutcome outcome;
  outcome.end = End::not_started;
  outcome.reason = std::move(reason);
  return outcome;
}

/// Job 1, of which attempt 1 runs and counts.
LiveJob running() {
  LiveJob job;
  job.record.number = 1;
  job.record.attempts = 1;
  job.record.state = JobState::running;
  LiveAttempt& attempt = job.attempts[1];
  attempt.record.key = {1, 1};
  attempt.record.began = Instant{} + 1s;
  job.main = 1;
  return job;
}

/// Where attempt 2 has taken over from attempt 1, or with `replica` is about to.
LiveJob moving(bool replica = false) {
  LiveJob job = running();
  job.attempts[2].record.key = {1, 2};
  job.attempts[2].record.began = Instant{} + 2s;
  if (replica) {
    job.replica = 2;
  } else {
    job.main = 2;
  }
  return job;
}

LiveAttempt& first_attempt(LiveJob& job) {
  return job.attempts.at(1);
}

AttemptVerdict judge(const LiveJob& job, const ProcessOutcome& outcome, std::int64_t attempt = 1) {
  static constexpr std::array<int, 1> codes = {77};
  return judge_end(job, attempt, outcome, {codes, "2g.10gb@0 of GPU 3"});
}

/// One line: what becomes of the attempt and of the job.
std::string text(const AttemptVerdict& verdict) {
  static constexpr std::array<std::string_view, 9> kinds = {
      "nothing",  "finish",      "wait again",  "retry",  "larger instance",
      "carry on", "start later", "start again", "rebuild"};
  const JobVerdict& job = verdict.job;
  std::string line =
      fmt::format("{}, {}", name(verdict.end), kinds[static_cast<std::size_t>(job.kind)]);
  if (job.kind == Kind::finish) line += fmt::format(" {}", name(job.state));
  if (job.exit_code) line += fmt::format(" {}", *job.exit_code);
  if (!job.reason.empty()) line += fmt::format(": {}", job.reason);
  return line;
}

TEST(ExitCode, IsTheStatusOrTheSignalBehind128) {
  EXPECT_EQ(exit_code_of(exited(3)), 3);
  EXPECT_EQ(exit_code_of(signalled(9)), 137);
  EXPECT_EQ(exit_code_of(unstartable("no such file")), std::nullopt);
}

TEST(JudgeEnd, OneThatEndedWellIsFinishedAndItsNeedIsRemembered) {
  const AttemptVerdict verdict = judge(running(), exited(0));
  EXPECT_EQ(text(verdict), "ended-itself, finish finished 0");
  EXPECT_EQ(verdict.exit_code, 0);
  EXPECT_EQ(verdict.why, in_words(exited(0)));
  EXPECT_TRUE(verdict.job.remembers_need);
}

TEST(JudgeEnd, OneThatFailedHasFailed) {
  const AttemptVerdict verdict = judge(running(), exited(3));
  EXPECT_EQ(text(verdict), "ended-itself, finish failed 3: it exited with 3");
  EXPECT_FALSE(verdict.job.remembers_need);
  EXPECT_EQ(text(judge(running(), signalled(11))),
            fmt::format("ended-itself, finish failed 139: it {}", in_words(signalled(11))));
}

TEST(JudgeEnd, AReplicaIsStartedAgainWhateverItsCode) {
  LiveJob job = running();
  job.record.spec.service.emplace();
  job.record.spec.progress = Keeps::stateless;
  for (const int code : {0, 3})
    EXPECT_EQ(text(judge(job, exited(code))),
              fmt::format("ended-itself, start again: it exited with {}, and is started again "
                          "after 1.0 s",
                          code));
  EXPECT_EQ(text(judge(job, unstartable("no such file"))),
            "not-started, start again: it could not be started: no such file, and is started again "
            "after 1.0 s");
  job.quick_ends = 6;
  EXPECT_EQ(judge(job, exited(3)).job.delay, 64s);
  job.quick_ends = 1'000'000;
  EXPECT_EQ(judge(job, exited(3)).job.delay, longest_restart_delay);
  ProcessOutcome late = exited(3);
  late.lasted = long_run;
  EXPECT_EQ(judge(job, late).job.delay, first_restart_delay);
  EXPECT_EQ(judge(job, late).job.quick_ends, 1);
  job.record.cancelled = true;
  EXPECT_EQ(text(judge(job, exited(3))), "ended-itself, finish cancelled 3");
}

TEST(JudgeEnd, ALeaseThatIsGivenBackIsFinished) {
  LiveJob job = running();
  job.record.spec.lease.emplace();
  first_attempt(job).record.end = AttemptEnd::idle;
  first_attempt(job).record.why = "it did no GPU work";
  ProcessOutcome stopped = exited(0);
  stopped.stopped = true;
  EXPECT_EQ(text(judge(job, stopped)), "ended-itself, finish finished 0: it did no GPU work");
  EXPECT_FALSE(judge(job, stopped).job.remembers_need);
}

TEST(JudgeEnd, RetriesAreTakenWhileThereAreSome) {
  LiveJob job = running();
  job.record.spec.retries = 2;
  EXPECT_EQ(text(judge(job, exited(3))),
            "ended-itself, retry: it exited with 3; attempt 2 of 3 follows");
  job.record.failures = 1;
  EXPECT_EQ(text(judge(job, exited(3))),
            "ended-itself, retry: it exited with 3; attempt 3 of 3 follows");
  job.record.failures = 2;
  EXPECT_EQ(text(judge(job, exited(3))), "ended-itself, finish failed 3: it exited with 3");
}

TEST(JudgeEnd, OneThatWasStoppedIsNotFinishedThoughItEndedWell) {
  LiveJob job = running();
  ProcessOutcome stopped = exited(0);
  stopped.stopped = true;
  EXPECT_EQ(text(judge(job, stopped)), "ended-itself, finish failed 0: it exited with 0");
  first_attempt(job).record.end = AttemptEnd::made_room;
  first_attempt(job).record.why = "the scheduler needed its place";
  EXPECT_EQ(text(judge(job, stopped)), "ended-itself, carry on: the scheduler needed its place");
  EXPECT_EQ(text(judge(job, exited(0))), "ended-itself, finish finished 0")
      << "it had done its work before it was told";
  first_attempt(job).stop_at = 30s;
  EXPECT_EQ(text(judge(job, exited(0))), "ended-itself, carry on: the scheduler needed its place")
      << "after a checkpoint signal it has more to do";
}

TEST(JudgeEnd, OneThatWasToldToSaveIsNotFinishedThoughItWasCancelledThen) {
  LiveJob job = running();
  job.record.cancelled = true;
  job.record.reason = "cancelled by someone";
  first_attempt(job).record.end = AttemptEnd::cancelled;
  first_attempt(job).record.why = "cancelled by someone";
  EXPECT_EQ(text(judge(job, exited(0))), "ended-itself, finish finished 0")
      << "it had done its work before it was told";
  first_attempt(job).record.told_to_save = true;
  EXPECT_EQ(text(judge(job, exited(0))), "ended-itself, finish cancelled 0: cancelled by someone");
}

TEST(JudgeEnd, WhatAnOlderStoreDoesNotKnowOfMayHaveHadACheckpointSignal) {
  LiveJob job = running();
  job.record.spec.progress = Keeps::checkpoint;
  first_attempt(job).record.end = AttemptEnd::lost;
  first_attempt(job).record.why = "not known";
  EXPECT_EQ(text(judge(job, exited(0))), "ended-itself, finish finished 0") << "it takes none";
  job.record.spec.checkpoint_signal = 10;
  EXPECT_EQ(text(judge(job, exited(0))), "ended-itself, wait again: not known");
  ProcessOutcome reported = exited(0);
  reported.reports = {{7, {10, 10, MiB{1}, MiB{1}}}};
  EXPECT_EQ(text(judge(job, reported)), "ended-itself, finish finished 0");
  first_attempt(job).watched = true;
  EXPECT_EQ(text(judge(job, exited(0))), "ended-itself, finish finished 0")
      << "it ended as its GPU was lost, and was told nothing";
  first_attempt(job).watched = false;
  job.record.spec.progress = Keeps::nothing;
  EXPECT_EQ(text(judge(job, exited(0))), "ended-itself, finish finished 0")
      << "one that may not be restarted goes on later never";
}

TEST(JudgeEnd, AfterACheckpointSignalOnlyTheLastReportShowsThatAllIsDone) {
  LiveJob job = running();
  job.record.spec.progress = Keeps::checkpoint;
  job.record.spec.checkpoint_signal = 10;
  first_attempt(job).record.end = AttemptEnd::moved;
  first_attempt(job).record.why = "it is moved";
  EXPECT_EQ(text(judge(job, exited(0))), "ended-itself, carry on: it is moved")
      << "an earlier daemon may have sent the signal";
  ProcessOutcome reported = exited(0);
  reported.reports = {{7, {9, 10, MiB{1}, MiB{1}}}};
  EXPECT_EQ(text(judge(job, reported)), "ended-itself, carry on: it is moved");
  reported.reports = {{8, {10, 10, MiB{1}, MiB{1}}}};
  EXPECT_EQ(text(judge(job, reported)), "ended-itself, finish finished 0");
  reported.stopped = true;
  EXPECT_EQ(text(judge(job, reported)), "ended-itself, finish finished 0");
  reported.code = 1;
  EXPECT_EQ(text(judge(job, reported)), "ended-itself, carry on: it is moved");
  reported.code = 0;
  reported.reports[0].report.iterations.reset();
  EXPECT_EQ(text(judge(job, reported)), "ended-itself, carry on: it is moved");
}

TEST(JudgeEnd, OneThatIsBeingStoppedDoesWhatItWasStoppedFor) {
  struct Row {
    AttemptEnd end;
    bool restartable, began, cancelled;
    std::int64_t retries;
    std::string_view expected;
  };
  const Row rows[] = {
      {AttemptEnd::early_restart, true, true, false, 0, "carry on: why"},
      {AttemptEnd::made_room, false, true, false, 0, "carry on: why"},
      {AttemptEnd::moved, false, true, false, 0, "carry on: why"},
      {AttemptEnd::lost, true, true, false, 0, "wait again: why"},
      {AttemptEnd::lost, false, false, false, 0, "wait again: why"},
      {AttemptEnd::lost, false, true, false, 1, "retry: why; attempt 2 of 2 follows"},
      {AttemptEnd::lost, false, true, false, 0,
       "finish failed 143: why; submit it with --restartable or --retry to have it run again"},
      {AttemptEnd::lost, true, true, true, 0, "finish cancelled 143: cancelled by someone"},
      {AttemptEnd::cancelled, false, true, true, 0, "finish cancelled 143: cancelled by someone"},
  };
  for (const Row& row : rows) {
    LiveJob job = running();
    job.record.spec.restartable = row.restartable;
    job.record.spec.retries = row.retries;
    job.record.cancelled = row.cancelled;
    if (row.cancelled) job.record.reason = "cancelled by someone";
    if (!row.began) first_attempt(job).record.began.reset();
    first_attempt(job).record.end = row.end;
    first_attempt(job).record.why = "why";
    EXPECT_EQ(text(judge(job, signalled(15))), fmt::format("ended-itself, {}", row.expected))
        << name(row.end) << (row.restartable ? ", restartable" : "")
        << (row.began ? "" : ", not begun");
  }
}

TEST(JudgeEnd, ACancelledJobIsOverWithItsLastAttempt) {
  LiveJob job = moving();
  job.record.cancelled = true;
  for (auto& [number, attempt] : job.attempts) attempt.record.end = AttemptEnd::cancelled;
  EXPECT_EQ(judge(job, signalled(15)).job.kind, Kind::nothing) << "the other one still runs";
  job.attempts.erase(2);
  job.main = 1;
  EXPECT_EQ(text(judge(job, signalled(15))), "ended-itself, finish cancelled 143");
}

TEST(JudgeEnd, OneThatFailsByItselfAfterItWasCancelledIsCancelled) {
  LiveJob job = running();
  job.record.cancelled = true;
  job.record.reason = "cancelled by someone";
  job.record.spec.retries = 5;
  EXPECT_EQ(text(judge(job, exited(1))), "ended-itself, finish cancelled 1: cancelled by someone");
}

TEST(JudgeEnd, AfterAFinalJobNothingFollows) {
  for (const JobState state : {JobState::finished, JobState::failed, JobState::cancelled}) {
    LiveJob job = running();
    job.record.state = state;
    EXPECT_EQ(judge(job, exited(0)).job, JobVerdict{});
    EXPECT_EQ(judge(job, unstartable("why")).job, JobVerdict{});
    EXPECT_EQ(judge_lost(job, 1, {0, ""}).job, JobVerdict{});
    EXPECT_EQ(judge_not_started(job, 1, "why").job, JobVerdict{});
  }
}

TEST(JudgeEnd, OneThatRunsOutOfMemoryGetsALargerInstanceIfItMayBeRestarted) {
  LiveJob job = running();
  ProcessOutcome starved = exited(1);
  starved.out_of_memory = OutOfMemorySeen{"pytorch", MiB{512}};
  EXPECT_EQ(text(judge(job, starved)),
            "out-of-memory, finish failed 1: it ran out of memory on 2g.10gb@0 of GPU 3; submit it "
            "with --restartable, or ask for more");
  job.record.spec.restartable = true;
  EXPECT_EQ(text(judge(job, starved)),
            "out-of-memory, larger instance 1: it ran out of memory on 2g.10gb@0 of GPU 3 and "
            "waits for a larger instance");
  first_attempt(job).record.end = AttemptEnd::made_room;
  EXPECT_EQ(judge(job, starved).job.kind, Kind::carry_on) << "it is being stopped anyway";
}

TEST(JudgeEnd, AnAttemptBesideTheOneThatCountsLeavesTheJobAlone) {
  LiveJob job = moving();
  EXPECT_EQ(text(judge(job, exited(1))), "ended-itself, rebuild: a replica failed");
  EXPECT_EQ(text(judge(job, exited(77))), "ended-itself, rebuild: a replica failed")
      << "its memory is of no interest";
  EXPECT_EQ(text(judge(job, unstartable("no such file"))),
            "not-started, rebuild: a replica was not started");
  EXPECT_EQ(text(judge(job, exited(0))), "ended-itself, finish finished 0");
  first_attempt(job).record.end = AttemptEnd::moved;
  EXPECT_EQ(text(judge(job, exited(1))), "ended-itself, nothing");
}

TEST(JudgeEnd, AReplicaThatEndsWellHasNotDoneTheJobsWork) {
  EXPECT_EQ(text(judge(moving(true), exited(0), 2)), "ended-itself, rebuild: a replica failed");
}

TEST(JudgeEnd, OneThatCannotBeStartedHasFailed) {
  const AttemptVerdict verdict = judge(running(), unstartable("no such user"));
  EXPECT_EQ(text(verdict), "not-started, finish failed: it could not be started: no such user");
  EXPECT_EQ(verdict.why, "no such user");
  EXPECT_EQ(verdict.exit_code, std::nullopt);
  LiveJob job = running();
  first_attempt(job).record.end = AttemptEnd::early_restart;
  first_attempt(job).record.why = "why";
  EXPECT_EQ(text(judge(job, unstartable("no such user"))), "not-started, carry on: why");
}

TEST(OutOfMemory, IsSeenReportedOrMeantByTheExitStatus) {
  constexpr std::array<int, 2> codes = {77, 78};
  JobSpec spec;
  LiveAttempt attempt;
  EXPECT_FALSE(ran_out_of_memory(spec, attempt, exited(1), codes));
  EXPECT_TRUE(ran_out_of_memory(spec, attempt, exited(78), codes));
  EXPECT_FALSE(ran_out_of_memory(spec, attempt, exited(78), {}));
  spec.out_of_memory_code = 5;
  EXPECT_TRUE(ran_out_of_memory(spec, attempt, exited(5), codes));
  EXPECT_FALSE(ran_out_of_memory(spec, attempt, exited(6), codes));
  attempt.beyond = true;
  EXPECT_TRUE(ran_out_of_memory(spec, attempt, exited(6), codes));
  EXPECT_TRUE(ran_out_of_memory(spec, attempt, signalled(9), codes));
  EXPECT_FALSE(ran_out_of_memory(spec, attempt, exited(0), codes)) << "it ended well";
  EXPECT_FALSE(ran_out_of_memory(spec, attempt, unstartable("why"), codes));
  attempt.beyond = false;
  ProcessOutcome seen = exited(6);
  seen.out_of_memory = OutOfMemorySeen{"pytorch", MiB{1}};
  EXPECT_TRUE(ran_out_of_memory(spec, attempt, seen, codes));
}

TEST(Doubt, OnlyAFailureThatTheGpuMayHaveCausedIsDoubtful) {
  constexpr std::array<int, 1> codes = {77};
  LiveJob job = running();
  ManagedGpu gpu;
  const auto doubtful = [&](const ProcessOutcome& outcome) {
    return is_doubtful(job, first_attempt(job), outcome, gpu, codes);
  };
  EXPECT_TRUE(doubtful(exited(1)));
  EXPECT_TRUE(doubtful(signalled(6)));
  EXPECT_FALSE(doubtful(exited(0)));
  EXPECT_FALSE(doubtful(unstartable("why")));
  EXPECT_FALSE(doubtful(exited(77))) << "its memory was the reason";
  ProcessOutcome stopped = exited(1);
  stopped.stopped = true;
  EXPECT_FALSE(doubtful(stopped));

  gpu.lost = true;
  EXPECT_FALSE(doubtful(exited(1))) << "the GPU is known to be lost";
  gpu.lost = false;
  gpu.hung = true;
  EXPECT_FALSE(doubtful(exited(1))) << "the GPU would not answer";
  gpu.hung = false;

  first_attempt(job).placed = false;
  EXPECT_FALSE(doubtful(exited(1)));
  first_attempt(job).placed = true;
  first_attempt(job).record.end = AttemptEnd::lost;
  EXPECT_FALSE(doubtful(exited(1)));
  first_attempt(job).record.end.reset();
  job.record.cancelled = true;
  EXPECT_FALSE(doubtful(exited(1)));
  job.record.cancelled = false;
  job.record.state = JobState::failed;
  EXPECT_FALSE(doubtful(exited(1)));
}

TEST(AnotherCounts, WhereTheMainAttemptIsAnotherAndGoesOn) {
  EXPECT_FALSE(another_counts(running(), 1));
  LiveJob job = moving();
  EXPECT_TRUE(another_counts(job, 1));
  EXPECT_FALSE(another_counts(job, 2));
  job.attempts.at(2).record.end = AttemptEnd::lost;
  EXPECT_FALSE(another_counts(job, 1));
  job.main.reset();
  EXPECT_FALSE(another_counts(job, 1));
}

TEST(JudgeLost, TheJobRunsAgainAsItMay) {
  LiveJob job = running();
  EXPECT_EQ(text(judge_lost(job, 1, {0, ""})),
            "lost, finish failed: its supervisor was killed; submit it with --restartable or "
            "--retry to have it run again");
  job.record.spec.retries = 1;
  EXPECT_EQ(text(judge_lost(job, 1, {0, ""})),
            "lost, retry: its supervisor was killed; attempt 2 of 2 follows");
  for (const Keeps keeps : {Keeps::stateless, Keeps::checkpoint}) {
    LiveJob goes_on = running();
    goes_on.record.spec.progress = keeps;
    EXPECT_EQ(text(judge_lost(goes_on, 1, {0, ""})), "lost, wait again: its supervisor was killed")
        << name(keeps);
  }
  job.record.spec.restartable = true;
  EXPECT_EQ(text(judge_lost(job, 1, {0, ""})), "lost, wait again: its supervisor was killed");
  EXPECT_EQ(judge_lost(job, 1, {3, "they would not go"}).why,
            "its supervisor was killed, and 3 processes with it (they would not go)");
  EXPECT_EQ(judge_lost(job, 1, {0, ""}).exit_code, std::nullopt);
}

TEST(JudgeLost, OneThatNeverBeganIsNotAtFault) {
  LiveJob job = running();
  first_attempt(job).record.began.reset();
  EXPECT_EQ(text(judge_lost(job, 1, {0, ""})), "lost, wait again: its supervisor was killed");
}

TEST(JudgeLost, WhatItWasStoppedForIsStronger) {
  LiveJob job = running();
  first_attempt(job).record.end = AttemptEnd::made_room;
  first_attempt(job).record.why = "the scheduler needed its place";
  EXPECT_EQ(text(judge_lost(job, 1, {0, ""})), "lost, carry on: the scheduler needed its place");
  EXPECT_EQ(text(judge_lost(moving(), 1, {0, ""})), "lost, rebuild: a replica was lost");
}

TEST(JudgeNotStarted, IsTriedAgainTwiceAndLaterEachTime) {
  LiveJob job = running();
  const AttemptVerdict once = judge_not_started(job, 1, "the disk is full");
  EXPECT_EQ(text(once),
            "not-started, start later: it could not be started and is tried again: the disk is "
            "full");
  EXPECT_EQ(once.job.delay, 2s);
  job.not_started = 1;
  EXPECT_EQ(judge_not_started(job, 1, "the disk is full").job.delay, 4s);
  job.not_started = 2;
  EXPECT_EQ(text(judge_not_started(job, 1, "the disk is full")),
            "not-started, finish failed: it could not be started: the disk is full");
}

TEST(JudgeLost, WhatRunsAgainWaitsLongerEachTimeUnlessItRanForLong) {
  LiveJob job = running();
  job.record.spec.restartable = true;
  job.record.spec.retries = 1000;
  ProcessOutcome failed;
  failed.code = 1;
  failed.lasted = 1s;
  Duration expected = 1s;
  for (job.quick_ends = 0; job.quick_ends < 100; ++job.quick_ends) {
    EXPECT_EQ(judge_lost(job, 1, {0, ""}, 1s).job.delay, expected);
    EXPECT_EQ(judge_lost(job, 1, {0, ""}).job.delay, expected);
    EXPECT_EQ(judge_end(job, 1, failed, {{}, "there"}).job.delay, expected);
    expected = std::min<Duration>(expected * 2, 5min);
  }
  failed.lasted = long_run;
  EXPECT_EQ(judge_end(job, 1, failed, {{}, "there"}).job.delay, 1s);
  EXPECT_EQ(judge_lost(job, 1, {0, ""}, long_run).job.quick_ends, 1);
}

TEST(JudgeNotStarted, AShortageOfTheHostIsNoFailedStart) {
  LiveJob job = running();
  job.not_started = 2;
  for (const int code : {EAGAIN, ENOMEM, ENOSPC, EMFILE, ENFILE, EDQUOT, ENOBUFS, EIO, ETIMEDOUT}) {
    const JobVerdict verdict = judge_not_started(job, 1, "refused", code).job;
    EXPECT_EQ(verdict.kind, JobVerdict::Kind::start_later) << code;
    EXPECT_EQ(verdict.short_of, code);
  }
  for (const int code : {0, ENOENT, EACCES, EPERM, E2BIG, ENOEXEC, ELOOP})
    EXPECT_EQ(judge_not_started(job, 1, "refused", code).job.kind, JobVerdict::Kind::finish);
  EXPECT_EQ(
      text(judge_not_started(job, 1, "mkdir: No space left", ENOSPC)),
      "not-started, start later: it waits, since a disk is full, or has no inodes left, and is "
      "tried again after 1.0 s: mkdir: No space left");
}

TEST(JudgeNotStarted, TheDelayOfAShortageDoublesUpToFiveMinutes) {
  LiveJob job = running();
  Duration expected = 1s;
  for (job.short_starts = 0; job.short_starts < 100; ++job.short_starts) {
    EXPECT_EQ(judge_not_started(job, 1, "refused", EMFILE).job.delay, expected);
    expected = std::min<Duration>(expected * 2, 5min);
  }
}

TEST(JudgeNotStarted, WhatItWasStoppedForIsStronger) {
  LiveJob job = running();
  first_attempt(job).record.end = AttemptEnd::lost;
  first_attempt(job).record.why = "GPU 0 was lost";
  first_attempt(job).record.began.reset();
  EXPECT_EQ(text(judge_not_started(job, 1, "why")), "not-started, wait again: GPU 0 was lost");
  EXPECT_EQ(text(judge_not_started(moving(), 1, "why")),
            "not-started, rebuild: a replica was not started");
}

TEST(MayReplace, OnlyTheEndOfTheJobIsStrongerThanWhatIsRecorded) {
  EXPECT_TRUE(may_replace(std::nullopt, AttemptEnd::lost));
  EXPECT_FALSE(may_replace(AttemptEnd::made_room, AttemptEnd::lost));
  EXPECT_TRUE(may_replace(AttemptEnd::made_room, AttemptEnd::cancelled));
  EXPECT_FALSE(may_replace(AttemptEnd::cancelled, AttemptEnd::cancelled));
}

TEST(SignalsFirst, WhereTheJobGoesOnLaterAndWantsToBeTold) {
  JobSpec spec;
  spec.checkpoint_signal = 10;
  LiveAttempt attempt;
  attempt.record.began = Instant{} + 1s;
  for (const AttemptEnd end : {AttemptEnd::early_restart, AttemptEnd::made_room})
    EXPECT_TRUE(signals_first(spec, attempt, end));
  for (const AttemptEnd end : {AttemptEnd::cancelled, AttemptEnd::lost, AttemptEnd::moved})
    EXPECT_FALSE(signals_first(spec, attempt, end));
  spec.progress = Keeps::checkpoint;
  EXPECT_TRUE(signals_first(spec, attempt, AttemptEnd::moved));
  spec.progress = Keeps::stateless;
  EXPECT_FALSE(signals_first(spec, attempt, AttemptEnd::moved)) << "its replica has taken over";
  attempt.record.began.reset();
  EXPECT_FALSE(signals_first(spec, attempt, AttemptEnd::made_room)) << "it has done nothing yet";
  attempt.record.began = Instant{};
  spec.checkpoint_signal = 0;
  EXPECT_FALSE(signals_first(spec, attempt, AttemptEnd::made_room));
}

TEST(StepOfMove, IsBesideAfterOrWithoutTheProcess) {
  LiveJob job = running();
  job.record.spec.movable = true;
  EXPECT_EQ(step_of_move(job), GpuStep::Kind::replica);
  job.record.spec.progress = Keeps::stateless;
  EXPECT_EQ(step_of_move(job), GpuStep::Kind::replica);
  job.record.spec.progress = Keeps::checkpoint;
  EXPECT_EQ(step_of_move(job), GpuStep::Kind::hand_over);
  first_attempt(job).record.end = AttemptEnd::moved;
  EXPECT_EQ(step_of_move(job), GpuStep::Kind::start) << "it is on its way out already";
  job.attempts.clear();
  job.main.reset();
  EXPECT_EQ(step_of_move(job), GpuStep::Kind::start);
}

TEST(Waits, WhereNoAttemptCountsAnyMore) {
  LiveJob job;
  EXPECT_TRUE(waits(job));
  job.not_before = 5s;
  EXPECT_FALSE(waits(job));
  job.not_before.reset();
  job.record.cancelled = true;
  EXPECT_FALSE(waits(job));
  job.record.cancelled = false;
  job.record.state = JobState::finished;
  EXPECT_FALSE(waits(job));
  job = running();
  EXPECT_FALSE(waits(job));
  for (const AttemptEnd end :
       {AttemptEnd::early_restart, AttemptEnd::made_room, AttemptEnd::moved}) {
    first_attempt(job).record.end = end;
    EXPECT_TRUE(waits(job)) << name(end);
  }
  for (const AttemptEnd end : {AttemptEnd::lost, AttemptEnd::cancelled}) {
    first_attempt(job).record.end = end;
    EXPECT_FALSE(waits(job)) << name(end);
  }
}

/// A job of two processes that run, of which each has ended with this verdict on it.
struct Pair {
  Pair() {
    for (LiveJob* each : {&first, &second}) each->record.spec.request.places = 2;
    second.record.number = 2;
    second.record.leader = 1;
  }
  void ends(LiveJob& process, Kind kind, JobState state = JobState::queued) {
    AttemptVerdict verdict;
    verdict.job = {.kind = kind, .state = state, .reason = "why"};
    process.attempts.at(1).over = EndedProcess{verdict, {}};
  }
  [[nodiscard]] JobVerdict judged() const { return judge_run(first, std::array{&first, &second}); }

  LiveJob first = running(), second = running();
};

TEST(Runs, AreDoneWhenEachProcessHasDoneItsWork) {
  Pair pair;
  pair.ends(pair.first, Kind::finish, JobState::finished);
  pair.ends(pair.second, Kind::finish, JobState::finished);
  EXPECT_EQ(pair.judged().state, JobState::finished);
  EXPECT_EQ(pair.judged().exit_code, 0);
  pair.ends(pair.second, Kind::carry_on);
  EXPECT_NE(pair.judged().state, JobState::finished) << "the second was stopped";
  pair.second.attempts.clear();
  EXPECT_NE(pair.judged().state, JobState::finished) << "of the second there is no trace";
}

TEST(Runs, NameTheProcessOnWhichTheyEnd) {
  Pair pair;
  EXPECT_EQ(text(judge(pair.second, exited(7))),
            "ended-itself, finish failed 7: process 1 exited with 7");
  EXPECT_EQ(judge_not_started(pair.second, 1, "no such file").job.reason,
            "process 1 could not be started and is tried again: no such file");
  ProcessOutcome starved = exited(1);
  starved.out_of_memory = OutOfMemorySeen{"cuda", {}};
  EXPECT_EQ(judge(pair.second, starved).job.reason.find("process 1 ran out of memory on"), 0U);
  pair.first.record.spec.request.wanted = WholeGpu{};
  EXPECT_EQ(judge(pair.first, exited(7)).job.reason, "it exited with 7") << "it is the only one";
}

TEST(Runs, OfWholeGpusAreDoneWithTheFirstProcess) {
  Pair pair;
  for (LiveJob* each : {&pair.first, &pair.second}) each->record.spec.request.wanted = WholeGpu{};
  pair.ends(pair.first, Kind::finish, JobState::finished);
  EXPECT_EQ(pair.judged().state, JobState::finished) << "the other has none";
}

TEST(Runs, AreNotRepeatedWhereSomeOfThemRanAndMayNotRunTwice) {
  Pair pair;
  pair.first.run_end = JobVerdict{.kind = Kind::start_later, .reason = "why", .delay = 2s};
  EXPECT_EQ(pair.judged().kind, Kind::finish);
  EXPECT_EQ(pair.judged().state, JobState::failed);
  EXPECT_NE(pair.judged().reason.find("--restartable"), std::string::npos);
  pair.first.record.spec.retries = 1;
  EXPECT_EQ(pair.judged().kind, Kind::retry);
  pair.first.record.spec.restartable = true;
  EXPECT_EQ(pair.judged(), *pair.first.run_end);
  pair.first.record.spec.restartable = false;
  for (LiveJob* each : {&pair.first, &pair.second}) each->attempts.at(1).record.began.reset();
  EXPECT_EQ(pair.judged(), *pair.first.run_end) << "nothing of it ran";
}

TEST(Runs, AreDecidedByTheProcessThatWasNotStoppedOnAccountOfAnother) {
  Pair pair;
  const LiveAttempt& attempt = first_attempt(pair.first);
  AttemptVerdict verdict;
  EXPECT_FALSE(decides(pair.first, attempt, verdict)) << "nothing becomes of the job";
  verdict.job = {.kind = Kind::finish, .state = JobState::finished};
  EXPECT_FALSE(decides(pair.first, attempt, verdict)) << "it has done its work";
  verdict.job.state = JobState::failed;
  EXPECT_TRUE(decides(pair.first, attempt, verdict));
  first_attempt(pair.first).record.end = AttemptEnd::gang;
  EXPECT_FALSE(decides(pair.first, attempt, verdict));
}

TEST(Runs, AreDecidedByAHeldGpuOnlyWhereItIsLost) {
  Pair pair;
  pair.second.record.spec.request.wanted = WholeGpu{};
  const LiveAttempt& held = first_attempt(pair.second);
  AttemptVerdict verdict;
  verdict.job = {.kind = Kind::finish, .state = JobState::cancelled};
  verdict.end = AttemptEnd::cancelled;
  EXPECT_FALSE(decides(pair.second, held, verdict));
  verdict.end = AttemptEnd::lost;
  EXPECT_TRUE(decides(pair.second, held, verdict));
}

TEST(EarlyRestarts, CountForADay) {
  const Instant now = Instant{} + 100h;
  const std::vector<Instant> restarts = {now - 25h, now - 24h, now - 1h};
  EXPECT_EQ(restarts_of_last_day(restarts, now), (std::vector{now - 24h, now - 1h}));
  EXPECT_TRUE(may_restart_early(restarts, now, 3));
  EXPECT_FALSE(may_restart_early(restarts, now, 2));
  EXPECT_FALSE(may_restart_early({}, now, 0));
  EXPECT_TRUE(may_restart_early({}, now, 1));
}

}  // namespace
}  // namespace cleave
