// Jobs in one GPU instance: equal ones follow the law of batches, unlike ones a slow reference that
// knows only the definition, and none gains by its neighbours.

#include "physics/instance_sharing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "physics/batch_law.hpp"

namespace cleave {
namespace {

constexpr SharingMode modes[] = {SharingMode::mps, SharingMode::time_slicing,
                                 SharingMode::compute_instances};

std::vector<double> times(SharingMode mode, const std::vector<SharingJob>& jobs,
                          const SharingOptions& options = {}) {
  std::vector<double> all(jobs.size());
  times_together(mode, options, jobs, all);
  return all;
}

double joined(double a, double b, double p) {
  if (a == 0 || b == 0) return a + b;
  const double most = std::max(a, b);
  return most * std::pow(std::pow(a / most, p) + std::pow(b / most, p), 1 / p);
}

TEST(InstanceSharing, EqualJobsUnderMpsFollowTheLawOfBatches) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const BatchLaw law{random.uniform() * 20, random.uniform(), 0, 0};
    const double gpu_bound = 1 + 6 * random.uniform();
    const int n = 1 + static_cast<int>(random.below(7));
    const SharingJob job{.fixed = law.fixed,
                         .compute = law.per_batch * gpu_bound,
                         .overlap = batch_constants.overlap};
    for (const double time : times(SharingMode::mps, std::vector(static_cast<std::size_t>(n), job)))
      EXPECT_NEAR(time / batch_time(law, 1, gpu_bound, n), 1, 1e-12);
  }
}

TEST(InstanceSharing, EqualSaturatedJobsUnderTimeSlicingTakeTheirTurns) {
  const SharingJob job{.compute = 2};
  for (const double time : times(SharingMode::time_slicing, std::vector(5, job), {0.1, true}))
    EXPECT_NEAR(time, 5 * 2 * 1.1, 1e-12);
  EXPECT_NEAR(times(SharingMode::time_slicing, {job}, {0.1, true}).front(), 2, 1e-12);
}

TEST(InstanceSharing, FixedPartsOverlapUnderTimeSlicingOnlyIfTheyLeaveTheGpu) {
  const std::vector<SharingJob> jobs(4, SharingJob{.fixed = 10, .compute = 0.1, .overlap = 2.5});
  for (const double time : times(SharingMode::time_slicing, jobs, {0, true}))
    EXPECT_NEAR(time, 4 * joined(10, 0.1, 2.5), 1e-9);
  for (const double time : times(SharingMode::time_slicing, jobs, {0, false}))
    EXPECT_NEAR(time, joined(10, 0.4, 2.5), 1e-9);
}

TEST(InstanceSharing, ComputeInstancesShareBandwidthOnly) {
  const SharingJob computes{.compute = 3, .part = 1.0 / 7, .reach = 0.4};
  for (const double time : times(SharingMode::compute_instances, std::vector(7, computes)))
    EXPECT_NEAR(time, 21, 1e-12);
  const SharingJob streams{.bandwidth = 1, .part = 1.0 / 7, .reach = 0.4};
  EXPECT_NEAR(times(SharingMode::compute_instances, {streams}).front(), 1 / 0.4, 1e-12);
  for (const double time : times(SharingMode::compute_instances, std::vector(2, streams)))
    EXPECT_NEAR(time, 1 / 0.4, 1e-12) << "two of them do not reach all of it";
  for (const double time : times(SharingMode::compute_instances, std::vector(7, streams)))
    EXPECT_NEAR(time, 7, 1e-12);
  const auto unlike = times(SharingMode::compute_instances, {computes, streams});
  EXPECT_NEAR(unlike[0], 21, 1e-12);
  EXPECT_NEAR(unlike[1], 1 / 0.4, 1e-12);
}

TEST(InstanceSharing, PercentagesThatFitSideBySideShareNoProcessors) {
  const SharingJob half{.compute = 1, .part = 0.5};
  for (const double time : times(SharingMode::mps, {half, half})) EXPECT_NEAR(time, 2, 1e-12);
  const SharingJob most{.compute = 1, .part = 0.8};
  for (const double time : times(SharingMode::mps, {most, most}))
    EXPECT_NEAR(time, 1.25 * (1 + 0.96 * 0.6), 1e-12) << "each gets half instead of 0.8";
}

TEST(InstanceSharing, PercentagesNearAHundredComeToTheLawWithoutThem) {
  const SharingJob free{.transfer = 0.2, .fixed = 0.1, .compute = 0.3, .bandwidth = 0.4};
  SharingJob limited = free;
  const double law = times(SharingMode::mps, std::vector(7, free)).front();
  double off = 1;
  for (const double part : {0.9, 0.99, 0.999, 0.9999}) {
    limited.part = part;
    const double time = times(SharingMode::mps, std::vector(7, limited)).front();
    EXPECT_LT(std::abs(time / law - 1), off / 2) << part;
    off = std::abs(time / law - 1);
  }
  EXPECT_LT(off, 1e-3);
}

