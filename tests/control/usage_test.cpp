// Energy and use through the loop: what the store has of jobs, of idle GPUs and of others is what
// the counters showed, whatever jobs do, and when the daemon is killed.

#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

class LoopUse : public Loop {
 protected:
  LoopUse() { draw(0); }
  /// So much more is on the counter.
  void draw(std::int64_t millijoules) {
    drawn_ += static_cast<std::uint64_t>(millijoules);
    machine.door(0).energy_mj = start + drawn_;
  }
  /// Runs for so long and draws so much in each second.
  void run_at(Duration time, std::int64_t milliwatts) {
    for (Duration done{}; done < time; done += 100ms) {
      draw(milliwatts / 10);
      run(100ms);
    }
  }
  UsageSums sums(std::optional<UseKind> kind = {}, bool unwritten = true) {
    UsageSums all;
    std::vector<UsageRow> rows = *store->usage({.after = {}, .uid = {}, .most = 100'000});
    if (unwritten)
      for (const UsageRow& each : control->unwritten_usage()) rows.push_back(each);
    for (const UsageRow& each : rows)
      if (!kind || each.key.kind == *kind) all += each.sums;
    return all;
  }
  /// Of the store's records and what is not in them yet.
  std::int64_t of_job(JobNumber number) {
    JobEnergy energy = record(number).energy;
    if (const JobRecord* job = control->job(number)) energy = job->energy;
    energy.add(control->unwritten_energy(number));
    return energy.millijoules.value_or(-1);
  }

  static constexpr std::uint64_t start = 5'000'000;
  std::uint64_t drawn_ = 0;
};

TEST_F(LoopUse, OfJobsIdleGpusAndOthersIsWhatTheCounterShowed) {
  run(300ms);  // the first reading is where it begins
  run_at(10s, 50'000);
  const JobNumber one = submit(sized("3g.20gb"), 40s), two = submit(sized("4g.20gb"), 25s);
  run_at(60s, 200'000);
  run(10s);
  EXPECT_EQ(record(one).state, JobState::finished);
  EXPECT_EQ(record(two).state, JobState::finished);
  EXPECT_EQ(sums().millijoules, 10 * 50'000 + 60 * 200'000);
  EXPECT_EQ(of_job(one) + of_job(two), sums(UseKind::jobs).millijoules);
  EXPECT_EQ(sums(UseKind::jobs).attempts, 2);
  EXPECT_EQ(sums(UseKind::jobs).jobs, 2);
  EXPECT_EQ(sums(UseKind::foreign).millijoules, 0);
  EXPECT_NEAR(in_seconds(sums(UseKind::jobs).slice_time), 3 * 40 + 4 * 25, 10);
  // While both run, 3/7 and 4/7 of what is beyond 50 W; then one has all of it.
  EXPECT_NEAR(static_cast<double>(of_job(one)), 150'000 * (25 * 3.0 / 7 + 15), 600'000);
  EXPECT_NEAR(static_cast<double>(of_job(two)), 150'000 * 25 * 4.0 / 7, 600'000);
  EXPECT_FALSE(store->usage({.after = {}, .uid = 1000, .most = 10})->empty());
  EXPECT_TRUE(store->usage({.after = {}, .uid = 1001, .most = 10})->empty());
}

TEST_F(LoopUse, IsThatOfOthersWhereTheyHaveAnInstance) {
  const auto foreign = machine.make_foreign(0, "3g.20gb");
  ASSERT_TRUE(foreign);
  ASSERT_TRUE(machine.start_process(*foreign, 4711));
  run(300ms);
  run_at(20s, 150'000);
  run(6s);
  EXPECT_EQ(sums().millijoules, 20 * 150'000);
  // What it draws beyond the 50 W of the model's table, also in the time after the last draw.
  EXPECT_NEAR(static_cast<double>(sums(UseKind::foreign).millijoules), 20 * 100'000, 300'000);
  EXPECT_EQ(sums(UseKind::jobs).millijoules, 0);
}

/// Killed at any moment: what was noted last is where the next daemon goes on.
TEST_F(LoopUse, SurvivesTheDaemonToTheMillijoule) {
  run(10s);
  Random random(3);
  std::vector<JobNumber> submitted;
  for (int life = 0; life < 12; ++life) {
    submitted.push_back(submit(sized(life % 2 == 0 ? "3g.20gb" : "1g.5gb"), 45s));
    run_at(std::chrono::seconds(1 + random.below(70)), 90'000);
    control.reset();
    executor.reset();
    // The driver counts on while no daemon is there.
    const auto away = std::chrono::seconds(random.below(40));
    now += away;
    jobs.advance_to(Instant{} + now);
    draw(70'000 * away.count());
    begin();
    ASSERT_FALSE(HasFatalFailure());
  }
  run_at(120s, 60'000);
  run(70s);
  EXPECT_EQ(sums().millijoules, static_cast<std::int64_t>(drawn_));
  std::int64_t of_jobs = 0;
  for (const JobNumber each : submitted) {
    EXPECT_EQ(record(each).state, JobState::finished);
    EXPECT_GT(of_job(each), 0);
    of_jobs += of_job(each);
  }
  EXPECT_EQ(of_jobs, sums(UseKind::jobs).millijoules);
  EXPECT_EQ(sums(UseKind::jobs).jobs, 12);
  EXPECT_EQ(sums(UseKind::jobs).attempts, 12);
}

TEST_F(LoopUse, IsUnknownWhereTheCounterGoesBackOrIsNotThere) {
  run(10s);
  run_at(10s, 100'000);
  const JobNumber job = submit(sized("7g.40gb"), 50s);
  run_at(20s, 100'000);
  run(6s);
  const std::int64_t before = sums().millijoules;
  EXPECT_EQ(before, 30 * 100'000);
  machine.door(0).energy_mj = 17;  // the driver was loaded anew
  run(10s);
  EXPECT_EQ(sums().millijoules, before);
  bool told = false;
  const auto events = store->events(0, {}, 1000);
  for (const EventRecord& each : *events) told = told || each.kind == "energy-unknown";
  EXPECT_TRUE(told);
  EXPECT_NEAR(
      in_seconds(control->job(job)->energy.unmetered + control->unwritten_energy(job).unmetered), 5,
      6);
  machine.door(0).energy_mj = 100'017;
  run(10s);
  EXPECT_EQ(sums().millijoules, before + 100'000);
  machine.door(0).energy_mj.reset();
  run(100s);
  EXPECT_GT(in_seconds(record(job).energy.unmetered), 5);
  EXPECT_GT(sums().unmetered, Duration{});
}

TEST_F(LoopUse, OfOneReadingThatFailsIsInTheNext) {
  run(10s);
  const JobNumber job = submit(sized("7g.40gb"), 100s);
  run_at(10s, 100'000);
  machine.door(0).energy_mj.reset();
  run(12s);
  machine.door(0).energy_mj = start + drawn_ + 1'000'000;
  run(10s);
  EXPECT_EQ(sums().millijoules, 2'000'000);
  EXPECT_EQ(sums().unmetered, Duration{});
  EXPECT_GT(of_job(job), 0);
}

/// While nothing happens a GPU is noted once a minute.
TEST_F(LoopUse, OfJobsThatRunIsWrittenOnceAMinute) {
  run(10s);
  submit(sized("7g.40gb"), 3600s);
  run(10s);
  const std::uint64_t before = disk.writes();
  run_at(600s, 100'000);
  run(6s);
  EXPECT_LE(disk.writes() - before, 12U);
  EXPECT_GE(disk.writes() - before, 9U);
  EXPECT_EQ(sums().millijoules, 600 * 100'000);
}

TEST_F(LoopUse, IsForgottenAfterSomeDays) {
  settings.keep_usage_days = 2;
  settings.look_every = 10min;
  begin();
  run(10s);
  run_at(10s, 100'000);
  run(20min);
  ASSERT_GT(sums({}, false).millijoules, 0);
  run(24h * 4);
  const auto left = store->usage({.after = {}, .uid = {}, .most = 100});
  for (const UsageRow& each : *left) EXPECT_GE(each.key.day, day_of(moment().wall) - 2);
}

}  // namespace
}  // namespace cleave::trial
