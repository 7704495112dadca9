#include "study/reproduce/reproduce_optimal_placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cleave {
namespace {

Reproduction small() {
  ReproductionOptions options;
  options.cases = 3;
  const auto reproduction = reproduce_optimal_placement(options);
  EXPECT_TRUE(reproduction) << reproduction.error().text();
  return *reproduction;
}

TEST(Reproduction, NormalisesAgainstTheHighest) {
  const Reproduction reproduction = small();
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
  const Reproduction reproduction = small();
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
  const Reproduction reproduction = small();
  ASSERT_EQ(reproduction.choices.size(), 9U);
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
  EXPECT_EQ(choices_rows(reproduction).size(), 10U);
  for (const auto& row : choices_rows(reproduction))
    EXPECT_EQ(row.size(), choices_header(reproduction).size());
}

TEST(Reproduction, ThePageIsTheSameEachTimeAndNamesEveryClaim) {
  const Reproduction reproduction = small();
  const std::string text = page(reproduction);
  EXPECT_EQ(text, page(small()));
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

}  // namespace
}  // namespace cleave
