#include "simulate/advice/conclusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cleave {
namespace {

using enum CandidateRole;

constexpr std::size_t draws = 20;

/// About `time` with a wobble of its own, the same for all candidates of one draw.
CandidateTimes about(CandidateRole role, double time, std::size_t without_luck = 0) {
  CandidateTimes candidate{role, {}};
  for (std::size_t i = 0; i < draws; ++i) {
    const double day = 1 + 0.3 * static_cast<double>(i % 5);
    candidate.turnaround_s.push_back(day * (i < without_luck ? 2 * time : time));
  }
  return candidate;
}

TEST(Conclusions, OneClearWinner) {
  const std::vector<CandidateTimes> candidates = {about(whole_gpus, 100), about(changing, 80),
                                                  about(changing, 60), about(fixed_layout, 90),
                                                  about(hindsight, 10)};
  const Conclusion conclusion = conclude(candidates, DrawKind::resampled);
  EXPECT_EQ(conclusion.mig_over_whole->difference, Difference::shorter);
  EXPECT_NEAR(conclusion.mig_over_whole->median, 0.6, 1e-12);
  EXPECT_EQ(conclusion.scheduler, 2U) << "what knows the future is not advised";
  EXPECT_TRUE(conclusion.as_good.empty());
  EXPECT_EQ(conclusion.fixed_layout, 3U);
  EXPECT_NEAR(conclusion.fixed_over_others->median, 1.5, 1e-12);
  EXPECT_NEAR(conclusion.fixed_over_whole->median, 0.9, 1e-12);
}

TEST(Conclusions, MigHurts) {
  const std::vector<CandidateTimes> candidates = {about(whole_gpus, 100), about(whole_gpus, 95),
                                                  about(changing, 140), about(fixed_layout, 150)};
  const Conclusion conclusion = conclude(candidates, DrawKind::independent);
  EXPECT_EQ(conclusion.mig_over_whole->difference, Difference::longer);
  EXPECT_EQ(conclusion.scheduler, 1U);
  EXPECT_EQ(conclusion.as_good, std::vector<std::size_t>{}) << "0 is 5 % longer in every draw";
}

TEST(Conclusions, NoDifferenceKeepsWholeGpus) {
  // Shorter by 10 % in most draws, twice as long in 5 of 20.
  const std::vector<CandidateTimes> candidates = {about(whole_gpus, 100), about(changing, 90, 5)};
  const Conclusion conclusion = conclude(candidates, DrawKind::resampled);
  EXPECT_EQ(conclusion.mig_over_whole->difference, Difference::none);
  EXPECT_EQ(conclusion.scheduler, 0U);
  EXPECT_EQ(conclusion.as_good, std::vector<std::size_t>{1});
}

TEST(Conclusions, AFixedLayoutOnlyWhereItIsClearlyShorter) {
  // The layout is ahead in the mean, but not beyond the spread.
  std::vector<CandidateTimes> candidates = {about(whole_gpus, 100), about(changing, 60),
                                            about(fixed_layout, 50, 3)};
  Conclusion conclusion = conclude(candidates, DrawKind::resampled);
  EXPECT_EQ(conclusion.mig, 1U);
  EXPECT_EQ(conclusion.scheduler, 1U);
  EXPECT_EQ(conclusion.as_good, std::vector<std::size_t>{2});
  candidates[2] = about(fixed_layout, 50);
  conclusion = conclude(candidates, DrawKind::resampled);
  EXPECT_EQ(conclusion.scheduler, 2U);
}

TEST(Conclusions, WhatDidNotRunIsNotWeighed) {
  const std::vector<CandidateTimes> candidates = {
      {whole_gpus, {}}, about(changing, 50), {fixed_layout, {}}};
  const Conclusion conclusion = conclude(candidates, DrawKind::resampled);
  EXPECT_FALSE(conclusion.mig_over_whole.has_value());
  EXPECT_FALSE(conclusion.fixed_layout.has_value());
  EXPECT_FALSE(conclusion.whole_gpus.has_value());
  EXPECT_EQ(conclusion.scheduler, 1U);
  EXPECT_FALSE(conclude({}, DrawKind::resampled).scheduler.has_value());
  EXPECT_TRUE(best_times(std::vector<CandidateTimes>{{hindsight, {1, 2}}}).empty());
}

TEST(Conclusions, CandidatesAreSpecsOfTheTable) {
  std::vector<std::string> seen;
  for (const AdviceCandidate& candidate : advice_candidates()) {
    seen.push_back(candidate.spec.text);
    if (candidate.spec.row->truth) {
      EXPECT_EQ(candidate.role, hindsight) << candidate.spec.text;
    }
    if (candidate.role == whole_gpus) {
      EXPECT_TRUE(candidate.spec.row->whole_gpus) << candidate.spec.text;
    }
  }
  std::ranges::sort(seen);
  EXPECT_TRUE(std::ranges::adjacent_find(seen) == seen.end());
}

}  // namespace
}  // namespace cleave
