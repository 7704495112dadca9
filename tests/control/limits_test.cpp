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

TEST_F(TimeLimits, TellWhatMayGoFirst) {
  settings.scheduler = "online:backfill=easy";
  begin();
  NewJob large = sized("4g.20gb"), small = sized("1g.5gb"), long_one = sized("1g.5gb");
  large.spec.time_limit = 300s;
  small.spec.time_limit = 100s;
  long_one.spec.time_limit = 600s;
  submit(large, 300s);
  run(20s);
  const JobNumber whole = submit(sized("7g.40gb"));
  run(5s);
  const JobNumber unbounded = submit(sized("1g.5gb")), late = submit(long_one),
                  first = submit(small, 50s);
  run(20s);
  EXPECT_EQ(record(first).state, JobState::running) << "it has ended when the large one has";
  EXPECT_EQ(record(late).state, JobState::queued);
  EXPECT_EQ(record(unbounded).state, JobState::queued);
  EXPECT_NE(control->why_waits(whole).find("expected to be free in 4 min"), std::string::npos)
      << control->why_waits(whole);
}

/// Users have two running jobs, or six slices, at most.
class UserLimitsOfTheLoop : public Loop {
 protected:
  UserLimitsOfTheLoop() : Loop({"A100-40GB", "A100-40GB"}) {}
  void limit(std::optional<std::size_t> jobs_of_user, std::optional<std::int64_t> slices) {
    settings.user_limits = {jobs_of_user, slices};
    begin();
  }
  static NewJob of(std::uint32_t uid, NewJob wanted) {
    wanted.owner = {uid, uid, {}, fmt::format("user{}", uid)};
    return wanted;
  }
  bool runs(JobNumber number) { return record(number).state == JobState::running; }
};

TEST_F(UserLimitsOfTheLoop, HoldRunningJobsBackAndNobodyElses) {
  for (const char* scheduler : {"online", "adaptive", "scheme-b"}) {
    settings.scheduler = scheduler;
    limit(2, {});
    const NewJob anns = of(1001, sized("1g.5gb")), bobs = of(1002, sized("1g.5gb"));
    const JobNumber first = submit(anns), second = submit(anns, 30s), third = submit(anns),
                    other = submit(bobs);
    run(5s);
    EXPECT_TRUE(runs(first) && runs(second) && runs(other)) << scheduler;
    EXPECT_EQ(record(third).state, JobState::queued) << scheduler;
    EXPECT_TRUE(control->why_waits(third).starts_with(
        "its user has as many jobs running as the queue allows (2)"))
        << control->why_waits(third);
    run(10s);
    EXPECT_TRUE(runs(third)) << scheduler << ": another has ended";
    run(60s);
  }
}

TEST_F(UserLimitsOfTheLoop, HoldSlicesBackAndNobodyElses) {
  for (const char* scheduler : {"online", "adaptive", "scheme-b"}) {
    settings.scheduler = scheduler;
    limit({}, 6);
    const JobNumber first = submit(of(1001, sized("4g.20gb")), 20s),
                    second = submit(of(1001, sized("3g.20gb")), 20s),
                    third = submit(of(1001, sized("2g.10gb")), 20s),
                    other = submit(of(1002, sized("4g.20gb")), 20s);
    run(5s);
    EXPECT_TRUE(runs(first) && runs(other)) << scheduler;
    EXPECT_FALSE(runs(second)) << scheduler;
    EXPECT_FALSE(runs(third)) << scheduler << ": a user's jobs keep their order";
    EXPECT_TRUE(
        control->why_waits(second).starts_with("its user may hold 6 compute slices, and has 4"))
        << control->why_waits(second);
    run(30s);
    EXPECT_TRUE(runs(second) && runs(third)) << scheduler;
    run(60s);
    const auto refused = control->submit(of(1001, sized("7g.40gb")), moment());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "it takes 7 compute slices, and a user may hold 6");
    NewJob several = of(1001, sized("2g.10gb"));
    several.spec.request.places = 4;
    EXPECT_FALSE(control->submit(several, moment())) << "eight in all";
    several.spec.request.places = 3;
    const JobNumber three = submit(several);
    run(5s);
    EXPECT_TRUE(runs(three)) << control->why_waits(three);
    run(60s);
  }
}

TEST_F(UserLimitsOfTheLoop, GiveAJobWithoutASizeWhatIsLeft) {
  settings.scheduler = "adaptive";
  limit({}, 3);
  for (int i = 0; i < 3; ++i) submit(of(1001, job()), 60s);
  run(10s);
  std::int64_t slices = 0;
  for (const JobNumber number : {1, 2, 3})
    for (const AttemptRecord& attempt : attempts(number))
      if (!attempt.ended) slices += attempt.profile[0] - '0';
  EXPECT_GT(slices, 0);
  EXPECT_LE(slices, 3);
}

TEST_F(UserLimitsOfTheLoop, AreChangedByAReloadAndRefusedWhereNoQueueHoldsThem) {
  settings.scheduler = "online";
  limit(1, {});
  const NewJob anns = of(1001, sized("1g.5gb"));
  submit(anns, 60s);
  const JobNumber second = submit(anns, 60s);
  run(5s);
  EXPECT_FALSE(runs(second));
  EXPECT_FALSE(control->set_scheduler("miso", moment())) << "it knows no limits of users";
  settings.user_limits = {};
  EXPECT_TRUE(control->reload(settings, moment()));
  run(5s);
  EXPECT_TRUE(runs(second));
  ControlSettings shared = settings;
  ASSERT_TRUE(control->set_scheduler("scheme-a", moment()));
  run(5s);
  shared.user_limits.slices = 4;
  const auto refused = control->reload(shared, moment());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("it knows no limits"), std::string::npos)
      << refused.error().text();
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
