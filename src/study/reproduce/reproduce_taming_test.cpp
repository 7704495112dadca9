// What comes out of the Taming paper's claims: its tables as printed, its figures outside their
// ranges with inputs that really give them, and the page as committed.

#include "study/reproduce/reproduce_taming.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/places_test.hpp"
#include "base/read_text.hpp"

namespace cleave {
namespace {

const TamingReproduction& whole() {
  static const TamingReproduction reproduction = [] {
    auto made = reproduce_taming();
    EXPECT_TRUE(made) << made.error().text();
    return made ? std::move(*made) : TamingReproduction{};
  }();
  return reproduction;
}

TEST(Taming, TheCommittedPageIsWhatTheProgramWrites) {
  const auto page = read_text(source_dir() + "/docs/reproduction/taming.md");
  ASSERT_TRUE(page) << page.error().text();
  EXPECT_TRUE(*page == taming_page(whole()))
      << "run: cleave reproduce taming --write docs/reproduction";
}

TEST(Taming, TablesTwoAndFourAreAsPrinted) {
  int waste = 0, bandwidth = 0;
  for (const TamingClaim& claim : taming_claims(whole())) {
    if (claim.section == "III-C, table II") {
      EXPECT_EQ(claim.verdict, "agrees") << claim.claim;
      ++waste;
    }
    if (claim.claim.starts_with("memory bandwidth of")) {
      EXPECT_EQ(claim.verdict, "agrees") << claim.claim;
      ++bandwidth;
    }
  }
  EXPECT_EQ(waste, 6);
  EXPECT_EQ(bandwidth, 5);
}

TEST(Taming, EveryClaimHasItsVerdictAndEveryDifferenceItsReason) {
  std::size_t outside = 0;
  for (const TamingClaim& claim : taming_claims(whole())) {
    const std::vector<std::string> words = {"agrees", "in the range", "outside", "input",
                                            "not modelled"};
    EXPECT_TRUE(std::ranges::count(words, claim.verdict) == 1) << claim.claim;
    EXPECT_FALSE(claim.paper.empty()) << claim.claim;
    EXPECT_FALSE(claim.here.empty()) << claim.claim;
    if (claim.verdict == "outside" || claim.verdict == "not modelled") {
      EXPECT_NE(claim.why, "") << claim.claim;
    }
    if (claim.verdict == "outside") ++outside;
  }
  EXPECT_GE(outside, whole().outside.size());
}

// What "would have to be" is asked of the simulator once more.
TEST(Taming, NeededValuesGiveThePapersFigures) {
  const std::vector<CorunModel> models = taming_models();
  std::size_t asked = 0;
  for (const OutsideFigure& each : whole().outside) {
    const auto model = std::ranges::find(models, each.experiment,
                                         [](const CorunModel& one) { return one.experiment.name; });
    ASSERT_NE(model, models.end());
    const auto& figures = model->experiment.figures;
    const auto figure = std::ranges::find(figures, each.figure, &CorunFigure::name);
    ASSERT_NE(figure, figures.end());
    EXPECT_NE(figure->measured.off(each.nearest), 0) << "it lies outside";
    EXPECT_NEAR(figure->measured.off(each.nearest * each.factor), 0, 1e-9);
    for (const NeededValue& value : each.needed) {
      if (!value.others_usual) continue;
      std::vector<double> inputs;
      for (const OpenInput& input : model->experiment.inputs)
        inputs.push_back(input.name == value.input ? value.value : input.values[input.usual]);
      const auto found = model->figures(inputs);
      ASSERT_TRUE(found);
      EXPECT_NEAR(
          figure->measured.off((*found)[static_cast<std::size_t>(figure - figures.begin())]), 0,
          0.0051)
          << each.experiment << " " << each.figure << " " << value.input;
      ++asked;
    }
  }
  EXPECT_GT(asked, 0U);
}

TEST(Taming, ChoicesAreCountedStepByStep) {
  const auto counts = count_rewards();
  ASSERT_EQ(counts.size(), 9U);
  for (const RewardCount& count : counts) {
    EXPECT_GT(count.combinations, 0U);
    EXPECT_LE(count.at_zero, count.combinations);
    EXPECT_LE(count.between, count.at_zero);
    EXPECT_LE(count.as_paper, count.between);
    // At alpha 0 all forms rank alike.
    EXPECT_EQ(count.at_zero,
              std::ranges::find(counts, count.application, &RewardCount::application)->at_zero);
    // The default form must make the paper's choices wherever any does.
    if (count.form == RewardBasis{}.form) {
      EXPECT_GT(count.as_paper, 0U) << count.application;
    }
  }
}

}  // namespace
}  // namespace cleave
