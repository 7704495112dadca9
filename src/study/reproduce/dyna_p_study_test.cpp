// The study of Dyna-P: how claims are judged and swept, what its parts give, and that the page is
// the same again.

#include "study/reproduce/dyna_p_study.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(DynaPStudy, SpreadsAreMediansAndQuartiles) {
  const SeedSpread spread = seed_spread({5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(spread.median, 3);
  EXPECT_DOUBLE_EQ(spread.low, 2);
  EXPECT_DOUBLE_EQ(spread.high, 4);
  EXPECT_DOUBLE_EQ(seed_spread({1, 2}).median, 1.5);
}

/// Two inputs; the claim is 10 a + b, a little more with each seed.
SweptExperiment swept(Stated stated) {
  SweptExperiment experiment{"e",
                             "k",
                             {{"a", {1, 2, 3}, 1, "open"}, open_choice("b", {"no", "yes"}, 0, "o")},
                             {{"1", "claim", "p", stated}}};
  const auto done = sweep(experiment, [](std::span<const double> in) {
    const double value = 10 * in[0] + in[1];
    return Result<std::vector<std::vector<double>>>({{value, value + 0.1, value + 0.2}});
  });
  EXPECT_TRUE(done);
  return experiment;
}

TEST(DynaPStudy, ASweepFindsTheRangeAndWhatIsNearest) {
  const SweptExperiment experiment = swept({30.6, 30.6});
  const SweptClaim& claim = experiment.claims[0];
  EXPECT_DOUBLE_EQ(claim.usual.median, 20.1);
  EXPECT_DOUBLE_EQ(claim.least, 10.1);
  EXPECT_DOUBLE_EQ(claim.most, 31.1);
  EXPECT_EQ(claim.verdict(), "in range");
  EXPECT_EQ(inputs_text(experiment, claim.at), "a 3");
  EXPECT_EQ(swept({20.1, 20.1}).claims[0].verdict(), "agrees");
  const SweptExperiment beyond = swept({99, 99});
  EXPECT_EQ(beyond.claims[0].verdict(), "outside");
  EXPECT_DOUBLE_EQ(beyond.claims[0].nearest, 31.1);
  EXPECT_EQ(inputs_text(beyond, beyond.claims[0].at), "a 3, b yes");
}

TEST(DynaPStudy, ASentenceMustBeTypical) {
  EXPECT_EQ(swept({20.1, {}}).claims[0].verdict(), "agrees");
  EXPECT_EQ(swept({20.11, {}}).claims[0].verdict(), "in range") << "though a seed has it";
  EXPECT_EQ(swept({{}, 10}).claims[0].verdict(), "outside");
  EXPECT_EQ(inputs_text(swept({5, {}}), {1, 0}), "usual inputs");
}

TEST(DynaPStudy, RunsAreByWhatIsAsked) {
  PairedRuns runs(3);
  const auto one = runs.of({"1xA30-24GB", "dyna-p-small", "dyna-p"});
  const auto other = runs.of({"1xA30-24GB", "dyna-p-small", "full-gpu"});
  ASSERT_TRUE(one && other);
  ASSERT_EQ((*one)->size(), 3U);
  EXPECT_NE((**one)[0].makespan, (**other)[0].makespan);
  EXPECT_NE((**one)[0].makespan, (**one)[1].makespan) << "seeds differ";
  EXPECT_EQ(*runs.of({"1xA30-24GB", "dyna-p-small", "dyna-p"}), *one) << "run once";
  EXPECT_FALSE(runs.of({"1xA30-24GB", "no-such", "dyna-p"}));
}

// What the paper prints of its example does not depend on seeds.
TEST(DynaPStudy, FigureSeven) {
  PairedRuns runs(1);
  const auto example = dyna_p_example(runs);
  ASSERT_TRUE(example) << example.error().text();
  const auto& claims = example->claims;
  EXPECT_LE(claims[0].usual.median, 285);
  EXPECT_EQ(claims[2].verdict(), "agrees") << "C ends by its deadline";
  EXPECT_EQ(claims[3].verdict(), "agrees") << "F does";
  EXPECT_EQ(claims[4].verdict(), "agrees") << "with static partitions C does not";
}

TEST(DynaPStudy, ThePageIsTheSameAgain) {
  const auto study = reproduce_dyna_p(1, 20);
  ASSERT_TRUE(study) << study.error().text();
  const std::string page = dyna_p_page(*study);
  for (const SweptExperiment& experiment : study->experiments) {
    EXPECT_NE(page.find("## " + experiment.name), std::string::npos);
    for (const SweptClaim& claim : experiment.claims) {
      EXPECT_NE(page.find(claim.claim), std::string::npos);
      EXPECT_LE(claim.least, claim.usual.median);
      EXPECT_GE(claim.most, claim.usual.median);
      EXPECT_EQ(claim.at.size(), experiment.inputs.size());
    }
  }
  const auto again = reproduce_dyna_p(1, 20);
  ASSERT_TRUE(again);
  EXPECT_TRUE(dyna_p_page(*again) == page);
}

}  // namespace
}  // namespace cleave
