// The study of Dyna-P: how claims are judged and swept, that its claims are what follows from the
// runs, and that its pages say of each what their own figures say.

#include "study/reproduce/dyna_p_study.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/read_text.hpp"
#include "study/reproduce/judged_claims_test.hpp"

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

/// By seed, of runs of the fifty jobs with the usual inputs.
std::vector<double> of_seeds(
    PairedRuns& runs, const PairedRun& one, const PairedRun& other,
    const std::function<double(const RunSummary&, const RunSummary&)>& value) {
  const auto a = runs.of(one), b = runs.of(other);
  EXPECT_TRUE(a && b);
  std::vector<double> values;
  for (std::size_t i = 0; i < runs.seeds(); ++i) values.push_back(value((**a)[i], (**b)[i]));
  return values;
}

void expect_claim(const SweptExperiment& experiment, std::string_view claim,
                  const std::vector<double>& by_seed) {
  const auto found = std::ranges::find(experiment.claims, claim, &SweptClaim::claim);
  ASSERT_NE(found, experiment.claims.end()) << claim;
  const SeedSpread expected = seed_spread(by_seed);
  EXPECT_NEAR(found->usual.median, expected.median, 1e-9) << claim;
  EXPECT_NEAR(found->usual.low, expected.low, 1e-9) << claim;
  EXPECT_NEAR(found->usual.high, expected.high, 1e-9) << claim;
}

double percent_less(Duration one, Duration other) {
  return 100 - 100 * in_seconds(one) / in_seconds(other);
}

// Each claim stands beside its own figure: worked out once more from the runs' summaries.
TEST(DynaPStudy, ClaimsOfTheFiftyJobsAreThoseOfTheirRuns) {
  PairedRuns runs(3);
  const auto fifty = dyna_p_fifty(runs);
  ASSERT_TRUE(fifty) << fifty.error().text();
  const auto run = [](const char* scheduler) {
    return PairedRun{"2xA30-24GB", "dyna-p-50:gap=10", scheduler};
  };
  const PairedRun dyna_p = run("dyna-p:base=priced"), oracle = run("oracle:base=priced"),
                  miso = run("miso:measure=0"), stacon = run("static:fit=request"),
                  wrong = run("dyna-p:time-error=0.15;base=priced");
  using S = const RunSummary&;
  const auto makespan = [](S a, S b) { return percent_less(a.makespan, b.makespan); };
  const auto p50 = [](S a, S b) { return percent_less(a.turnaround.p50, b.turnaround.p50); };
  expect_claim(*fifty, "makespan less than StaCon's, %", of_seeds(runs, dyna_p, stacon, makespan));
  expect_claim(*fifty, "makespan less than MISO's, %", of_seeds(runs, dyna_p, miso, makespan));
  expect_claim(*fifty, "ORACLE's makespan less than Dyna-P's, %",
               of_seeds(runs, oracle, dyna_p, makespan));
  expect_claim(*fifty, "median JCT less than MISO's (shorter jobs), %",
               of_seeds(runs, dyna_p, miso, p50));
  expect_claim(*fifty, "the same under ORACLE, %", of_seeds(runs, oracle, miso, p50));
  expect_claim(*fifty, "98th percentile of JCT above MISO's (longer jobs), %",
               of_seeds(runs, dyna_p, miso, [](S a, S b) {
                 return -percent_less(a.turnaround.p98, b.turnaround.p98);
               }));
  expect_claim(*fifty, "compute slices in use, %",
               of_seeds(runs, dyna_p, dyna_p, [](S a, S) { return 100 * a.compute_utilization; }));
  expect_claim(*fifty, "makespan less than MISO's despite that error, %",
               of_seeds(runs, wrong, miso, makespan));
  expect_claim(*fifty, "the same with that error", of_seeds(runs, wrong, miso, [](S a, S b) {
    return static_cast<double>(b.stopping_reconfigurations) -
           static_cast<double>(a.stopping_reconfigurations);
  }));
}

TEST(DynaPStudy, ClaimsOfPowerAreThoseOfTheirRuns) {
  PairedRuns runs(3);
  const auto power = dyna_p_power(runs);
  ASSERT_TRUE(power) << power.error().text();
  const auto run = [](const char* scheduler, double cap) {
    return PairedRun{"2xA30-24GB", "dyna-p-50:gap=10", scheduler, 30, true, cap};
  };
  using S = const RunSummary&;
  const auto peak = [](S a, S) { return *a.power_peak_w / 2; };
  const PairedRun dyna_p = run("dyna-p", 165), miso = run("miso:measure=0", 165);
  expect_claim(*power, "highest power, W for each GPU", of_seeds(runs, dyna_p, dyna_p, peak));
  expect_claim(*power, "the same under MISO", of_seeds(runs, miso, miso, peak));
  expect_claim(*power, "makespan at 100 W less than MISO's, %",
               of_seeds(runs, run("dyna-p", 100), run("miso:measure=0", 100),
                        [](S a, S b) { return percent_less(a.makespan, b.makespan); }));
}

