// What was used between two readings: sums are exact, each has what was theirs, and what is not
// known is said.

#include "control/verdicts/use_verdicts.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "base/format.hpp"
#include "base/random.hpp"

namespace cleave {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const GpuModel& a100() {
  return **find_gpu_model("A100-40GB");
}
constexpr Instant noon{hours(24 * 20'000 + 12)};

Tenancy tenancy(JobNumber job, std::string device, std::int64_t slices) {
  Tenancy one;
  one.job = job;
  one.device = std::move(device);
  one.slices = slices;
  one.party = {1000 + static_cast<std::uint32_t>(job), 100, "resnet"};
  one.user = "ada";
  return one;
}

/// Ten seconds, in which so much more than idle was used.
MeteredTime ten_seconds(std::int64_t more) {
  MeteredTime time;
  time.gpu = "GPU-a";
  time.model = &a100();
  time.from = noon;
  time.to = noon + seconds(10);
  time.energy = Millijoules{gpu_power(a100()).idle.value * 10 + more};
  return time;
}

UsageSums of(const GpuUse& use, UseKind kind, JobNumber job = 0) {
  UsageSums sums;
  for (const auto& [key, row] : use.rows)
    if (key.kind == kind && (job == 0 || key.party.uid == 1000 + job)) sums += row.sums;
  return sums;
}
UsageSums all_of(const GpuUse& use) {
  UsageSums sums;
  for (const auto& [key, row] : use.rows) sums += row.sums;
  return sums;
}

TEST(Use, OfTwoInstancesGoesByTheirSlices) {
  MeteredTime time = ten_seconds(700'000);
  time.tenancies = {tenancy(1, "MIG-1", 3), tenancy(2, "MIG-2", 4)};
  const GpuUse use = divide_use(time);
  EXPECT_EQ(use.jobs.at(1).millijoules, 300'000);
  EXPECT_EQ(use.jobs.at(2).millijoules, 400'000);
  EXPECT_EQ(use.devices.at("MIG-2"), 400'000);
  EXPECT_EQ(of(use, UseKind::jobs, 1).slice_time, seconds(30));
  EXPECT_EQ(of(use, UseKind::idle).slice_time, Duration{});
  EXPECT_EQ(of(use, UseKind::idle).millijoules, gpu_power(a100()).idle.value * 10);
  EXPECT_EQ(all_of(use).millijoules, time.energy->value);
}

TEST(Use, GoesByHowBusyAnInstanceWasWhereThatIsCounted) {
  MeteredTime time = ten_seconds(600'000);
  time.tenancies = {tenancy(1, "MIG-1", 3), tenancy(2, "MIG-2", 3)};
  time.tenancies[0].busy = 0.2;
  time.tenancies[1].busy = 0.4;
  const GpuUse use = divide_use(time);
  EXPECT_NEAR(static_cast<double>(*use.jobs.at(1).millijoules), 200'000, 2);
  EXPECT_NEAR(static_cast<double>(*use.jobs.at(2).millijoules), 400'000, 2);
}

TEST(Use, OfJobsThatShareAnInstanceIsThatOfTheInstance) {
  MeteredTime time = ten_seconds(700'000);
  time.tenancies = {tenancy(1, "MIG-1", 3), tenancy(2, "MIG-1", 3), tenancy(3, "MIG-2", 4)};
  time.tenancies[1].from = noon + seconds(5);  // only half of the time
  const GpuUse use = divide_use(time);
  EXPECT_EQ(of(use, UseKind::jobs, 1).slice_time + of(use, UseKind::jobs, 2).slice_time,
            seconds(30));
  EXPECT_NEAR(static_cast<double>(*use.jobs.at(1).millijoules), 200'000, 2);
  EXPECT_NEAR(static_cast<double>(*use.jobs.at(2).millijoules), 100'000, 2);
  EXPECT_NEAR(static_cast<double>(use.devices.at("MIG-1")), 300'000, 2);
}

TEST(Use, OfJobsOneAfterTheOtherGoesByTheirTimes) {
  MeteredTime time = ten_seconds(900'000);
  time.tenancies = {tenancy(1, "GPU-a", 7), tenancy(2, "GPU-a", 7)};
  time.tenancies[0].to = noon + seconds(3);
  time.tenancies[1].from = noon + seconds(4);
  const GpuUse use = divide_use(time);
  EXPECT_NEAR(static_cast<double>(*use.jobs.at(1).millijoules), 300'000, 2);
  EXPECT_NEAR(static_cast<double>(*use.jobs.at(2).millijoules), 600'000, 2);
  EXPECT_EQ(of(use, UseKind::idle).slice_time, seconds(7));
}

TEST(Use, OfOthersIsNotOurs) {
  MeteredTime time = ten_seconds(700'000);
  time.tenancies = {tenancy(1, "MIG-1", 3)};
  time.foreign = {{4, true}, {0, false}};
  const GpuUse use = divide_use(time);
  EXPECT_EQ(use.jobs.at(1).millijoules, 300'000);
  EXPECT_EQ(of(use, UseKind::foreign).millijoules, 400'000);
  EXPECT_EQ(of(use, UseKind::foreign).slice_time, seconds(40));
  time.foreign[0].works = false;
  EXPECT_EQ(divide_use(time).jobs.at(1).millijoules, 700'000);
}

TEST(Use, WithoutACounterIsUnmeteredAndNotMadeUp) {
  MeteredTime time = ten_seconds(0);
  time.energy.reset();
  time.tenancies = {tenancy(1, "MIG-1", 3)};
  const GpuUse use = divide_use(time);
  EXPECT_EQ(use.jobs.at(1).millijoules, std::nullopt);
  EXPECT_EQ(use.jobs.at(1).unmetered, seconds(10));
  EXPECT_EQ(all_of(use).millijoules, 0);
  EXPECT_EQ(all_of(use).unmetered, seconds(70));
  EXPECT_TRUE(use.devices.empty());
}

TEST(Use, OfSeveralDaysIsDividedByDays) {
  MeteredTime time = ten_seconds(0);
  time.from = noon;
  time.to = noon + hours(36);
  time.energy = Millijoules{3'600'000'001};
  time.tenancies = {tenancy(1, "MIG-1", 7)};
  const GpuUse use = divide_use(time);
  std::map<std::int64_t, std::int64_t> by_day;
  for (const auto& [key, row] : use.rows) by_day[key.day] += row.sums.millijoules;
  ASSERT_EQ(by_day.size(), 2U);
  EXPECT_EQ(by_day.at(20'000), 1'200'000'000);
  EXPECT_EQ(by_day.at(20'001), 2'400'000'001);
}

/// Anything may run on anything, at any time: nothing is lost and nothing counts twice.
TEST(Use, IsAlwaysTheWhole) {
  Random random(5);
  for (int round = 0; round < 20'000; ++round) {
    MeteredTime time = ten_seconds(0);
    const auto some = [&](std::uint64_t most) {
      return static_cast<std::int64_t>(random.below(most));
    };
    time.to =
        time.from + Duration{1 + some(random.below(10) == 0 ? 400'000'000'000'000 : 9'000'000'000)};
    time.energy = Millijoules{some(random.below(5) == 0 ? 1'000'000'000'000 : 3'000'000)};
    if (random.below(2) == 0) time.idle = Milliwatts{some(100'000)};
    std::int64_t left = 7;
    for (int device = 0; left > 0 && random.below(4) != 0; ++device) {
      const std::int64_t slices = 1 + some(static_cast<std::uint64_t>(left));
      left -= slices;
      for (std::uint64_t jobs = random.below(4); jobs > 0; --jobs) {
        Tenancy one = tenancy(1 + some(5), fmt::format("MIG-{}", device), slices);
        one.from = time.from + Duration{some(20'000'000'000) - 10'000'000'000};
        if (random.below(2) == 0) one.to = one.from + Duration{some(10'000'000'000)};
        if (random.below(2) == 0) one.busy = random.uniform();
        time.tenancies.push_back(one);
      }
    }
    if (left > 0 && random.below(3) == 0) time.foreign = {{left, random.below(2) == 0}};
    const GpuUse use = divide_use(time);
    const UsageSums all = all_of(use);
    ASSERT_EQ(all.millijoules, time.energy->value) << round;
    // Parts of an instance are cut to nanoseconds.
    ASSERT_EQ(all.slice_time, 7 * (time.to - time.from)) << round;
    std::int64_t of_jobs = 0, of_devices = 0;
    for (const auto& [job, energy] : use.jobs) of_jobs += energy.millijoules.value_or(0);
    for (const auto& [device, energy] : use.devices) of_devices += energy;
    ASSERT_EQ(of_jobs, of(use, UseKind::jobs).millijoules);
    ASSERT_EQ(of_devices, of_jobs);
    for (const auto& [key, row] : use.rows) {
      ASSERT_GE(row.sums.millijoules, 0);
      ASSERT_GE(row.sums.slice_time.count(), 0);
    }
  }
}

TEST(Use, OfACounterIsWhatItShowsMore) {
  const MeterReading last{1'000'000, noon, seconds(5)};
  MeterReading now{1'500'000, noon + seconds(10), seconds(15)};
  EXPECT_EQ(step_of(last, now, a100()).energy, Millijoules{500'000});
  EXPECT_TRUE(step_of(last, now, a100()).doubt.empty());
  now.millijoules = 999'999;
  EXPECT_FALSE(step_of(last, now, a100()).energy);
  EXPECT_NE(step_of(last, now, a100()).doubt.find("gone back"), std::string::npos);
  now.millijoules = std::uint64_t{1} << 63;
  EXPECT_FALSE(step_of(last, now, a100()).energy);
  EXPECT_NE(step_of(last, now, a100()).doubt.find("cannot be"), std::string::npos);
  now.millijoules.reset();
  EXPECT_FALSE(step_of(last, now, a100()).energy);
  EXPECT_TRUE(step_of(last, now, a100()).doubt.empty()) << "it has none, which is no doubt";
  // An earlier daemon's: by the clock of the wall.
  EXPECT_EQ(
      step_of({1'000'000, noon, {}}, {1'500'000, noon + seconds(10), seconds(1)}, a100()).energy,
      Millijoules{500'000});
}

TEST(Use, TheIdlePowerIsMeasuredWhileNothingRuns) {
  MeteredTime time = ten_seconds(-30'000);
  EXPECT_EQ(idle_power(time), gpu_power(a100()).idle - Milliwatts{3000});
  time.foreign = {{7, false}};
  EXPECT_TRUE(idle_power(time));
  time.foreign = {{7, true}};
  EXPECT_FALSE(idle_power(time));
  time.foreign.clear();
  time.tenancies = {tenancy(1, "MIG-1", 1)};
  EXPECT_FALSE(idle_power(time));
  time.tenancies[0].from = time.to;
  EXPECT_TRUE(idle_power(time));
  time.to = time.from + seconds(1);
  EXPECT_FALSE(idle_power(time)) << "too short to tell";
}

}  // namespace
}  // namespace cleave
