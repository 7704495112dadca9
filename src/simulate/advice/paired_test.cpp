#include "simulate/advice/paired.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cleave {
namespace {

/// `shorter` draws at 0.8 of the other's time, the rest at 1.3.
std::vector<double> times_with(std::size_t shorter, std::size_t draws) {
  std::vector<double> times(draws, 1.3);
  std::fill_n(times.begin(), shorter, 0.8);
  return times;
}

Difference said(std::size_t shorter, std::size_t draws, DrawKind kind) {
  return paired_ratio(times_with(shorter, draws), std::vector<double>(draws, 1), kind).difference;
}

TEST(PairedRatios, ResampledDrawsMayDisagreeOnceInTwenty) {
  EXPECT_EQ(said(20, 20, DrawKind::resampled), Difference::shorter);
  EXPECT_EQ(said(19, 20, DrawKind::resampled), Difference::shorter);
  EXPECT_EQ(said(18, 20, DrawKind::resampled), Difference::none);
  EXPECT_EQ(said(2, 20, DrawKind::resampled), Difference::none);
  EXPECT_EQ(said(1, 20, DrawKind::resampled), Difference::longer);
  EXPECT_EQ(said(6, 6, DrawKind::resampled), Difference::shorter);
  EXPECT_EQ(said(5, 6, DrawKind::resampled), Difference::none);
  // However many they are: more of them are no more evidence.
  EXPECT_EQ(said(900, 1000, DrawKind::resampled), Difference::none);
}

TEST(PairedRatios, IndependentDrawsAreCountedByASignTest) {
  EXPECT_EQ(said(15, 20, DrawKind::independent), Difference::shorter);  // 4.1 %
  EXPECT_EQ(said(14, 20, DrawKind::independent), Difference::none);     // 11.5 %
  EXPECT_EQ(said(5, 20, DrawKind::independent), Difference::longer);
  EXPECT_EQ(said(600, 1000, DrawKind::independent), Difference::shorter);
}

TEST(PairedRatios, FewDrawsOrASmallDifferenceSayNothing) {
  EXPECT_EQ(said(5, 5, DrawKind::resampled), Difference::too_few_draws);
  EXPECT_EQ(paired_ratio({}, {}, DrawKind::resampled).difference, Difference::too_few_draws);
  const std::vector<double> ones(20, 1), slightly(20, 0.985), clearly(20, 0.975);
  EXPECT_EQ(paired_ratio(slightly, ones, DrawKind::resampled).difference, Difference::none);
  EXPECT_EQ(paired_ratio(clearly, ones, DrawKind::resampled).difference, Difference::shorter);
}

TEST(PairedRatios, OfTwoTheOtherWayRoundSayTheOpposite) {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> a, b;
    for (std::size_t i = 0; i < 6 + random.below(20); ++i) {
      a.push_back(0.5 + random.uniform());
      b.push_back(0.2 + random.uniform());
    }
    for (const DrawKind kind : {DrawKind::independent, DrawKind::resampled}) {
      const PairedRatio one = paired_ratio(a, b, kind), other = paired_ratio(b, a, kind);
      EXPECT_EQ(one.difference == Difference::shorter, other.difference == Difference::longer);
      EXPECT_EQ(one.difference == Difference::none, other.difference == Difference::none);
      EXPECT_EQ(one.shorter, other.longer);
      EXPECT_LE(one.low, one.median);
      EXPECT_LE(one.median, one.high);
    }
  }
}

TEST(ChosenElsewhere, NoDrawJudgesWhatItChose) {
  // The first is good in even draws only, the second in odd ones only, the third always middling.
  const TimesByDraw times = {{1, 9, 1, 9}, {9, 1, 9, 1}, {5, 5, 5, 5}};
  EXPECT_EQ(chosen_elsewhere(times), (std::vector<double>{9, 9, 9, 9}));
}

TEST(ChosenElsewhere, IsTheWinnerWhereAllAgree) {
  const TimesByDraw times = {{4, 5, 6, 7}, {3, 4, 5, 6}};
  EXPECT_EQ(chosen_elsewhere(times), times[1]);
  EXPECT_EQ(chosen_elsewhere({{2}, {1}}), std::vector<double>{1}) << "a single draw has no others";
}

// Many that differ by chance alone: the best by all draws looks shorter, the honest choice does
// not.
TEST(ChosenElsewhere, DoesNotPraiseLuck) {
  Random random(11);
  double honest = 0, lucky = 0;
  constexpr int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    TimesByDraw times(12);
    for (auto& of : times)
      for (int draw = 0; draw < 20; ++draw) of.push_back(0.5 + random.uniform());
    const auto mean = [](const std::vector<double>& of) {
      double sum = 0;
      for (const double time : of) sum += time / static_cast<double>(of.size());
      return sum;
    };
    honest += mean(chosen_elsewhere(times)) / rounds;
    lucky += mean(times[lowest(times)]) / rounds;
  }
  EXPECT_NEAR(honest, 1, 0.01);
  EXPECT_LT(lucky, 0.95);
}

}  // namespace
}  // namespace cleave
