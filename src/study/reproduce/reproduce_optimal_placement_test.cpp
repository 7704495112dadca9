#include "study/reproduce/reproduce_optimal_placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cleave {
namespace {

Reproduction small_study() {
  ReproductionOptions options;
  options.cases = 3;
  const auto reproduction = reproduce_optimal_placement(options);
  EXPECT_TRUE(reproduction) << reproduction.error().text();
  return *reproduction;
}

TEST(Reproduction, NormalisesAgainstTheHighest) {
  const Reproduction reproduction = small_study();
  ASSERT_EQ(reproduction.figures.size(), 6U);
  for (const UseCaseFigures& figures : reproduction.figures) {
    EXPECT_EQ(figures.methods.size(), figures.problem == ProblemKind::deploy ? 5U : 4U);
    for (std::size_t i = 0; i < table3_metrics; ++i) {
      double highest = 0;
      for (const MethodFigures& method : figures.methods)
        highest = std::max(highest, method.normalised[i]);
      EXPECT_TRUE(highest == 1 || highest == 0) << table3()[i].key;
    }
    for (const MethodFigures& method : figures.methods) {
      EXPECT_LE(method.pending_cases, 3U);
      EXPECT_LE(method.mean[table3_index("gpus")], static_cast<double>(figures.gpus));
    }
  }
}

TEST(Reproduction, TheOptimumIsNowhereWorseWhereItCountsFirst) {
  const Reproduction reproduction = small_study();
  const std::size_t pending = table3_index("pending_size"), gpus = table3_index("gpus");
  for (const UseCaseFigures& figures : reproduction.figures) {
    const MethodFigures& optimal = figures.of("optimal");
    EXPECT_EQ(optimal.proven, 3U);
    for (const char* other : {"rules", "first-fit", "load-balanced"}) {
      EXPECT_LE(optimal.mean[pending], figures.of(other).mean[pending]) << other;
      if (figures.of(other).mean[pending] == optimal.mean[pending]) {
        EXPECT_LE(optimal.mean[gpus], figures.of(other).mean[gpus]) << other;
      }
    }
  }
}

TEST(Reproduction, TheWayKeptIsOneOfTheOpenChoices) {
  const Reproduction reproduction = small_study();
  ASSERT_EQ(reproduction.choices.size(), 10U);
  EXPECT_EQ(std::ranges::count_if(reproduction.choices, &OpenChoice::kept), 1);
  for (const OpenChoice& choice : reproduction.choices) {
    ASSERT_EQ(choice.pending.size(), 2U);
    if (!choice.kept()) continue;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t m = 0; m < compared_methods.size(); ++m)
        EXPECT_EQ(choice.pending[i][m],
                  reproduction.of(ProblemKind::deploy, reproduction.options.gpus[i])
                      .of(compared_methods[m])
                      .pending_cases);
  }
  EXPECT_EQ(choices_rows(reproduction).size(), 11U);
  for (const auto& row : choices_rows(reproduction))
    EXPECT_EQ(row.size(), choices_header(reproduction).size());
}

TEST(Reproduction, ThePageIsTheSameEachTimeAndNamesEveryClaim) {
  const Reproduction reproduction = small_study();
  const std::string text = page(reproduction);
  EXPECT_EQ(text, page(small_study()));
  const auto all = claims(reproduction);
  EXPECT_GT(all.size(), 40U);
  for (const PaperClaim& claim : all)
    EXPECT_NE(text.find(claim.claim), std::string::npos) << claim.claim;
  for (const ProblemKind problem :
       {ProblemKind::deploy, ProblemKind::compact, ProblemKind::reconfigure}) {
    EXPECT_NE(text.find(figure_file(problem)), std::string::npos);
    const std::string svg = figure_svg(reproduction, problem);
    EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    EXPECT_EQ(svg.find("nan"), std::string::npos);
  }
}

// Slices that running work holds until its replica runs are not there for replicas.
TEST(Reproduction, ReplicasBesideRunningWorkNeedMoreGpus) {
  const Reproduction reproduction = small_study();
  ASSERT_EQ(reproduction.beside.size(), 2U);
  for (const std::size_t gpus : reproduction.options.gpus) {
    const UseCaseFigures& apart = reproduction.of(ProblemKind::reconfigure, gpus);
    const UseCaseFigures& beside = reproduction.beside_of(gpus);
    for (const char* baseline : {"first-fit", "load-balanced"}) {
      EXPECT_GT(beside.of(baseline).mean[table3_index("gpus")],
                apart.of(baseline).mean[table3_index("gpus")])
          << baseline << " " << gpus;
      EXPECT_EQ(beside.of(baseline).mean[table3_index("sequential_migrations")], 0) << baseline;
    }
    for (const char* method : {"rules", "optimal"})
      EXPECT_EQ(beside.of(method).mean, apart.of(method).mean) << method;
  }
}

// A reason stands where a claim differs, and nowhere else.
TEST(Reproduction, EveryDifferenceHasItsReason) {
  const Reproduction reproduction = small_study();
  bool outperform = false;
  for (const PaperClaim& claim : claims(reproduction)) {
    if (claim.claim.starts_with("both methods need fewer GPUs")) outperform = true;
    if (claim.claim.starts_with("load-balanced wastes less memory")) continue;  // holds on 100
    if (claim.claim.starts_with("optimal wastes least")) continue;
    if (claim.verdict == "agrees") {
      EXPECT_EQ(claim.why, "") << claim.claim;
    } else if (claim.claim.starts_with("joint has more")) {
      EXPECT_EQ(claim.why, "") << claim.claim;  // three cases need no sequential step
    } else {
      EXPECT_NE(claim.why, "") << claim.claim;
    }
  }
  EXPECT_TRUE(outperform);
}

// Joint's migrations and steps are compared with those of the others, whose running work stays.
TEST(Reproduction, JointMustReallyHaveMoreSequentialSteps) {
  Reproduction reproduction = small_study();
  const auto verdict = [&] {
    for (const PaperClaim& claim : claims(reproduction))
      if (claim.claim == "joint has more migrations and sequential steps, 80 GPUs")
        return claim.verdict;
    return std::string("missing");
  };
  const auto set = [&](std::string_view key, std::string_view method, double value) {
    for (UseCaseFigures& figures : reproduction.figures)
      if (figures.problem == ProblemKind::deploy && figures.gpus == 80)
        for (MethodFigures& one : figures.methods)
          if (one.method == method) one.mean[table3_index(key)] = value;
  };
  set("migration_size", "joint", 5);
  set("sequential_migrations", "joint", 2);
  EXPECT_EQ(verdict(), "agrees");
  set("sequential_migrations", "rules", 2);
  EXPECT_EQ(verdict(), "not so");
}

}  // namespace
}  // namespace cleave
