// The study of MIGM: that the paper's own figures are inputs where they are said to be, how energy
// follows from a run, and that the page is the same again.

#include "study/reproduce/migm_study.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/read_text.hpp"
#include "study/reproduce/judged_claims_test.hpp"

namespace cleave {
namespace {

const SweptClaim& claim_of(const SweptExperiment& experiment, std::string_view beginning) {
  const auto found = std::ranges::find_if(
      experiment.claims, [&](const SweptClaim& each) { return each.claim.starts_with(beginning); });
  EXPECT_NE(found, experiment.claims.end()) << beginning;
  return *found;
}

TEST(MigmStudy, EnergyFollowsIdlePowerAndWork) {
  RunSummary full, slices;
  full.makespan = std::chrono::seconds{100};
  full.energy_j = 100 * 400.0;  // 50 W idle and 350 W of work
  slices.makespan = std::chrono::seconds{50};
  slices.energy_j = 50 * 400.0;
  const double nothing[] = {0, 1, 0}, half[] = {0.5, 2, 0}, work[] = {0.5, 2, 1};
  EXPECT_DOUBLE_EQ(energy_of(slices, full, "A100-40GB", nothing), 50 * 50.0);
  EXPECT_DOUBLE_EQ(energy_of(slices, full, "A100-40GB", half), 50 * (2 * 50 + 0.5 * 350));
  EXPECT_DOUBLE_EQ(energy_of(slices, full, "A100-40GB", work), 50 * 2 * 50 + 0.5 * 100 * 350);
  EXPECT_DOUBLE_EQ(energy_of(full, full, "A100-40GB", work), 100 * (2 * 50 + 0.5 * 350));
}

// Seven copies of Needleman-Wunsch take 2.24 times as long, whatever is said to slow them.
TEST(MigmStudy, EveryCauseSlowsNeedlemanWunschAsMuch) {
  PairedRuns runs(2);
  const auto experiment = migm_needleman_wunsch(runs);
  ASSERT_TRUE(experiment) << experiment.error().text();
  const SweptClaim& slower = claim_of(*experiment, "run time of a job");
  EXPECT_EQ(slower.verdict(), "agrees");
  EXPECT_NEAR(slower.least, 2.24, 0.05);
  EXPECT_GT(slower.most, 3) << "if allocation comes on top";
  const SweptClaim& gain = claim_of(*experiment, "throughput under scheme A, times");
  EXPECT_EQ(gain.verdict(), "in range") << "1.92 comes out with slow allocation";
}

// Shapes that follow from the method, whatever is open: 50 light jobs in waves of seven.
TEST(MigmStudy, LightJobsGainUpToTheBoundOfTheirWaves) {
  PairedRuns runs(2);
  const auto experiment = migm_homogeneous(runs);
  ASSERT_TRUE(experiment) << experiment.error().text();
  const SweptClaim& best = claim_of(*experiment, "best of Hm1 to Hm3");
  EXPECT_LE(best.most, 7);
  EXPECT_GT(best.most, 6);
  EXPECT_LE(claim_of(*experiment, "Hm4 at most").most, 2.05);
}

// Each claim stands beside its own figure: worked out once more from the runs' summaries.
TEST(MigmStudy, ClaimsOfTheHeterogeneousMixesAreThoseOfTheirRuns) {
  PairedRuns runs(3);
  const auto experiment = migm_heterogeneous(runs);
  ASSERT_TRUE(experiment) << experiment.error().text();
  const std::string mixes[] = {"ht1:kernel-share=0.2", "ht2:small-s=4;large-s=22;kernel-share=0.2",
                               "ht3:small-s=4;large-s=22;kernel-share=0.2"};
  double gains[3][2] = {};
  for (int mix = 0; mix < 3; ++mix) {
    const auto full = runs.of(migm_run(mixes[mix], "full-gpu"));
    ASSERT_TRUE(full);
    for (const int scheme : {0, 1}) {
      const auto one =
          runs.of(migm_run(mixes[mix], scheme == 0 ? "scheme-a:shares=equal" : "scheme-b"));
      ASSERT_TRUE(one);
      std::vector<double> more;
      for (std::size_t i = 0; i < runs.seeds(); ++i)
        more.push_back(100 * in_seconds((**full)[i].makespan) / in_seconds((**one)[i].makespan) -
                       100);
      std::ranges::sort(more);
      gains[mix][scheme] = more[1];
      const auto& claim = claim_of(
          *experiment, fmt::format("Ht{} under scheme {}", mix + 1, scheme == 0 ? "A" : "B"));
      EXPECT_NEAR(claim.usual.median, more[1], 1e-9) << claim.claim;
    }
  }
  EXPECT_GT(gains[2][0], gains[1][0]) << "more small jobs";
}

TEST(MigmStudy, TheCommittedPageJudgesAsItPrints) {
  const auto committed = read_text(source_dir() + "/docs/reproduction/migm.md");
  ASSERT_TRUE(committed);
  testing_claims::expect_judged_as_printed(*committed);
}

TEST(MigmStudy, ThePageIsTheSameAgainAndNamesEveryClaim) {
  const auto study = reproduce_migm(1);
  ASSERT_TRUE(study) << study.error().text();
  const std::string page = migm_page(*study);
  for (const SweptExperiment& experiment : study->experiments) {
    EXPECT_NE(page.find(fmt::format("## {}", experiment.name)), std::string::npos);
    EXPECT_FALSE(experiment.commands.empty()) << experiment.name;
    for (const std::string& command : experiment.commands)
      EXPECT_NE(page.find(command), std::string::npos) << command;
    for (const SweptClaim& claim : experiment.claims)
      EXPECT_NE(page.find(claim.claim), std::string::npos) << claim.claim;
  }
  testing_claims::expect_judged_as_printed(page, false);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  const auto again = reproduce_migm(1);
  ASSERT_TRUE(again);
  EXPECT_TRUE(migm_page(*again) == page);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // takes minutes there
TEST(MigmStudy, TheCommittedPageIsWhatTheProgramWrites) {
  const auto committed = read_text(source_dir() + "/docs/reproduction/migm.md");
  ASSERT_TRUE(committed);
  const auto study = reproduce_migm(30);
  ASSERT_TRUE(study) << study.error().text();
  EXPECT_TRUE(migm_page(*study) == *committed) << "cleave reproduce migm --write docs/reproduction";
}
#endif

}  // namespace
}  // namespace cleave
