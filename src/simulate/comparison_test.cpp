// Comparing runs: figures computed by hand, and the rule by which a difference is more than chance.

#include "simulate/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/json.hpp"
#include "base/random.hpp"

namespace cleave {
namespace {

using End = JobOutcome::End;

JobOutcome finished(int wait, int turnaround) {
  using std::chrono::seconds;
  return {End::finished, seconds(wait), seconds(turnaround), seconds(turnaround - wait)};
}

const FigureComparison& turnaround(const RunComparison& comparison) {
  return *std::ranges::find(comparison.schedulers[1].figures, "turnaround_mean_s",
                            &FigureComparison::figure);
}

TEST(Comparison, TimesAreOfTheJobsThatAllFinish) {
  // The second scheduler gives up on the long job, the first on a short one.
  const std::vector<JobOutcome> runs[] = {
      {finished(1, 10), finished(2, 1000), {End::rejected, {}, {}, {}}},
      {finished(3, 30), {End::failed, {}, {}, {}}, finished(0, 1)}};
  const CommonTimes common = common_times(runs);
  EXPECT_EQ(common.jobs, 1U);
  EXPECT_FALSE(common.same_jobs);
  EXPECT_EQ(common.schedulers[0].turnaround.mean, std::chrono::seconds(10));
  EXPECT_EQ(common.schedulers[1].turnaround.mean, std::chrono::seconds(30));
  EXPECT_EQ(common.schedulers[1].wait.max, std::chrono::seconds(3));
  const std::vector<JobOutcome> same[] = {{finished(1, 2), {}}, {finished(1, 3), {}}};
  EXPECT_TRUE(common_times(same).same_jobs);
}

TEST(Comparison, ASchedulerThatCannotServeTheFleetTakesNoTimesFromTheOthers) {
  const JobOutcome rejected{End::rejected, {}, {}, {}};
  const std::vector<JobOutcome> runs[] = {{finished(1, 10), finished(2, 20), finished(3, 30)},
                                          {finished(0, 5), rejected, rejected},
                                          {finished(2, 12), finished(2, 22), finished(2, 32)}};
  EXPECT_EQ(finish_enough(runs), (std::vector<bool>{true, false, true}));
  const CommonTimes common = common_times(runs);
  EXPECT_EQ(common.jobs, 3U);
  EXPECT_TRUE(common.same_jobs);
  EXPECT_EQ(common.schedulers[0].turnaround.mean, std::chrono::seconds(20));
  EXPECT_FALSE(common.schedulers[1].compared);
  EXPECT_EQ(common.schedulers[1].turnaround.count, 0U);
  SeedRuns seed;
  seed.seed = 1;
  seed.common = common;
  seed.runs.resize(3);
  for (std::size_t s = 0; s < 3; ++s)
    seed.runs[s].makespan = std::chrono::seconds(30 * static_cast<int>(s + 1));
  const RunComparison comparison = compare(std::span(&seed, 1));
  EXPECT_EQ(comparison.schedulers[1].without_times, 1U);
  EXPECT_FALSE(comparison.schedulers[1].figures.front().ratio) << "it does other jobs";
  EXPECT_DOUBLE_EQ(comparison.schedulers[2].figures.front().ratio->median, 3);
  EXPECT_FALSE(turnaround(comparison).value);
  // Where nobody finishes anything, nobody is worse than the others.
  const std::vector<JobOutcome> none[] = {{rejected}, {rejected}};
  EXPECT_EQ(finish_enough(none), (std::vector<bool>{true, true}));
}

TEST(Comparison, MedianAndSpreadByHand) {
  EXPECT_EQ(spread_of({3, 1, 2}), (Spread{3, 2, 1, 3}));
  EXPECT_EQ(spread_of({4, 1, 2, 3}), (Spread{4, 2.5, 1, 4}));
  // Nine values: the quartiles are values.
  EXPECT_EQ(spread_of({9, 8, 7, 6, 5, 4, 3, 2, 1}), (Spread{9, 5, 3, 7}));
  EXPECT_EQ(spread_of({8, 7, 6, 5, 4, 3, 2, 1}), (Spread{8, 4.5, 2.75, 6.25}));
}

/// All outcomes of n fair coins, counted.
double sign_test_by_counting(unsigned lower, unsigned higher) {
  const unsigned all = lower + higher;
  unsigned as_uneven = 0;
  for (unsigned coins = 0; coins < 1U << all; ++coins) {
    const auto heads = static_cast<unsigned>(std::popcount(coins));
    as_uneven += std::min(heads, all - heads) <= std::min(lower, higher) ? 1 : 0;
  }
  return as_uneven / std::pow(2.0, all);
}

TEST(Comparison, SignTestCountsAllWays) {
  for (unsigned lower = 0; lower <= 7; ++lower)
    for (unsigned higher = 0; higher <= 7; ++higher)
      EXPECT_NEAR(sign_test(lower, higher), sign_test_by_counting(lower, higher), 1e-12);
  EXPECT_LT(sign_test(0, 6), 0.05);
  EXPECT_GT(sign_test(0, 5), 0.05);
  EXPECT_GT(sign_test(1, 7), 0.05);
  EXPECT_LT(sign_test(1, 8), 0.05);
}

/// Two schedulers that finish one job; its turnaround is given by seed.
std::vector<SeedRuns> runs_of(const std::vector<std::pair<int, int>>& turnarounds) {
  std::vector<SeedRuns> seeds;
  for (const auto& [first, second] : turnarounds) {
    SeedRuns& seed = seeds.emplace_back();
    seed.seed = seeds.size();
    seed.runs.resize(2);
    seed.runs[0].scheduler = "first";
    seed.runs[1].scheduler = "second";
    seed.runs[0].makespan = std::chrono::seconds(first);
    seed.runs[1].makespan = std::chrono::seconds(second);
    seed.common = common_times(
        std::vector<std::vector<JobOutcome>>{{finished(0, first)}, {finished(0, second)}});
  }
  return seeds;
}

TEST(Comparison, ASideThatAllSeedsAreOnExceedsTheSpread) {
  // Ratios spread from 0.5 to 0.9 and times overlap; paired by seed the second is lower each time.
  const RunComparison all =
      compare(runs_of({{100, 50}, {200, 180}, {300, 240}, {10, 9}, {90, 60}, {50, 40}}));
  EXPECT_EQ(turnaround(all).exceeds_spread, true);
  EXPECT_EQ(turnaround(all).lower, 6U);
  EXPECT_DOUBLE_EQ(turnaround(all).ratio->median, 0.8);
  EXPECT_DOUBLE_EQ(turnaround(all).ratio->low, 0.5);
  const RunComparison mixed =
      compare(runs_of({{100, 50}, {200, 180}, {300, 240}, {10, 9}, {90, 60}, {50, 51}}));
  EXPECT_EQ(turnaround(mixed).exceeds_spread, false);
  const RunComparison few = compare(runs_of({{100, 50}, {200, 18}, {300, 24}, {10, 1}, {90, 6}}));
  EXPECT_FALSE(turnaround(few).exceeds_spread) << "five seeds cannot tell";
}

TEST(Comparison, ARepeatedRunIsNotEvidence) {
  const RunComparison same = compare(runs_of(std::vector<std::pair<int, int>>(20, {100, 50})));
  EXPECT_EQ(same.distinct_seeds, 1U);
  EXPECT_FALSE(turnaround(same).exceeds_spread);
  EXPECT_EQ(turnaround(same).value->count, 1U);
}

TEST(Comparison, MakespansCompareOnlyWhereTheSameJobsFinish) {
  std::vector<SeedRuns> seeds = runs_of({{100, 50}, {200, 300}});
  seeds[0].common.same_jobs = false;
  const RunComparison comparison = compare(seeds);
  const FigureComparison& makespan = comparison.schedulers[1].figures.front();
  EXPECT_EQ(makespan.figure, "makespan_s");
  EXPECT_EQ(makespan.value->count, 2U);
  EXPECT_EQ(makespan.ratio->count, 1U);
  EXPECT_DOUBLE_EQ(makespan.ratio->median, 1.5);
  EXPECT_FALSE(comparison.same_jobs_always());
  EXPECT_EQ(to_json(comparison)["seeds"][0]["same_jobs"], false);
}

// If there is no difference, the rule finds one in at most a twentieth of all cases.
TEST(Comparison, ChanceSeldomExceedsTheSpread) {
  Random random(6);
  int found = 0;
  constexpr int cases = 2000;
  for (int i = 0; i < cases; ++i) {
    std::vector<std::pair<int, int>> turnarounds;
    for (int seed = 0; seed < 12; ++seed)
      turnarounds.emplace_back(1 + static_cast<int>(random.below(100000)),
                               1 + static_cast<int>(random.below(100000)));
    found += turnaround(compare(runs_of(turnarounds))).exceeds_spread == true ? 1 : 0;
  }
  EXPECT_LE(found, cases / 20);
  EXPECT_GT(found, 0) << "the test would not see a rule that never speaks";
}

}  // namespace
}  // namespace cleave
