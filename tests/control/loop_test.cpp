// What the loop does in single cases, on a clock of its own; that nothing is lost is for
// daemon_seeds_test.

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "forecast/time/application_times.hpp"
#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

TEST_F(Loop, AJobThatEndsWellIsFinished) {
  const JobNumber number = submit(sized("2g.10gb"));
  run(5s);
  EXPECT_EQ(record(number).state, JobState::running);
  EXPECT_EQ(attempts(number).front().profile, "2g.10gb");
  run(20s);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_EQ(record(number).exit_code, 0);
}

TEST_F(Loop, ARequestBySizeIsRaisedToWhatItsKernelNeeds) {
  NewJob wanted = job({BySize{MiB{4000}, {1}}, {}});
  wanted.spec.kernel = StatedKernel{{200}, {256}, 40, 0};
  const JobNumber number = submit(wanted);
  run(5s);
  ASSERT_EQ(attempts(number).size(), 1U);
  EXPECT_TRUE(std::get<BySize>(record(number).spec.request.wanted) ==
              (BySize{MiB{4000}, ComputeSlices{3}}))
      << "34 SMs";
  EXPECT_TRUE(attempts(number)[0].profile.ends_with("g.20gb")) << attempts(number)[0].profile;
  EXPECT_EQ(record(number).spec.kernel, wanted.spec.kernel);
  EXPECT_EQ(
      record(number).spec.asked,
      wanted.spec.asked + ", and 3 compute slices for 200 blocks of 256 threads, 40 registers");
  run(20s);
  wanted.spec.request.wanted = BySize{MiB{4000}, {4}};
  const JobNumber more = submit(wanted);
  run(5s);
  EXPECT_EQ(attempts(more).at(0).profile, "4g.20gb") << "what is asked for stays the least";
  wanted.spec.kernel->threads = {64, 64};
  const auto refused = control->submit(wanted, moment());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(refused.error().place, "kernel");
  EXPECT_NE(refused.error().text().find("threads of a block"), std::string::npos)
      << refused.error().text();
}

TEST_F(Loop, WhatNoGpuHasIsRefusedAtOnce) {
  const auto number = control->submit(sized("9g.90gb"), moment());
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().kind, ErrorKind::infeasible);
}

TEST_F(Loop, AJobThatFailsIsRunAgainAsOftenAsItMay) {
  NewJob wanted = job();
  wanted.spec.retries = 2;
  const JobNumber number = submit(wanted);
  FakeCourse fails;
  fails.runs = 1s;
  fails.outcome.code = 3;
  jobs.plan({number, 1}, fails);
  jobs.plan({number, 2}, fails);
  jobs.plan({number, 3}, fails);
  run(30s);
  EXPECT_EQ(record(number).state, JobState::failed);
  EXPECT_EQ(record(number).exit_code, 3);
  EXPECT_EQ(attempts(number).size(), 3U);
}

/// Without a wait that would be thousands of attempts.
TEST_F(Loop, WhatEndsAtOnceIsRunAgainLessAndLessOften) {
  NewJob fails = sized("1g.5gb"), lost = sized("1g.5gb");
  fails.spec.retries = 1000;
  lost.spec.restartable = true;
  const JobNumber first = submit(fails), second = submit(lost);
  FakeCourse failing, killed;
  failing.runs = 10ms;
  failing.outcome.code = 1;
  killed.lost = 10ms;
  for (std::int64_t attempt = 1; attempt < 400; ++attempt) {
    jobs.plan({first, attempt}, failing);
    jobs.plan({second, attempt}, killed);
  }
  run(5min);
  EXPECT_EQ(attempts(first).size(), 9U) << "after 0, 1, 3, 7, .. 255 s";
  EXPECT_EQ(attempts(second).size(), 9U);
  EXPECT_EQ(record(first).state, JobState::queued);
  run(24h);
  EXPECT_NEAR(static_cast<double>(record(second).attempts), 24 * 12 + 8, 3);
  EXPECT_EQ(runner->kept_bytes({second, 1}), 0) << "the outputs of old attempts are gone";
  EXPECT_EQ(jobs.folders(second), 20U);
}

