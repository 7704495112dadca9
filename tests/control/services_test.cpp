// Services and leases in the loop: a service keeps its replicas and a lease its start while batches
// queue; a replica that ends is started again, and a lease that does no work is given back.

#include "base/random.hpp"
#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

class Services : public Loop {
 protected:
  explicit Services(const std::vector<std::string>& gpus = {"A100-40GB"}) : Loop(gpus) {}

  static NewJob service(std::uint32_t replicas, std::string profile = "2g.10gb") {
    NewJob wanted = sized(std::move(profile));
    wanted.spec.service.emplace().replicas = replicas;
    wanted.spec.progress = Keeps::stateless;
    return wanted;
  }
  static NewJob lease(LeaseTerms terms, std::string profile = "3g.20gb") {
    NewJob wanted = sized(std::move(profile));
    wanted.spec.lease = std::move(terms);
    return wanted;
  }
  static NewJob batch(std::string profile = "1g.5gb") {
    NewJob wanted = sized(std::move(profile));
    wanted.spec.restartable = true;
    return wanted;
  }
  /// All attempts of the first replicas run without end, but for those planned afterwards.
  JobNumber submit_service(const NewJob& wanted) {
    const JobNumber number = submit(wanted, 1000h);
    for (JobNumber each = number; each < number + wanted.spec.service->replicas; ++each)
      for (std::int64_t attempt = 1; attempt < 40; ++attempt) plan(each, attempt, 1000h, 0);
    return number;
  }
  void plan(JobNumber number, std::int64_t attempt, Duration runs, int code) {
    FakeCourse course;
    course.runs = runs;
    course.outcome.code = code;
    jobs.plan({number, attempt}, course);
  }
  [[nodiscard]] bool runs(JobNumber number) const {
    const AttemptRecord* attempt = control->attempt_of(number);
    return attempt != nullptr && attempt->began && !attempt->end;
  }
  [[nodiscard]] std::size_t events(const std::string& kind, JobNumber number) const {
    const auto all = control->events_since(0);
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [&](const EventRecord& each) { return each.kind == kind && each.job == number; }));
  }
  void driver_counts(double busy) { machine.door(0).shares = BusyShares{busy, {}, {}, {}}; }
};

TEST_F(Services, KeepTheirReplicasWhileBatchesQueue) {
  std::vector<JobNumber> batches;
  for (int i = 0; i < 30; ++i) batches.push_back(submit(batch(), 600s));
  run(10s);
  ASSERT_EQ(jobs.running().size(), 7U) << "batches have it all";
  const JobNumber number = submit_service(service(3));
  plan(number + 1, 1, 20min, 3);  // and one of them fails
  run(30s);
  for (JobNumber each = number; each < number + 3; ++each) EXPECT_TRUE(runs(each)) << each;
  EXPECT_EQ(control->service(number).up, 3);
  EXPECT_EQ(control->jobs().size(), 31U) << "people see one service";
  Duration off{}, longest_off{}, without{};
  for (Duration passed{}; passed < 3h; passed += 100ms) {
    run(100ms);
    const std::int64_t up = control->service(number).up;
    ASSERT_GE(up, 2) << "one that is lost does not stop the others";
    without = up < 3 ? without + 100ms : Duration{};
    if (up < 3) off += 100ms;
    longest_off = std::max(longest_off, without);
    if (passed % 5min == Duration{}) batches.push_back(submit(batch(), 600s));
  }
  EXPECT_LE(off, 2s) << "the restart of the one that failed";
  EXPECT_GT(off, 500ms) << "which was after a delay";
  EXPECT_EQ(record(number + 1).restarts, 1);
  EXPECT_EQ(attempts(number + 1).at(1).device, attempts(number + 1).at(0).device)
      << "at its place, which was kept";
  EXPECT_EQ(attempts(number).size(), 1U);
  const auto finished = std::ranges::count_if(
      batches, [&](JobNumber each) { return record(each).state == JobState::finished; });
  EXPECT_GE(finished, 16) << "batches have the slice that is left";
  std::int64_t stopped = 0;
  for (const JobNumber each : batches)
    for (const AttemptRecord& attempt : attempts(each))
      stopped += attempt.end == AttemptEnd::made_room ? 1 : 0;
  EXPECT_EQ(stopped, 6) << "those in the way, and no more";
}

