// Energy of a run by hand, and its parts against the whole under random changes.

#include "simulate/energy_account.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cleave {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Milliwatts watts(std::int64_t value) {
  return {1000 * value};
}

TEST(EnergyAccount, ByHand) {
  EnergyAccount account(1, 1, milliseconds(1500), Instant{});
  account.gpu_idles(GpuId{0}, watts(30), Instant{});
  // Decided at 1 s, draws from 2 s on, ends at 5 s.
  account.job_draws(JobId{0}, watts(100), Instant{} + seconds(2), Instant{} + seconds(1));
  account.job_draws(JobId{0}, {}, Instant{} + seconds(5), Instant{} + seconds(5));
  RunSummary s;
  account.finish(Instant{} + seconds(10), s);
  EXPECT_DOUBLE_EQ(*s.idle_energy_j, 300);
  EXPECT_DOUBLE_EQ(*s.job_energy_j, 300);
  EXPECT_DOUBLE_EQ(*s.energy_j, 600);
  EXPECT_DOUBLE_EQ(account.joules(JobId{0}), 300);
  EXPECT_DOUBLE_EQ(*s.power_mean_w, 60);
  EXPECT_DOUBLE_EQ(*s.power_peak_w, 130);
  // Samples at 0, 1.5, 3, 4.5, 6, 7.5 and 9 s, of which two see the job.
  EXPECT_DOUBLE_EQ(*s.sampled_energy_j, (7 * 30 + 2 * 100) * 1.5);
}

TEST(EnergyAccount, ChangesAtOneInstantMakeNoPeak) {
  EnergyAccount account(2, 0, {}, Instant{});
  account.job_draws(JobId{0}, watts(100), Instant{}, Instant{});
  account.job_draws(JobId{1}, watts(100), Instant{} + seconds(1), Instant{} + seconds(1));
  account.job_draws(JobId{0}, {}, Instant{} + seconds(1), Instant{} + seconds(1));
  RunSummary s;
  account.finish(Instant{} + seconds(2), s);
  EXPECT_DOUBLE_EQ(*s.power_peak_w, 100);
}

TEST(EnergyAccount, WhatWasToComeAndIsCalledOffDrawsNothing) {
  EnergyAccount account(1, 0, {}, Instant{});
  account.job_draws(JobId{0}, watts(100), Instant{} + seconds(5), Instant{});
  account.job_draws(JobId{0}, {}, Instant{} + seconds(3), Instant{} + seconds(3));
  RunSummary s;
  account.finish(Instant{} + seconds(10), s);
  EXPECT_EQ(*s.energy_j, 0);
  EXPECT_EQ(*s.power_peak_w, 0);
}

TEST(EnergyAccount, ThePartsAreTheWholeToTheMillijoule) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    constexpr std::size_t jobs = 5, gpus = 2;
    EnergyAccount account(jobs, gpus, {}, Instant{});
    Instant now{};
    for (int change = 0; change < 300; ++change) {
      if (random.below(3) > 0) now += Duration{static_cast<std::int64_t>(random.below(1ULL << 40))};
      const Milliwatts power{static_cast<std::int64_t>(random.below(3) * random.below(700'000))};
      const std::size_t which = random.below(jobs + gpus);
      if (which >= jobs) {
        account.gpu_idles(static_cast<GpuId>(which - jobs), power, now);
      } else {
        const Duration later{static_cast<std::int64_t>(random.below(2) * random.below(1ULL << 38))};
        account.job_draws(static_cast<JobId>(which), power, now + later, now);
      }
    }
    RunSummary s;
    account.finish(now + seconds(400), s);
    EXPECT_NEAR(*s.energy_j, *s.job_energy_j + *s.idle_energy_j, 1e-3 + 1e-15 * *s.energy_j);
    double sum = 0;
    for (std::size_t job = 0; job < jobs; ++job) sum += account.joules(static_cast<JobId>(job));
    EXPECT_NEAR(sum, *s.job_energy_j, 1e-3);
    EXPECT_GE(*s.power_peak_w, *s.power_mean_w);
  }
}

}  // namespace
}  // namespace cleave