TEST_F(Loop, AJobThatFailsWithItsGpuIsLostAndNotAtFault) {
  run(1s);
  NewJob again = sized("1g.5gb");
  again.spec.restartable = true;
  const JobNumber one = submit(again), once = submit(sized("1g.5gb"));
  FakeCourse fails;
  fails.runs = 7s;
  fails.outcome.code = 1;
  jobs.plan({one, 1}, fails);
  jobs.plan({once, 1}, fails);
  run(6s);
  ASSERT_EQ(record(one).state, JobState::running);
  // Its programs fail between two looks at it.
  machine.lose(0);
  run(20s);
  ASSERT_FALSE(attempts(one).empty());
  EXPECT_EQ(attempts(one)[0].end, AttemptEnd::lost) << attempts(one)[0].why;
  EXPECT_EQ(attempts(one)[0].exit_code, 1);
  EXPECT_EQ(record(once).state, JobState::failed);
  EXPECT_NE(record(once).reason.find("GPU 0 was lost"), std::string::npos) << record(once).reason;
  machine.give_back(0);
  run(60s);
  EXPECT_EQ(record(one).state, JobState::finished);
}

TEST_F(Loop, AJobThatIsLostIsRunAgainWhereItHasRetriesLeft) {
  NewJob wanted = sized("1g.5gb");
  wanted.spec.retries = 1;
  const JobNumber number = submit(wanted, 30s);
  run(5s);
  for (int loss = 0; loss < 2; ++loss) {
    ASSERT_EQ(record(number).state, JobState::running);
    machine.lose(0);
    run(10s);
    machine.give_back(0);
    run(10s);
  }
  EXPECT_EQ(record(number).state, JobState::failed) << "the second time there is none left";
  ASSERT_EQ(attempts(number).size(), 2U);
  EXPECT_EQ(attempts(number)[1].end, AttemptEnd::lost);
}

TEST_F(Loop, AJobThatFailsBesideADriverThatDoesNotAnswerHasFailed) {
  run(1s);
  const JobNumber number = submit(job());
  FakeCourse fails;
  fails.runs = 3s;
  fails.outcome.code = 4;
  jobs.plan({number, 1}, fails);
  run(2s);
  machine.hang(0, true);
  run(6s);
  EXPECT_EQ(record(number).state, JobState::failed);
  EXPECT_EQ(record(number).exit_code, 4);
}

TEST_F(Loop, OneThatRunsOutOfMemoryGetsTheNextSizeIfItMayBeRestarted) {
  FakeCourse starves;
  starves.runs = 1s;
  starves.outcome.code = 1;
  starves.outcome.out_of_memory = OutOfMemorySeen{"pytorch", MiB{512}};
  NewJob wanted = sized("1g.5gb");
  const JobNumber fails = submit(wanted);
  jobs.plan({fails, 1}, starves);
  wanted.spec.restartable = true;
  const JobNumber grows = submit(wanted);
  jobs.plan({grows, 1}, starves);
  run(30s);
  EXPECT_EQ(record(fails).state, JobState::failed);
  EXPECT_NE(record(fails).reason.find("ran out of memory"), std::string::npos)
      << record(fails).reason;
  EXPECT_EQ(record(grows).state, JobState::finished);
  ASSERT_EQ(attempts(grows).size(), 2U);
  EXPECT_EQ(attempts(grows)[0].end, AttemptEnd::out_of_memory);
  EXPECT_EQ(attempts(grows)[1].profile, "2g.10gb")
      << "of those with as much memory the most compute";
}

TEST_F(Loop, EarlyRestartsAreAsManyADayAsTheSettingsSay) {
  settings.forecaster = "last-value";
  settings.early_restarts_a_day = 1;
  begin();
  NewJob wanted = sized("1g.5gb");
  wanted.spec.restartable = true;
  wanted.spec.checkpoint_signal = 10;
  wanted.spec.checkpoint_grace = 3s;
  const JobNumber number = submit(wanted, 20s);
  for (std::int64_t attempt = 1; attempt < 4; ++attempt) {
    FakeCourse grows;
    grows.runs = 20s;
    grows.stops = 100ms;
    for (std::int64_t i = 1; i <= 9; ++i)
      grows.reports.push_back({i, {i, 9, MiB{5000 * attempt * i}, MiB{5000 * attempt * i}}});
    jobs.plan({number, attempt}, grows);
  }
  run(60s);
  ASSERT_EQ(attempts(number).size(), 2U);
  const AttemptRecord first = attempts(number)[0];
  EXPECT_EQ(first.end, AttemptEnd::early_restart);
  EXPECT_EQ(record(number).early_restarts.size(), 1U);
  // Told by a signal first, stopped when its grace was over.
  EXPECT_GE(*first.ended - *first.began, 3s);
  EXPECT_EQ(record(number).state, JobState::finished) << "the second time it is left to run";
}