TEST_F(Services, OneThatEndsWhateverItsCodeIsStartedAgainLaterAndLater) {
  const JobNumber number = submit_service(service(2));
  for (std::int64_t attempt = 1; attempt < 13; ++attempt)
    plan(number, attempt, 100ms, attempt % 2 == 0 ? 0 : 5);
  plan(number, 13, 11min, 5);  // it was well for a while
  run(1h);
  const auto all = attempts(number);
  ASSERT_GE(all.size(), 14U);
  std::vector<std::int64_t> pauses;
  for (std::size_t i = 1; i < 14; ++i)
    pauses.push_back(
        std::chrono::floor<std::chrono::seconds>(*all[i].began - *all[i - 1].ended).count());
  EXPECT_EQ(pauses,
            (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 1}));
  EXPECT_EQ(record(number).restarts, 13);
  EXPECT_EQ(attempts(number + 1).size(), 1U) << "the other runs on";
  EXPECT_EQ(record(number).state, JobState::running);
}

TEST_F(Services, SayHowTheyStandWhileOneWaits) {
  const JobNumber number = submit_service(service(2));
  plan(number, 1, 5s, 1);
  plan(number, 2, 0s, 1);
  plan(number, 3, 0s, 1);
  run(7s);
  EXPECT_EQ(control->service(number).up, 1);
  const auto again = control->starts_again_at(number);
  ASSERT_TRUE(again);
  EXPECT_LE(*again - moment().wall, 4s);
  EXPECT_NE(record(number).reason.find("exited with 1, and is started again after"),
            std::string::npos)
      << record(number).reason;
  EXPECT_FALSE(control->starts_again_at(number + 1));
}

TEST_F(Services, EndTogetherWhenTheyAreCancelled) {
  const JobNumber number = submit_service(service(3));
  run(5s);
  ASSERT_EQ(control->service(number).up, 3);
  control->cancel(number, "ann", moment());
  run(5s);
  for (JobNumber each = number; each < number + 3; ++each)
    EXPECT_EQ(record(each).state, JobState::cancelled);
  EXPECT_TRUE(jobs.running().empty());
  EXPECT_EQ(events("job-cancelled", number), 1U);
  EXPECT_TRUE(control->jobs().empty());
}

TEST_F(Services, AreStoppingUntilTheLastReplicaHasEnded) {
  const JobNumber number = submit_service(service(3));
  FakeCourse slow;
  slow.runs = 1000h;
  slow.stops = 20s;
  jobs.plan({number + 1, 1}, slow);
  run(5s);
  ASSERT_EQ(control->service(number).up, 3);
  control->cancel(number, "ann", moment());
  const auto stands = [&] {
    EXPECT_EQ(jobs.running(), (std::vector{JobKey{number + 1, 1}}));
    EXPECT_EQ(record(number).state, JobState::stopping);
    EXPECT_EQ(record(number).reason, "cancelled by ann");
    EXPECT_EQ(record(number + 2).state, JobState::cancelled);
    EXPECT_EQ(control->jobs().size(), 1U);
    EXPECT_EQ(events("job-cancelled", number), 0U);
  };
  run(5s);
  stands();
  control->cancel(number, "ann", moment());  // once more changes nothing
  run(1s);
  stands();
  begin();
  run(1s);
  EXPECT_EQ(record(number).state, JobState::stopping) << "a daemon that begins knows as much";
  run(20s);
  for (JobNumber each = number; each < number + 3; ++each)
    EXPECT_EQ(record(each).state, JobState::cancelled);
  EXPECT_GE(*record(number).ended, *record(number + 1).ended);
  EXPECT_EQ(events("job-cancelled", number), 1U);
  EXPECT_TRUE(control->jobs().empty());
}

TEST_F(Services, AreCancelledBeforeAnyReplicaHasAPlace) {
  submit(sized("7g.40gb"), 1h);
  run(5s);
  const JobNumber number = submit_service(service(3));
  run(1s);
  control->cancel(number, "ann", moment());
  run(1s);
  for (JobNumber each = number; each < number + 3; ++each)
    EXPECT_EQ(record(each).state, JobState::cancelled);
  EXPECT_EQ(events("job-cancelled", number), 1U);
}