// A checkpoint is MISO's alone, and JCT with the wait or without it another time.
TEST(DynaPStudy, CheckpointsAndTheReadingOfJctCountWhereTheyMatter) {
  PairedRuns runs(2);
  const auto fifty = dyna_p_fifty(runs), power = dyna_p_power(runs), batches = dyna_p_batches(runs);
  ASSERT_TRUE(fifty && power && batches);
  for (const auto* experiment : {&*fifty, &*power, &*batches}) {
    EXPECT_EQ(std::ranges::count(experiment->inputs, "checkpoint", &OpenInput::name), 1);
    for (const SweptClaim& claim : experiment->claims)
      if (claim.claim.find("JCT") != std::string::npos) {
        EXPECT_EQ(std::ranges::count(experiment->inputs, "JCT", &OpenInput::name), 1);
      }
  }
}

std::string committed(const std::string& page) {
  const auto text = read_text(source_dir() + "/docs/reproduction/" + page);
  EXPECT_TRUE(text);
  return text.value_or("");
}

TEST(DynaPStudy, TheCommittedPageJudgesAsItPrints) {
  testing_claims::expect_judged_as_printed(committed("dyna-p.md"));
}

// A page whose verdicts, bounds or inputs are wrong is noticed.
TEST(DynaPStudy, WrongVerdictsAreNoticed) {
  using testing_claims::PrintedClaim;
  using testing_claims::verdict_of;
  const auto row = [](const char* paper, const char* here, const char* range, const char* nearest) {
    return PrintedClaim{"4", "c, %", paper, here, range, "", nearest, "", {}};
  };
  EXPECT_EQ(verdict_of(row("33.18", "31.2 (26.6 to 35.7)", "-45.3 to 50.9", "")), "agrees");
  EXPECT_EQ(verdict_of(row("39.03", "31.2 (26.6 to 35.7)", "-45.3 to 50.9", "")), "in range");
  EXPECT_EQ(verdict_of(row("58; 1.59 times", "31.2 (26.6 to 35.7)", "-4 to 50.9", "")), "outside");
  EXPECT_EQ(verdict_of(row("comparable: within 10 %", "-9.2 (-26.6 to 3)", "-45 to 50", "")),
            "agrees");
  EXPECT_EQ(verdict_of(row("slightly: 0 to 10 %", "-9.2 (-26.6 to 3)", "-45 to 50", "0.3: a 1")),
            "in range");
  EXPECT_EQ(verdict_of(row("fewer: at least 1", "-9 (-26 to 3)", "-45 to 0", "0: a 1")), "outside");
  EXPECT_EQ(verdict_of(row("fewer: at most 1.0", "1.0 (0.0 to 3.0)", "0 to 3", "")), std::nullopt)
      << "1.04 is printed so too";
  const std::vector<std::vector<std::string>> inputs = {
      {"gap", "10", "0, 10, 30", ""}, {"cause", "as measured", "as measured, link, spread", ""}};
  EXPECT_TRUE(testing_claims::names_inputs("gap 30, cause link, spread", inputs));
  EXPECT_FALSE(testing_claims::names_inputs("gap 10", inputs)) << "the usual one";
  EXPECT_FALSE(testing_claims::names_inputs("gap 31", inputs));
  EXPECT_FALSE(testing_claims::names_inputs("cause link, gap 30", inputs));
}

TEST(DynaPStudy, ThePageIsTheSameAgain) {
  const auto study = reproduce_dyna_p(1, 20);
  ASSERT_TRUE(study) << study.error().text();
  const std::string page = dyna_p_page(*study);
  for (const SweptExperiment& experiment : study->experiments) {
    EXPECT_NE(page.find(fmt::format("## {}", experiment.name)), std::string::npos);
    for (const SweptClaim& claim : experiment.claims)
      EXPECT_NE(page.find(claim.claim), std::string::npos);
  }
  testing_claims::expect_judged_as_printed(page, false);
  const auto again = reproduce_dyna_p(1, 20);
  ASSERT_TRUE(again);
  EXPECT_TRUE(dyna_p_page(*again) == page);
}

}  // namespace
}  // namespace cleave
