// Limits of single jobs in the loop: how long they may run, and how much of what they did is kept.

#include <gtest/gtest.h>

#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

/// A job that may run for five seconds, and would run for a minute.
class TimeLimits : public Loop {
 protected:
  TimeLimits() {
    wanted = sized("1g.5gb");
    wanted.spec.time_limit = 5s;
  }
  Duration time_of(JobNumber number, std::size_t attempt) {
    const AttemptRecord record = attempts(number).at(attempt);
    return *record.ended - *record.began;
  }
  /// Its end, which is for good.
  void expect_out_of_time(JobNumber number) {
    EXPECT_EQ(record(number).state, JobState::failed);
    EXPECT_EQ(record(number).reason, "it has run for 5.0 s, its time limit");
    EXPECT_EQ(attempts(number).back().end, AttemptEnd::time_limit);
  }

  NewJob wanted;
};

TEST_F(TimeLimits, StopWhatTakesTooLongForGood) {
  wanted.spec.retries = 3;
  wanted.spec.restartable = true;
  const JobNumber number = submit(wanted, 60s);
  NewJob quick = wanted;
  const JobNumber other = submit(quick, 4s);
  run(30s);
  expect_out_of_time(number);
  EXPECT_EQ(attempts(number).size(), 1U) << "it is not retried";
  EXPECT_GE(time_of(number, 0), 5s);
  EXPECT_LT(time_of(number, 0), 5200ms);
  EXPECT_EQ(record(number).exit_code, 128 + 15);
  EXPECT_EQ(record(other).state, JobState::finished) << "it is quick enough";
}

TEST_F(TimeLimits, LetAJobSaveItsWorkFirst) {
  wanted.spec.checkpoint_signal = 10;
  wanted.spec.checkpoint_grace = 3s;
  const JobNumber number = submit(wanted, 60s);
  const JobNumber saves = submit(wanted, 60s);
  FakeCourse course;
  course.runs = 60s;
  course.saves = 1s;
  jobs.plan({saves, 1}, course);
  run(30s);
  expect_out_of_time(number);
  EXPECT_GE(time_of(number, 0), 8s) << "TERM follows the signal after its grace";
  expect_out_of_time(saves);
  EXPECT_LT(time_of(saves, 0), 7s) << "it ended when it had saved its work";
  EXPECT_EQ(record(saves).exit_code, 0);
}

TEST_F(TimeLimits, HoldForAllRunsThatFailTogether) {
  wanted.spec.retries = 9;
  const JobNumber number = submit(wanted, 60s);
  FakeCourse fails;
  fails.runs = 3s;
  fails.outcome.code = 3;
  for (std::int64_t attempt = 1; attempt < 9; ++attempt) jobs.plan({number, attempt}, fails);
  run(60s);
  expect_out_of_time(number);
  ASSERT_EQ(attempts(number).size(), 2U);
  EXPECT_LT(time_of(number, 1), 2200ms) << "two seconds were left";
  // And where it ends by itself just then, nothing is left to retry with.
  NewJob exact = wanted;
  const JobNumber other = submit(exact, 60s);
  fails.runs = 4999ms;
  jobs.plan({other, 1}, fails);
  jobs.plan({other, 2}, fails);
  run(60s);
  EXPECT_EQ(record(other).state, JobState::failed);
  EXPECT_EQ(record(other).attempts, 2);
}

TEST_F(TimeLimits, BeginAnewOnlyWhereTheWorkWasLostByNoFaultOfTheJobs) {
  wanted.spec.restartable = true;
  NewJob keeps = wanted;
  keeps.spec.progress = Keeps::checkpoint;
  FakeCourse course;
  course.runs = 60s;
  course.lost = 4s;
  const JobNumber anew = submit(wanted, 60s), on = submit(keeps, 60s);
  jobs.plan({anew, 1}, course);
  jobs.plan({on, 1}, course);
  run(60s);
  expect_out_of_time(anew);
  expect_out_of_time(on);
  ASSERT_EQ(attempts(anew).size(), 2U);
  ASSERT_EQ(attempts(on).size(), 2U);
  EXPECT_GE(time_of(anew, 1), 5s);
  EXPECT_LT(time_of(on, 1), 1500ms) << "its work was saved, and so it counts";
}

TEST_F(TimeLimits, GoOnUnderAnotherDaemon) {
  const JobNumber number = submit(wanted, 60s);
  run(3s);
  begin();
  run(1s);
  EXPECT_EQ(record(number).state, JobState::running);
  run(2s);
  expect_out_of_time(number);
  EXPECT_LT(time_of(number, 0), 5500ms);
  // One that is over by then is stopped at once, also where its daemon was about to.
  const JobNumber late = submit(wanted, 60s);
  run(2s);
  control.reset();
  now += 20s;
  jobs.advance_to(Instant{} + now);
  begin();
  run(1s);
  expect_out_of_time(late);
}

TEST_F(TimeLimits, HoldForAJobOfSeveralPlacesAsAWhole) {
  wanted.spec.request.places = 3;
  wanted.spec.asked = text(wanted.spec.request);
  const JobNumber number = submit(wanted, 60s);
  run(30s);
  EXPECT_EQ(record(number).state, JobState::failed);
  EXPECT_EQ(record(number).reason, "it has run for 5.0 s, its time limit");
  EXPECT_EQ(attempts(number).size(), 1U);
  EXPECT_EQ(attempts(number + 2).size(), 1U);
}

TEST_F(Loop, OfAJobThatIsRunAgainAndAgainTheLatestAttemptsAreKept) {
  NewJob wanted = sized("1g.5gb");
  wanted.spec.retries = 1000;
  const JobNumber number = submit(wanted);
  FakeCourse fails;
  fails.runs = 10ms;
  fails.outcome.code = 1;
  for (std::int64_t attempt = 1; attempt < 200; ++attempt) jobs.plan({number, attempt}, fails);
  run(12h);
  const std::int64_t made = record(number).attempts;
  ASSERT_GT(made, most_attempts_kept + 10);
  ASSERT_EQ(std::ssize(attempts(number)), most_attempts_kept);
  EXPECT_EQ(attempts(number).front().key.attempt, made - most_attempts_kept + 1);
  EXPECT_EQ(attempts(number).back().key.attempt, made);
}

}  // namespace
}  // namespace cleave::trial