TEST_F(Services, ThatADaemonDiedBeforeAStartIsNoRestart) {
  struct Death {};
  disk.after_write = [](const StoreBatch& batch) {
    if (!batch.attempts.empty()) throw Death();
  };
  const JobNumber number = submit_service(service(1));
  EXPECT_THROW(run(5s), Death);
  disk.after_write = {};
  begin();
  run(5s);
  ASSERT_EQ(attempts(number).size(), 2U);
  EXPECT_EQ(attempts(number)[0].end, AttemptEnd::not_started);
  EXPECT_TRUE(runs(number));
  EXPECT_EQ(record(number).restarts, 0);
}

/// A job that saves its work when it is told to, and ends well with work left. It is stopped before
/// its memory runs out, and before the daemon hears of its end the power goes.
class PowerLoss : public Services {
 protected:
  PowerLoss() {
    settings.forecaster = "last-value";
    begin();
  }
  static NewJob saving(std::uint32_t places) {
    NewJob wanted = sized("1g.5gb");
    wanted.spec.request.places = places;
    wanted.spec.progress = Keeps::checkpoint;
    wanted.spec.checkpoint_signal = 10;
    wanted.spec.checkpoint_grace = 30s;
    return wanted;
  }
  JobNumber submit_saving(std::uint32_t places) {
    const JobNumber number = submit(saving(places), 20s);
    FakeCourse saves;
    saves.runs = 20s;
    saves.saves = 1s;
    for (JobNumber each = number; each < number + places; ++each) jobs.plan({each, 1}, saves);
    for (std::int64_t i = 1; i <= 9; ++i)
      saves.reports.push_back({i, {i, 9, MiB{2000 * i}, MiB{2000 * i}}});
    jobs.plan({number, 1}, saves);
    return number;
  }
  void lose_power() {
    control.reset();
    now += 5s;
    jobs.advance_to(Instant{} + now);
    disk.lose_power();
    jobs.lose_all();
    machine.lose(0);
    machine.give_back(0);
    settings.boot = "another boot";
    begin();
  }
  /// With its start on the disk, or not.
  void goes_on_after_it(std::uint32_t places, bool start_is_safe) {
    const JobNumber number = submit_saving(places);
    run(3s);
    ASSERT_EQ(record(number).state, JobState::running);
    if (start_is_safe) {
      submit(sized("1g.5gb"), 1s);
      run(1ms);
    }
    for (int i = 0; i < 20'000 && !attempts(number).at(0).end; ++i) run(1ms);
    ASSERT_EQ(attempts(number).at(0).end, AttemptEnd::early_restart);
    lose_power();
    run(1ms);
    for (JobNumber each = number; each < number + places; ++each) {
      ASSERT_FALSE(jobs.completed(each));
      EXPECT_EQ(attempts(each).at(0).exit_code, 0);
    }
    EXPECT_EQ(attempts(number).at(0).end, AttemptEnd::early_restart);
    EXPECT_FALSE(is_final(record(number).state)) << "it has work left";
    run(5min);
    EXPECT_EQ(record(number).state, JobState::finished) << record(number).reason;
    for (JobNumber each = number; each < number + places; ++each) EXPECT_TRUE(jobs.completed(each));
  }
};

TEST_F(PowerLoss, AJobThatWasToldToSaveItsWorkGoesOn) {
  goes_on_after_it(1, true);
}

TEST_F(PowerLoss, SoDoesOneOfSeveralProcesses) {
  goes_on_after_it(2, true);
}

TEST_F(PowerLoss, AndOneWhoseStartWasNotOnTheDiskYet) {
  goes_on_after_it(1, false);
  goes_on_after_it(2, false);
}

/// The daemon has died.
struct Died {};

TEST_F(PowerLoss, OneThatWasToldToSaveAndCancelledThenIsNotFinishedByItsEnd) {
  const JobNumber number = submit_saving(1);
  run(3s);
  for (int i = 0; i < 20'000 && !attempts(number).at(0).end; ++i) run(1ms);
  ASSERT_EQ(attempts(number).at(0).end, AttemptEnd::early_restart);
  control->cancel(number, "ann", moment());
  disk.after_write = [](const StoreBatch& batch) {
    for (const AttemptRecord& each : batch.attempts)
      if (each.end == AttemptEnd::cancelled) throw Died{};
  };
  EXPECT_THROW(run(1s), Died);
  disk.after_write = nullptr;
  now += 5s;
  jobs.advance_to(Instant{} + now);
  begin();
  run(1s);
  EXPECT_FALSE(jobs.completed(number));
  EXPECT_EQ(attempts(number).at(0).exit_code, 0) << "it has saved its work, and has some left";
  EXPECT_EQ(record(number).state, JobState::cancelled) << record(number).reason;
}

TEST_F(Services, AreFoundAgainByADaemonThatBegins) {
  const JobNumber number = submit_service(service(3));
  plan(number + 2, 1, 60s, 9);
  run(5s);
  ASSERT_EQ(control->service(number).up, 3);
  control.reset();
  now += 2min;
  jobs.advance_to(Instant{} + now);
  begin();
  run(10s);
  EXPECT_EQ(control->service(number).up, 3);
  EXPECT_EQ(attempts(number).size(), 1U) << "what ran runs on";
  EXPECT_EQ(attempts(number + 2).size(), 2U) << "and what ended meanwhile was started again";
  EXPECT_EQ(record(number + 2).restarts, 1);
  control->cancel(number, "ann", moment());
  control->step(moment());
  begin();  // before all have heard of it
  run(5s);
  for (JobNumber each = number; each < number + 3; ++each)
    EXPECT_EQ(record(each).state, JobState::cancelled);
}

TEST_F(Services, ADaemonThatBeginsWhileOneWaitsStartsIt) {
  const JobNumber number = submit_service(service(1));
  for (std::int64_t attempt = 1; attempt < 9; ++attempt) plan(number, attempt, 0s, 1);
  run(2min);
  ASSERT_TRUE(control->starts_again_at(number));
  const auto before = attempts(number).size();
  begin();
  run(3s);
  EXPECT_GT(attempts(number).size(), before);
}

TEST_F(Services, SchedulersThatTakeBatchesOnlyTakeNone) {
  settings.scheduler = "scheme-a";
  begin();
  const auto refused = control->submit(service(2), moment());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().place, "service");
  EXPECT_EQ(refused.error().message, "scheduler 'scheme-a' takes batches only");
  settings.scheduler = "online";
  begin();
  submit_service(service(2));
  run(5s);
  const auto chosen = control->set_scheduler("scheme-a", moment());
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().message, "scheduler 'scheme-a' takes batches only");
}