SharingJob some_job(Random& random) {
  const auto part = [&] { return random.below(3) == 0 ? 0 : 3 * random.uniform(); };
  SharingJob job{.transfer = part(), .fixed = part(), .compute = part(), .bandwidth = part()};
  job.overlap = random.below(3) == 0 ? 1 : 1 + 5 * random.uniform();
  if (random.below(2) == 0) job.part = 0.1 + 0.9 * random.uniform();
  if (random.below(2) == 0) job.reach = 0.3 + 0.7 * random.uniform();
  return job;
}

/// Each rate in turn is put where the definition wants it, beside the others as they are, until
/// none moves. For MPS without limits and time slicing, where all GPU work is contested.
std::vector<double> times_slowly(SharingMode mode, const SharingOptions& options,
                                 std::vector<SharingJob> jobs) {
  const auto n = static_cast<double>(jobs.size());
  double k = 1 + batch_constants.work_growth;
  if (mode == SharingMode::time_slicing) k = 1 + options.switch_cost * n / std::max(1.0, n - 1);
  for (SharingJob& job : jobs) {
    job.compute += job.bandwidth;
    job.bandwidth = 0;
    if (mode == SharingMode::mps) job.fixed *= 1 + batch_constants.floor_growth * (n - 1);
    if (mode != SharingMode::time_slicing || !options.fixed_holds) continue;
    job.compute = joined(job.fixed, job.compute, job.overlap);
    job.fixed = 0;
  }
  std::vector<double> rates(jobs.size(), 0);
  const auto filled = [&](std::size_t i, double rate) {
    double gpu = jobs[i].compute * rate;
    for (std::size_t j = 0; j < jobs.size(); ++j)
      if (j != i) gpu += k * std::min(jobs[i].compute * rate, jobs[j].compute * rates[j]);
    return jobs[i].transfer * rate + joined(jobs[i].fixed * rate, gpu, jobs[i].overlap);
  };
  for (int sweep = 0; sweep < 300; ++sweep)
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      double low = 0, high = 1e6;
      for (int step = 0; step < 100; ++step) {
        const double middle = (low + high) / 2;
        (filled(i, middle) < 1 ? low : high) = middle;
      }
      rates[i] = low;
    }
  std::vector<double> all;
  for (const double rate : rates) all.push_back(rate > 9e5 ? 0 : 1 / rate);
  return all;
}

TEST(InstanceSharing, UnlikeJobsMeetTheDefinition) {
  Random random(2);
  for (int round = 0; round < 60; ++round) {
    std::vector<SharingJob> jobs;
    for (std::uint64_t i = 2 + random.below(4); i > 0; --i) {
      SharingJob job = some_job(random);
      job.part = job.reach = 1;
      // Both resources, so that all of it is contested.
      job.compute += 0.01;
      job.bandwidth += 0.01;
      jobs.push_back(job);
    }
    const SharingMode mode = modes[random.below(2)];
    const SharingOptions options{random.uniform(), random.below(2) == 0};
    const auto quick = times(mode, jobs, options), slow = times_slowly(mode, options, jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      EXPECT_NEAR(quick[i] / slow[i], 1, 1e-6) << "round " << round << " job " << i;
  }
}

TEST(InstanceSharing, NoJobGainsByNeighboursAndNothingIsOverdrawn) {
  Random random(3);
  int crowded = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<SharingJob> jobs;
    for (std::uint64_t i = 1 + random.below(7); i > 0; --i) jobs.push_back(some_job(random));
    const SharingMode mode = modes[random.below(3)];
    const SharingOptions options{random.uniform(), random.below(2) == 0};
    const auto together = times(mode, jobs, options);
    double gpu = 0, bandwidth = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const double alone = times(mode, {jobs[i]}, options).front();
      ASSERT_GE(together[i], alone * (1 - 1e-12)) << "round " << round;
      if (together[i] > 0) gpu += (jobs[i].compute + jobs[i].bandwidth) / together[i];
      if (together[i] > 0) bandwidth += jobs[i].bandwidth / together[i];
      // Fair turns: no job waits for more of each other than it works itself.
      const double k = 1 + 2 * options.switch_cost;
      const double more = mode == SharingMode::mps ? 1.5 : 1.2;  // limited and contested at once
      ASSERT_LE(together[i], more * k * static_cast<double>(jobs.size()) * alone + 1e-9);
    }
    // What processors do and what memory does may overlap under MPS, where it need not collide.
    if (mode == SharingMode::time_slicing) {
      ASSERT_LE(gpu, 1 + 1e-9);
    }
    if (mode == SharingMode::compute_instances) {
      ASSERT_LE(bandwidth, 1 + 1e-9);
    }
    crowded += gpu > 0.999 ? 1 : 0;
  }
  EXPECT_GT(crowded, 1000);
}

TEST(InstanceSharing, ContextsTakeWhatWasMeasured) {
  EXPECT_EQ(sharing_memory(SharingMode::compute_instances, 7), MiB{0});
  EXPECT_EQ(sharing_memory(SharingMode::time_slicing, 7), MiB{3605});  // 7 x 540 MB
  EXPECT_EQ(sharing_memory(SharingMode::mps, 7), MiB{172});            // 600 MB less 7 x 60
  EXPECT_EQ(sharing_memory(SharingMode::mps, 12), MiB{0});
  EXPECT_EQ(sharing_memory(SharingMode::time_slicing, 1), MiB{0});
}

}  // namespace
}  // namespace cleave