// It is told once, however often the forecast says so, also to the next daemon.
TEST_F(Loop, AForecastThatFitsNoGpuIsToldAndNothingIsStopped) {
  settings.forecaster = "last-value";
  begin();
  NewJob wanted = sized("1g.5gb");
  FakeCourse grows;
  grows.runs = 20s;
  for (std::int64_t i = 1; i <= 9; ++i)
    grows.reports.push_back({i, {i, 9, MiB{10'000 * i}, MiB{10'000 * i}}});
  std::vector<JobNumber> all;
  for (const bool restartable : {false, true}) {
    wanted.spec.restartable = restartable;
    all.push_back(submit(wanted));
    // A restartable job is not stopped either: no instance would do.
    FakeCourse at_once = grows;
    at_once.reports.erase(at_once.reports.begin(), at_once.reports.begin() + 4);
    jobs.plan({all.back(), 1}, at_once);
  }
  const auto warnings = [&](JobNumber number) {
    int count = 0;
    for (const EventRecord& event : control->events_since(0))
      count += event.kind == "job-memory-warning" && event.job == number ? 1 : 0;
    return count;
  };
  run(10s);
  for (const JobNumber number : all) {
    EXPECT_EQ(record(number).state, JobState::running);
    EXPECT_EQ(warnings(number), 1);
  }
  begin();
  run(40s);
  for (const JobNumber number : all) {
    ASSERT_EQ(attempts(number).size(), 1U);
    EXPECT_EQ(attempts(number)[0].too_large, MiB{55'000}) << "the first, with its margin";
    EXPECT_EQ(record(number).state, JobState::finished);
    EXPECT_LE(warnings(number), 1);
  }
}

TEST_F(Loop, HigherPriorityComesFirst) {
  const JobNumber runs = submit(sized("7g.40gb"), 20s);
  run(2s);
  const JobNumber low = submit(sized("7g.40gb"), 5s);
  NewJob wanted = sized("7g.40gb");
  wanted.spec.priority = 5;
  const JobNumber high = submit(wanted, 5s);
  run(2s);
  EXPECT_EQ(control->why_waits(high), "no GPU has room for it now");
  EXPECT_EQ(control->why_waits(low), "no GPU has room for it now; 1 job waits before it");
  run(60s);
  EXPECT_LT(*record(runs).ended, *record(high).ended);
  EXPECT_LT(*record(high).ended, *record(low).ended);
}

TEST_F(Loop, ACancelledJobThatWaitsIsOverAtOnceAndOneThatRunsIsStopped) {
  const JobNumber runs = submit(sized("7g.40gb"), 100s), waits = submit(sized("7g.40gb"));
  run(2s);
  control->cancel(waits, "someone", moment());
  control->cancel(runs, "someone", moment());
  control->step(moment());
  EXPECT_EQ(record(waits).state, JobState::cancelled);
  EXPECT_EQ(record(runs).state, JobState::stopping);
  run(5s);
  EXPECT_EQ(record(runs).state, JobState::cancelled);
}

TEST_F(Loop, NobodyIsAnsweredAndNothingBeginsBeforeItIsWritten) {
  run(1s);
  disk.fail_writes(2);
  const auto number = control->submit(job(), moment());
  ASSERT_TRUE(number);
  control->step(moment());
  const auto answers = control->answered();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_FALSE(answers[0].done);
  run(5s);
  EXPECT_EQ(control->job(*number), nullptr);
  EXPECT_TRUE(jobs.running().empty());
}

TEST_F(Loop, AnApplicationGetsWhatItNeededBefore) {
  NewJob wanted = job();
  wanted.spec.application = "resnet";
  const JobNumber first = submit(wanted);
  FakeCourse reports;
  reports.runs = 5s;
  reports.reports.push_back({1, {1, 2, MiB{4000}, MiB{4000}}});
  jobs.plan({first, 1}, reports);
  run(20s);
  begin();  // it is remembered
  const JobNumber again = submit(wanted);
  NewJob other = wanted;
  other.owner.uid = 1001;
  const JobNumber anothers = submit(other);
  run(1s);
  EXPECT_EQ(record(again).spec.asked, "resnet: 4200 MiB, by measurements");
  EXPECT_EQ(text(record(again).request), "4200 MiB");
  NewJob batch = wanted;
  batch.spec.batch = 8;
  const JobNumber larger = submit(batch);
  run(1s);
  EXPECT_EQ(record(larger).spec.asked, "4000 MiB, which resnet needed before")
      << "of this batch nothing was measured";
  EXPECT_EQ(text(record(anothers).request), "nothing") << "what others ran is theirs";
}

TEST_F(Loop, WhatTwoRunsTaughtPredictsTheThird) {
  const auto run_on = [&](const std::string& profile, Duration runs, std::uint32_t uid = 1000) {
    NewJob wanted = sized(profile);
    wanted.owner.uid = uid;
    wanted.spec.application = "resnet";
    wanted.spec.batch = 64;
    const JobNumber number = submit(wanted, runs);
    run(runs + 10s);
    EXPECT_EQ(record(number).state, JobState::finished);
    return attempts(number).back();
  };
  EXPECT_FALSE(run_on("1g.5gb", 300s).predicted) << "nothing is known";
  begin();  // what was learnt is kept
  const AttemptRecord second = run_on("7g.40gb", 100s);
  EXPECT_EQ(second.predicted_by, TimeSource::guess) << "from one profile";
  EXPECT_EQ(second.lasted, 100s);
  begin();
  const AttemptRecord third = run_on("1g.5gb", 330s);
  EXPECT_EQ(third.predicted_by, TimeSource::measured);
  EXPECT_EQ(third.predicted, 300s);
  const auto errors = control->prediction_errors(1000U);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_EQ(errors[0].count, 2U);
  EXPECT_EQ(errors[1].source, TimeSource::measured);
  EXPECT_NEAR(errors[1].median, 0.1 / 1.1, 1e-6);
  EXPECT_TRUE(control->prediction_errors(1001U).empty());
  EXPECT_FALSE(run_on("1g.5gb", 50s, 1001).predicted) << "another user knows nothing of it";
  EXPECT_EQ(run_on("1g.5gb", 50s).predicted, 315s) << "and did not change the mean of the two";
  EXPECT_EQ(control->learnt().size(), 3U);
  const auto of_all = control->prediction_errors(std::nullopt);
  begin();
  EXPECT_EQ(control->prediction_errors(std::nullopt), of_all) << "they are remembered";
}

TEST_F(Loop, WhatIsLearntCountsOnceThoughItsWriteFails) {
  NewJob wanted = sized("1g.5gb");
  wanted.spec.application = "resnet";
  submit(wanted, 10s);
  run(5s);
  disk.fail_writes(3);
  run(30s);
  begin();
  const ProfileRepository* learnt = control->learnt().of(1000);
  ASSERT_NE(learnt, nullptr);
  ASSERT_EQ(learnt->records().size(), 1U);
  EXPECT_EQ(learnt->records().begin()->second.samples, 1);
  EXPECT_EQ(learnt->records().begin()->second.time_s, 10);
}

TEST_F(Loop, FewerProfilesAreKeptAfterAReload) {
  for (const char* application : {"a", "b", "c"}) {
    NewJob wanted = sized("1g.5gb");
    wanted.spec.application = application;
    submit(wanted, 10s);
    run(20s);
  }
  EXPECT_EQ(control->learnt().size(), 3U);
  settings.keep_profiles = 1;
  ASSERT_TRUE(control->reload(settings, moment()));
  run(1s);
  EXPECT_EQ(store->load()->learnt.size(), 1U);
  EXPECT_EQ(store->load()->learnt[0].record.key.application, "c") << "the latest";
}

TEST_F(Loop, AnUnsizedJobGetsTheProfileThatWasMeasuredBest) {
  const auto add = [](ProfileRepository& to, const char* profile, double seconds, double busy) {
    ProfileRecord record;
    record.key = {"resnet", "A100-40GB", 64, profile, false};
    record.time_s = seconds;
    record.peak_memory = MiB{6000};
    record.counters["sm_occupancy"] = busy;
    to.add(record, MergeRule::mean);
  };
  ProfileRepository repository;
  add(repository, "2g.10gb", 110, 0.9);
  add(repository, "3g.20gb", 105, 0.5);
  add(repository, "7g.40gb", 100, 0.2);
  settings.applications =
      std::make_shared<const ApplicationTimes>(std::move(repository), std::nullopt);
  ASSERT_TRUE(control->reload(settings, moment()));
  NewJob wanted = job();
  wanted.spec.application = "resnet";
  wanted.spec.batch = 64;
  const JobNumber chosen = submit(wanted);
  run(20s);
  EXPECT_EQ(record(chosen).spec.asked, "resnet, batch 64: 2g.10gb, by measurements");
  ASSERT_EQ(attempts(chosen).size(), 1U);
  EXPECT_EQ(attempts(chosen)[0].profile, "2g.10gb");
  EXPECT_EQ(attempts(chosen)[0].predicted, 110s);
  wanted.spec.restartable = true;  // which dyna-p asks of every job
  ASSERT_TRUE(control->set_scheduler("dyna-p", moment()));
  run(1s);
  const JobNumber free = submit(wanted);
  run(1s);
  EXPECT_EQ(text(record(free).spec.request), "6300 MiB") << "it chooses partitions itself";
}

// A look every 5 s counts; what was learnt is there for the next daemon.
TEST_F(Loop, WhatTheDriverCountsOfAnApplicationIsLearnt) {
  const auto learnt = [&](const std::string& application) {
    NewJob wanted = sized("1g.5gb");
    wanted.spec.application = application;
    submit(wanted, 30s);
    run(60s);
    begin();
    run(1s);
    const ProfileRepository* mine = control->learnt().of(1000);
    const ProfileRecord* record =
        mine == nullptr ? nullptr : mine->find({application, "A100-40GB", 1, "1g.5gb", false});
    return record == nullptr ? ProfileRecord{} : *record;
  };
  const ProfileRecord uncounted = learnt("a");
  EXPECT_EQ(uncounted.time_s, 30);
  EXPECT_TRUE(uncounted.counters.empty()) << "this GPU does not count";
  machine.door(0).shares = BusyShares{0.75, 0.5, 0.25, {}};
  const ProfileRecord counted = learnt("b");
  EXPECT_EQ(counted.time_s, 30);
  ASSERT_EQ(counted.counters.size(), 3U);
  EXPECT_DOUBLE_EQ(counted.counters.at("sm_activity"), 0.75);
  EXPECT_DOUBLE_EQ(counted.counters.at("sm_occupancy"), 0.5);
  EXPECT_DOUBLE_EQ(counted.counters.at("tensor_activity"), 0.25);
}

TEST_F(Loop, OldJobsAreForgottenByTimeAndBySize) {
  settings.keep_jobs = 1h;
  settings.keep_bytes = 2500;  // of 1000 each
  begin();
  std::vector<JobNumber> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(submit(job(), 1s));
    run(30s);
  }
  run(15min);
  EXPECT_FALSE(*store->job(all[0]));
  EXPECT_FALSE(*store->job(all[2]));
  EXPECT_TRUE(*store->job(all[3]));
  run(2h);
  EXPECT_FALSE(*store->job(all[4]));
  EXPECT_EQ(runner->found()->size(), 0U);
}

TEST_F(Loop, TheOldestOutputsOfTheUserWithTheMostGoFirst) {
  settings.keep_bytes = 2500;  // of 1000 each
  begin();
  std::vector<JobNumber> all;
  for (const std::uint32_t uid : {2000U, 1001U, 1001U, 1001U}) {
    NewJob wanted = job();
    wanted.owner.uid = uid;
    all.push_back(submit(wanted, 1s));
    run(30s);
  }
  run(15min);
  EXPECT_TRUE(*store->job(all[0])) << "the oldest, but its user keeps little";
  EXPECT_FALSE(*store->job(all[1]));
  EXPECT_FALSE(*store->job(all[2]));
  EXPECT_TRUE(*store->job(all[3]));
}

TEST_F(Loop, AnotherSchedulerIsRefusedWhereItCannotBe) {
  const JobNumber number = submit(job(), 100s);
  run(2s);
  EXPECT_FALSE(control->set_scheduler("nonsense", moment()));
  const auto interrupting = control->set_scheduler("miso", moment());
  ASSERT_FALSE(interrupting) << "the job may not be interrupted";
  EXPECT_NE(interrupting.error().message.find(fmt::format("job {}", number)), std::string::npos);
  ASSERT_TRUE(control->set_scheduler("scheme-b", moment()));
  run(1s);
  EXPECT_EQ(control->scheduler(), "scheme-b");
  begin();
  EXPECT_EQ(control->scheduler(), "scheme-b") << "it is remembered";
}

TEST_F(Loop, TheExpectedEndFollowsWhatAJobReports) {
  NewJob timed = sized("1g.5gb");
  timed.spec.times = {{"1g.5gb", 1000s}, {"7g.40gb", 300s}};
  const JobNumber number = submit(timed, 101s);
  FakeCourse course;
  course.runs = 101s;
  for (std::int64_t i = 1; i <= 100; ++i) course.reports.push_back({i, {i, 100, MiB{1}, MiB{1}}});
  jobs.plan({number, 1}, course);
  EXPECT_FALSE(control->expected_end_of(number)) << "it does not run";
  run(1s);
  const auto seconds_left = [&] {
    return in_seconds(control->expected_end_of(number)->at - moment().wall);
  };
  ASSERT_TRUE(control->expected_end_of(number));
  EXPECT_EQ(control->expected_end_of(number)->source, TimeSource::declared);
  EXPECT_GT(seconds_left(), 980);
  run(40s);
  EXPECT_EQ(control->expected_end_of(number)->source, TimeSource::reports);
  EXPECT_NEAR(seconds_left(), 60, 2);
  // Another daemon hears all reports again, at once.
  begin();
  run(500ms);
  ASSERT_TRUE(control->expected_end_of(number));
  EXPECT_NE(control->expected_end_of(number)->source, TimeSource::reports);
  EXPECT_GT(seconds_left(), 500) << "it knows how far the job is, and no pace";
  run(10s);
  EXPECT_EQ(control->expected_end_of(number)->source, TimeSource::reports);
  EXPECT_NEAR(seconds_left(), 50, 10);
  run(60s);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_FALSE(control->expected_end_of(number));
}

TEST_F(Loop, WhatAJobReportedStaysItsOwnWhenTheEngineIsRebuilt) {
  settings.forecaster = "running-max";
  begin();
  NewJob wanted = sized("2g.10gb");
  wanted.spec.restartable = true;
  const auto reports = [&](JobNumber number, std::int64_t mib, Duration runs) {
    FakeCourse course;
    course.runs = runs;
    for (std::int64_t i = 1; i <= 9; ++i) course.reports.push_back({i, {i, 9, MiB{mib}, MiB{mib}}});
    jobs.plan({number, 1}, course);
  };
  const JobNumber first = submit(wanted);
  reports(first, 100, 2s);
  const JobNumber large = submit(wanted);
  reports(large, 9000, 100s);
  NewJob little = sized("1g.5gb");
  little.spec.restartable = true;
  const JobNumber small = submit(little);
  reports(small, 100, 100s);
  run(50s);  // the first has ended
  ASSERT_TRUE(control->set_scheduler("scheme-b", moment()));
  run(100s);
  EXPECT_EQ(attempts(small).size(), 1U) << "it never held much";
  EXPECT_EQ(record(small).state, JobState::finished);
}

TEST_F(Loop, ContextAndWorkspaceCountAsHeldMemory) {
  begin();
  const auto peak_of = [&](const MemoryReport& report) {
    const JobNumber number = submit(sized("1g.5gb"));
    FakeCourse course;
    course.runs = 10s;
    course.reports.push_back({1, report});
    jobs.plan({number, 1}, course);
    run(60s);
    return attempts(number).front().peak;
  };
  EXPECT_EQ(peak_of({1, 9, MiB{50}, MiB{40}}), MiB{40}) << "an older report counts everything";
  EXPECT_EQ(peak_of({1, 9, MiB{90}, MiB{40}, MiB{600}, MiB{5}}), MiB{645});
  EXPECT_EQ(peak_of({1, 9, MiB{90}, MiB{40}, MiB{600}}), MiB{649}) << "the A100's usual workspace";
}

TEST_F(Loop, RequestsOfAnIterationMayExceedTheInstance) {
  begin();
  const auto end_of = [&](const MemoryReport& report) {
    const JobNumber number = submit(sized("1g.5gb"));
    FakeCourse course;
    course.runs = 10s;
    course.outcome.code = 1;
    course.reports.push_back({1, report});
    jobs.plan({number, 1}, course);
    run(60s);
    return attempts(number).front().end;
  };
  EXPECT_EQ(end_of({1, 9, MiB{9000}, MiB{40}}), AttemptEnd::out_of_memory);
  EXPECT_EQ(end_of({1, 9, MiB{9000}, MiB{40}, MiB{600}}), AttemptEnd::ended_itself);
  EXPECT_EQ(end_of({1, 9, MiB{9000}, MiB{4500}, MiB{600}}), AttemptEnd::out_of_memory);
}

TEST_F(Loop, WhatWasReportedIsNotForgottenWhenTheEngineIsRebuilt) {
  settings.forecaster = "running-max";
  settings.early_restarts_a_day = 0;  // for now
  begin();
  NewJob wanted = sized("1g.5gb");
  wanted.spec.restartable = true;
  const JobNumber number = submit(wanted);
  FakeCourse course;
  course.runs = 100s;
  for (std::int64_t i = 1; i <= 9; ++i) {
    const MiB held{i == 1 ? 4800 : 100};
    course.reports.push_back({i, {i, 9, held, held}});
  }
  jobs.plan({number, 1}, course);
  run(35s);  // the large one has been told
  settings.early_restarts_a_day = 5;
  ASSERT_TRUE(control->reload(settings, moment()));
  ASSERT_TRUE(control->set_scheduler("scheme-b", moment()));
  run(1s);
  ASSERT_EQ(attempts(number).size(), 2U);
  EXPECT_EQ(attempts(number)[0].end, AttemptEnd::early_restart);
}

TEST_F(Loop, WhyAJobWaitsSaysWhatItsQueueDoes) {
  settings.scheduler = "online:backfill=easy;order=deadline;user-jobs=2";
  begin();
  NewJob large = sized("4g.20gb"), small = sized("1g.5gb"), whole = sized("7g.40gb");
  large.spec.times = {{"4g.20gb", 300s}};
  small.spec.times = {{"1g.5gb", 100s}};
  whole.owner = {1001, 1001, {}, "another"};
  submit(large, 300s);
  submit(small, 100s);
  run(20s);
  const JobNumber waits = submit(whole), third = submit(small);
  run(20s);
  const std::string why = control->why_waits(waits);
  EXPECT_TRUE(
      why.starts_with("no GPU has room for it now; a place on GPU 0 is kept for it, "
                      "expected to be free in 4 min "))
      << why;
  EXPECT_TRUE(why.ends_with("; the queue goes by deadline")) << why;
  EXPECT_EQ(control->why_waits(third), "its user has as many jobs running as the queue allows (2)");
}

TEST_F(Loop, AReservedGpuIsKeptForItsUser) {
  const Instant zero = Instant{} + 1'000'000h;
  settings.scheduler = "online:backfill=easy";
  settings.reservations = {{"0", zero + 1h, zero + 2h, "ann"},
                           {"0", zero - 2h, zero - 1h, "eve"},
                           {"gone", zero + 1h, zero + 2h, "eve"}};
  begin();
  NewJob known = sized("1g.5gb"), anns = sized("1g.5gb");
  known.spec.times = {{"1g.5gb", 600s}};
  anns.owner = {1001, 1001, {}, "ann"};
  run(30min);
  submit(known, 600s);
  const JobNumber unknown = submit(sized("1g.5gb"));
  run(5min);
  EXPECT_EQ(record(1).state, JobState::running) << "it ends before";
  EXPECT_EQ(record(unknown).state, JobState::queued) << "it may take a day";
  EXPECT_TRUE(control->why_waits(unknown).ends_with("; GPU 0 is reserved for ann in 25 min 00 s"))
      << control->why_waits(unknown);
  run(20min);
  const JobNumber late = submit(known, 600s);
  run(5min + 1s);
  EXPECT_EQ(record(late).state, JobState::queued) << "it would not have ended";
  EXPECT_TRUE(control->why_waits(late).ends_with("; GPU 0 is reserved for ann"))
      << control->why_waits(late);
  const JobNumber own = submit(anns);
  run(30s);
  EXPECT_EQ(record(own).state, JobState::finished) << control->why_waits(own);
  EXPECT_FALSE(control->set_scheduler("miso", moment()));
  set = 2h;  // it is over, by the clock of the wall
  run(1min);
  EXPECT_EQ(record(unknown).state, JobState::finished);
  set = 0h;
  settings.reservations.clear();
  ASSERT_TRUE(control->reload(settings, moment()));
  run(1min);
  EXPECT_EQ(record(unknown).state, JobState::finished);
  settings.reservations = {{"7", zero + 1h, zero + 2h, "ann"}};
  EXPECT_FALSE(control->reload(settings, moment())) << "there is no such GPU";
  settings.reservations = {{"0", zero + 1h, zero + 3h, ""}, {"0", zero + 2h, zero + 4h, ""}};
  EXPECT_FALSE(control->reload(settings, moment())) << "they overlap";
}

TEST_F(Loop, ADriverThatHangsKeepsNobodyElseWaiting) {
  settings.gpu_patience = 10s;
  begin();
  run(1s);
  machine.hang(0, true);
  submit(job());
  run(20s);
  ASSERT_EQ(control->troubles().size(), 1U);
  EXPECT_EQ(control->troubles()[0], "GPU 0: its driver does not answer");
  EXPECT_FALSE(control->why_waits(1).empty());
  machine.hang(0, false);
  run(30s);
  EXPECT_TRUE(control->troubles().empty());
  EXPECT_EQ(record(1).state, JobState::finished);
}

// Compute-slice seconds of a user's attempts between two times of the loop.
class SharedLoop : public Loop {
 protected:
  SharedLoop() {
    settings.scheduler = "online:order=fair-share;shares=ann=3";
    settings.most_waiting = 10'000;
    begin();
  }
  void submit_for(const char* user, std::uint32_t uid, std::size_t count, Random& random) {
    for (std::size_t i = 0; i < count; ++i) {
      NewJob wanted = sized(random.below(3) == 0 ? "2g.10gb" : "1g.5gb");
      wanted.owner = {uid, uid, {}, user};
      all_.push_back({submit(wanted, std::chrono::seconds(300 + random.below(1200))), user});
    }
  }
  [[nodiscard]] double used(std::string_view user, Duration from, Duration to) {
    const Instant zero = Instant{} + 1'000'000h;
    double sum = 0;
    for (const auto& [number, whose] : all_) {
      if (whose != user) continue;
      for (const AttemptRecord& each : attempts(number)) {
        const Instant began = std::max(each.started, zero + from);
        const Instant ended = std::min(each.ended.value_or(zero + to), zero + to);
        if (ended > began) sum += in_seconds(ended - began) * (each.profile == "2g.10gb" ? 2 : 1);
      }
    }
    return sum;
  }

 private:
  std::vector<std::pair<JobNumber, std::string>> all_;
};

TEST_F(SharedLoop, UsersGetTheirSharesOverADay) {
  Random random(11);
  for (int round = 0; round < 8; ++round) {
    submit_for("ann", 1001, 120, random);
    submit_for("bob", 1002, 120, random);
    submit_for("eve", 1003, 120, random);
    run(3h);
    if (round % 3 == 2) begin();
  }
  const double ann = used("ann", 0h, 24h), bob = used("bob", 0h, 24h), eve = used("eve", 0h, 24h);
  const double fifth = (ann + bob + eve) / 5;
  EXPECT_GT(fifth, 24 * 3600) << "the GPU was in use";
  EXPECT_NEAR(ann / fifth, 3, 0.15);
  EXPECT_NEAR(bob / fifth, 1, 0.05);
  EXPECT_NEAR(eve / fifth, 1, 0.05);
}

// What bob had alone is remembered by another engine, and by another daemon.
TEST_F(SharedLoop, WhatUsersHadIsRemembered) {
  Random random(12);
  submit_for("bob", 1002, 200, random);
  run(4h);
  ASSERT_GT(used("bob", 0h, 4h), 5 * 4 * 3600);
  submit_for("eve", 1003, 200, random);
  run(1s);  // they are written
  begin();
  run(2h);
  // A job of bob's that ran goes on for 25 min at most.
  EXPECT_EQ(used("bob", 4h + 30min, 6h), 0);
  ASSERT_TRUE(control->set_scheduler("scheme-b:order=fair-share", moment()));
  run(1h);
  EXPECT_EQ(used("bob", 6h, 7h), 0);
}

/// Four jobs fill a GPU; the first and the third of them end, so that a 2g has no place there.
class CrowdedGpu : public Loop {
 protected:
  explicit CrowdedGpu(const std::vector<std::string>& gpus) : Loop(gpus) {
    settings.scheduler = "dyna-p:beta=1e6";
    begin();
    for (int i = 0; i < 4; ++i) crowd.push_back(submit(of("1g.6gb"), i % 2 == 0 ? 100s : 1000s));
    run(300s);
    late = submit(of("2g.12gb"), 1000s);
    run(60s);
  }
  static NewJob of(const std::string& profile) {
    NewJob wanted = sized(profile);
    wanted.spec.restartable = true;
    wanted.spec.times = {{profile, 1000s}, {"4g.24gb", 1000s}};
    return wanted;
  }
  /// How many attempts of the first jobs were stopped for room.
  std::size_t stops() {
    std::size_t count = 0;
    for (const JobNumber number : crowd)
      for (const AttemptRecord& attempt : attempts(number))
        count += attempt.end == AttemptEnd::made_room ? 1 : 0;
    return count;
  }

  std::vector<JobNumber> crowd;
  JobNumber late = 0;
};

struct CrowdedAlone : CrowdedGpu {
  CrowdedAlone() : CrowdedGpu({"A30-24GB"}) {}
};
struct CrowdedBesideAnEmptyOne : CrowdedGpu {
  CrowdedBesideAnEmptyOne() : CrowdedGpu({"A30-24GB", "A30-24GB"}) {}
};

TEST_F(CrowdedBesideAnEmptyOne, TheNewJobTakesTheOtherGpuAndNoneIsStopped) {
  EXPECT_EQ(stops(), 0U);
  for (const std::size_t still : {1U, 3U}) {
    EXPECT_EQ(record(crowd[still]).state, JobState::running);
    ASSERT_EQ(attempts(crowd[still]).size(), 1U);
    EXPECT_EQ(attempts(crowd[still])[0].gpu, attempts(crowd[0]).at(0).gpu) << "all on one";
  }
  EXPECT_EQ(record(late).state, JobState::running);
  ASSERT_EQ(attempts(late).size(), 1U);
  EXPECT_NE(attempts(late)[0].gpu, attempts(crowd[1])[0].gpu);
}

TEST_F(CrowdedAlone, RunningJobsMakeRoom) {
  EXPECT_GT(stops(), 0U) << "or what is said of two GPUs says nothing";
  EXPECT_EQ(record(late).state, JobState::running);
}

}  // namespace
}  // namespace cleave::trial