class TwoGpus : public Services {
 protected:
  TwoGpus() : Services({"A100-40GB", "A100-40GB"}) {}
};

TEST_F(TwoGpus, AReplicaThatLosesItsGpuStartsElsewhereAndTheOthersRunOn) {
  const JobNumber number = submit_service(service(2, "4g.20gb"));
  run(5s);
  ASSERT_EQ(control->service(number).up, 2);
  const std::size_t gpu = attempts(number).at(0).gpu == machine.managed()[0].uuid ? 0 : 1;
  ASSERT_NE(attempts(number + 1).at(0).gpu, attempts(number).at(0).gpu);
  machine.lose(gpu);
  run(2min);
  EXPECT_EQ(control->service(number).up, 1) << "no other GPU has room";
  EXPECT_EQ(attempts(number + 1).size(), 1U);
  machine.give_back(gpu);
  run(2min);
  EXPECT_EQ(control->service(number).up, 2);
}

TEST_F(Services, ALeaseStartsInTimeWhileBatchesQueue) {
  for (int i = 0; i < 30; ++i) submit(batch(), 600s);
  run(10s);
  LeaseTerms terms;
  terms.starts_within = 30s;
  const JobNumber number = submit(lease(terms), 1h);
  run(30s);
  ASSERT_TRUE(runs(number));
  EXPECT_LE(*attempts(number).at(0).began - record(number).submitted, *terms.starts_within);
  EXPECT_EQ(record(number).state, JobState::running);
  run(2h);
  EXPECT_EQ(record(number).state, JobState::finished) << "it ends as its person says";
  for (JobNumber each = 1; each <= 30; ++each)
    EXPECT_EQ(record(each).state, JobState::finished) << "batches that made room ran again";
}

