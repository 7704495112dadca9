// A small form of `cleave reproduce online`: what is judged of it, and its parts.

#include "study/reproduce/reproduce_online.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cleave {
namespace {

OnlineReproduction small() {
  OnlineReproductionOptions options;
  options.seeds = 10;
  options.jobs = 120;
  options.surface = false;
  const auto reproduction = reproduce_online(options);
  EXPECT_TRUE(reproduction) << reproduction.error().text();
  return *reproduction;
}

TEST(OnlineReproduction, MigrationShortensExecutionAtBothLoads) {
  const OnlineReproduction reproduction = small();
  for (std::size_t w = 0; w < online_workloads.size(); ++w) {
    const OnlineOutcome& one = reproduction.points[0].workloads[w];
    EXPECT_LT(one.execution.high, 0) << online_workloads[w].name;
    EXPECT_GT(one.execution.mean, -30) << online_workloads[w].name;
    EXPECT_LT(one.wait.high, -30) << online_workloads[w].name;
    EXPECT_LT(one.makespan[everything].mean, one.makespan[no_migration].mean);
    EXPECT_LT(one.makespan[no_migration].mean, one.makespan[balancing].mean);
  }
  // The stated load.
  EXPECT_NEAR(reproduction.points[0].workloads[1].held, 0.5, 0.1);
}

// Migration acts by the link: without it, no task is faster anywhere else.
TEST(OnlineReproduction, WithoutALinkMigrationChangesNothing) {
  OnlineInputs with, without;
  without.link = LinkSharing::off;
  const auto crowded = concurrent_tokens(with, 5), apart = concurrent_tokens(without, 5);
  ASSERT_TRUE(crowded && apart);
  const std::size_t last = crowded->tasks.size() - 1;
  for (std::size_t model = 0; model < apart->models.size(); ++model)
    for (std::size_t m = 1; m < apart->methods.size(); ++m)
      EXPECT_EQ(apart->token_s[last][m][model], apart->token_s[last][0][model]);
  double slow = 0, quick = 0;
  for (std::size_t model = 0; model < apart->models.size(); ++model) {
    slow += crowded->token_s[last][0][model];
    quick += apart->token_s[last][0][model];
  }
  EXPECT_GT(slow, 1.05 * quick);
}

TEST(OnlineReproduction, PairedChangesHaveTheirIntervals) {
  const PairedChange same = paired_change({1, 2, 3, 4}, {2, 4, 6, 8});
  EXPECT_DOUBLE_EQ(same.mean, -50);
  EXPECT_NEAR(same.low, -50, 1e-9);
  EXPECT_NEAR(same.high, -50, 1e-9);
  EXPECT_EQ(same.lower, 4U);
  const PairedChange mixed = paired_change({9, 11, 10, 12, 8}, {10, 10, 10, 10, 10});
  EXPECT_NEAR(mixed.mean, 0, 1e-9);
  // The mean of five with a standard deviation of 15.81 %: t = 2.776 times 7.07 %.
  EXPECT_NEAR(mixed.high, 2.776 * 7.0711, 0.4);
  EXPECT_NEAR(mixed.low, -mixed.high, 1e-9);
  EXPECT_EQ(paired_change({1}, {0}).mean, 0) << "nothing to compare with";
}

TEST(OnlineReproduction, ThePageIsTheSameEachTimeAndNamesEveryClaim) {
  const OnlineReproduction reproduction = small();
  const std::string text = online_page(reproduction);
  OnlineReproductionOptions alone;
  alone.seeds = 10;
  alone.jobs = 120;
  alone.surface = false;
  alone.threads = 1;
  const auto again = reproduce_online(alone);
  ASSERT_TRUE(again);
  EXPECT_EQ(text, online_page(*again)) << "threads change nothing";
  const auto claims = online_claims(reproduction);
  EXPECT_EQ(claims.size(), 22U);
  for (const OnlineClaim& claim : claims)
    EXPECT_NE(text.find(claim.claim), std::string::npos) << claim.claim;
  for (const auto& [file, svg] : online_figures(reproduction)) {
    EXPECT_NE(text.find(file), std::string::npos);
    EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n")) << file;
    EXPECT_EQ(svg.find("nan"), std::string::npos) << file;
  }
}

TEST(OnlineReproduction, InstancesThatExistAreAtLeastThoseInUse) {
  const OnlineReproduction reproduction = small();
  const OnlineSeries& series = reproduction.series;
  ASSERT_EQ(series.profiles.size(), 4U);
  EXPECT_GT(series.migrations.size(), 0U);
  EXPECT_GT(series.kept_idle, 0);
  for (std::size_t p = 0; p < 4; ++p) {
    ASSERT_EQ(series.actual[p].size(), series.desired[p].size());
    EXPECT_EQ(series.desired[p].back().second, 0) << "all have finished";
    for (const auto& [at, count] : series.actual[p]) EXPECT_GE(count, 0);
  }
  for (const auto& [at, cost] : series.fragmentation) {
    EXPECT_GE(cost, 0);
    EXPECT_LE(cost, 1);
  }
}

}  // namespace
}  // namespace cleave