TEST_F(Services, ALeaseThatWaitsIsToldOfItsStartAndGetsItByThen) {
  NewJob first = sized("7g.40gb");
  first.spec.expected = 10min;
  submit(first, 9min);
  run(5s);
  const JobNumber number = submit(lease({}), 1h);
  run(1s);
  const auto promised = record(number).promised;
  ASSERT_TRUE(promised);
  EXPECT_GT(*promised, record(number).submitted + 9min);
  EXPECT_EQ(events("lease-promised", number), 1U);
  run(10min);
  ASSERT_TRUE(runs(number));
  EXPECT_LE(*attempts(number).at(0).began, *promised);
}

TEST_F(Services, AnIdleLeaseIsGivenBack) {
  LeaseTerms terms;
  terms.idle_after = 15min;
  const JobNumber number = submit(lease(terms), 1000h);
  driver_counts(0.5);
  run(1h);
  EXPECT_EQ(record(number).state, JobState::running) << "it works";
  EXPECT_TRUE(control->lease(number).measured);
  EXPECT_FALSE(control->lease(number).idle_since);
  driver_counts(0);
  run(14min);
  EXPECT_TRUE(runs(number));
  ASSERT_TRUE(control->lease(number).idle_since);
  driver_counts(0.001);
  run(1min);
  driver_counts(0);
  run(14min);
  EXPECT_TRUE(runs(number)) << "a little work is work";
  run(2min);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_EQ(attempts(number).at(0).end, AttemptEnd::idle);
  EXPECT_NE(record(number).reason.find("did no GPU work for 15 min"), std::string::npos)
      << record(number).reason;
  EXPECT_EQ(events("lease-idle", number), 1U);
  EXPECT_TRUE(jobs.running().empty());
}

TEST_F(Services, ALeaseOfWhichTheDriverCountsNothingIsNeverGivenBack) {
  LeaseTerms terms;
  terms.idle_after = 15min;
  const JobNumber number = submit(lease(terms), 1000h);
  run(5h);
  EXPECT_TRUE(runs(number));
  EXPECT_FALSE(control->lease(number).measured);
}

TEST_F(Services, TimeThatWasNotCountedIsNotIdle) {
  LeaseTerms terms;
  terms.idle_after = 15min;
  const JobNumber number = submit(lease(terms), 1000h);
  driver_counts(0);
  run(14min);
  begin();  // the daemon was away: nothing is known of that time
  run(14min);
  EXPECT_TRUE(runs(number));
  machine.door(0).shares.reset();
  run(1min);
  driver_counts(0);
  run(14min);
  EXPECT_TRUE(runs(number));
  run(2min);
  EXPECT_EQ(record(number).state, JobState::finished);
}

TEST_F(Services, AnIdleLeaseShrinksAndGrowsWhenItWorks) {
  LeaseTerms terms;
  terms.idle_after = 15min;
  terms.then = LeaseTerms::Then::shrink;
  terms.idle_memory = MiB{4000};
  NewJob wanted = lease(terms);
  wanted.spec.progress = Keeps::checkpoint;
  const JobNumber number = submit(wanted, 1000h);
  driver_counts(0);
  run(16min);
  ASSERT_EQ(attempts(number).size(), 2U);
  EXPECT_EQ(attempts(number)[0].end, AttemptEnd::moved);
  EXPECT_EQ(attempts(number)[1].profile, "1g.5gb");
  EXPECT_TRUE(runs(number));
  run(1h);
  EXPECT_EQ(attempts(number).size(), 2U) << "it is as small as it gets";
  begin();
  run(5s);
  driver_counts(0.3);
  run(30s);
  ASSERT_EQ(attempts(number).size(), 3U);
  EXPECT_EQ(attempts(number)[2].profile, "3g.20gb");
  EXPECT_TRUE(runs(number));
  run(1h);
  EXPECT_EQ(attempts(number).size(), 3U);
}

TEST_F(Services, BatchesFillWhatAnIdleLeaseLeaves) {
  LeaseTerms terms;
  terms.idle_after = 15min;
  terms.then = LeaseTerms::Then::shrink;
  terms.idle_memory = MiB{4000};
  NewJob wanted = lease(terms, "4g.20gb");
  wanted.spec.progress = Keeps::checkpoint;
  const JobNumber number = submit(wanted, 1000h);
  run(5s);
  const JobNumber other = submit(batch("4g.20gb"), 1000h);
  driver_counts(0.5);
  run(20min);
  EXPECT_FALSE(runs(other)) << "a lease that works is not shrunk";
  driver_counts(0);
  run(17min);
  EXPECT_TRUE(runs(number));
  EXPECT_TRUE(runs(other)) << "and one that does not leaves its room to batches";
}

/// Random services, leases and batches, daemons that are stopped, GPUs that are lost.
class RandomKinds : public Services, public testing::WithParamInterface<int> {
 protected:
  RandomKinds() : Services({"A100-40GB", "A100-40GB"}) {
    settings.look_every = 20s;
    begin();
  }

  void submit_one() {
    static const std::vector<std::string> profiles = {"1g.5gb", "2g.10gb", "3g.20gb"};
    const std::string& profile = profiles[random.below(profiles.size())];
    const std::uint64_t what = random.below(10);
    if (what == 0) {
      services.push_back(
          submit_service(service(static_cast<std::uint32_t>(1 + random.below(2)), profile)));
    } else if (what < 3) {
      LeaseTerms terms;
      terms.idle_after = 5min;
      leases.push_back(submit(lease(terms, profile), random.below(40) * 1min));
    } else {
      const Duration lasts = random.below(20) * 1min;
      batches.push_back(submit(batch(profile), lasts));
      for (std::int64_t attempt = 9; attempt < 100; ++attempt)
        plan(batches.back(), attempt, lasts, 0);
    }
  }
  void happen() {
    const std::uint64_t what = random.below(60);
    const std::size_t gpu = random.below(2);
    if (what < 20) submit_one();
    if (what == 20) machine.lose(gpu);
    if (what == 21 || what == 22) machine.give_back(gpu);
    if (what == 23) begin();
    if (what == 24) driver_counts(random.below(2) == 0 ? 0 : 0.5);
    if (what == 25 && !services.empty()) {
      const JobNumber one = services[random.below(services.size())];
      control->cancel(one, "ann", moment());
    }
  }
  void check_ends(JobNumber number) {
    for (const AttemptRecord& attempt : attempts(number))
      ASSERT_NE(attempt.end, AttemptEnd::made_room) << "job " << number;
  }

  Random random{static_cast<std::uint64_t>(GetParam())};
  std::vector<JobNumber> services, leases, batches;
};

TEST_P(RandomKinds, OnlyBatchesMakeRoomAndWhatEndsIsWhatMay) {
  for (int i = 0; i < 300; ++i) {
    happen();
    run(random.below(20) * 1s);
  }
  for (const JobNumber number : services) {
    const std::int64_t replicas = record(number).replicas();
    for (JobNumber each = number; each < number + replicas; ++each) {
      check_ends(each);
      EXPECT_TRUE(record(each).state == JobState::cancelled || !is_final(record(each).state))
          << "a service ends by being cancelled alone";
    }
  }
  for (const JobNumber number : leases) check_ends(number);
  // Whatever became of them, all batches run when services and leases are gone.
  for (const JobNumber number : services) control->cancel(number, "ann", moment());
  for (const JobNumber number : leases) control->cancel(number, "ann", moment());
  for (std::size_t gpu = 0; gpu < machine.size(); ++gpu) machine.give_back(gpu);
  for (int hours = 0; hours < 100 && !control->jobs().empty(); ++hours) run(1h);
  for (const JobNumber number : batches)
    EXPECT_EQ(record(number).state, JobState::finished) << number;
  EXPECT_TRUE(jobs.running().empty());
  EXPECT_TRUE(control->jobs().empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomKinds, testing::Range(1, 11));

}  // namespace
}  // namespace cleave::trial
