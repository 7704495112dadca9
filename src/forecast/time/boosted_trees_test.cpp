#include "forecast/time/boosted_trees.hpp"

#include <gtest/gtest.h>
#include <xgboost/c_api.h>

#include <cmath>
#include <numeric>

#include "base/json.hpp"
#include "base/random.hpp"

namespace cleave {
namespace {

struct Problem {
  NumberRows rows;
  std::vector<double> targets;
};

/// Steps and a slope in three columns of very different size, with some noise.
Problem problem_of(std::size_t count, std::uint64_t seed) {
  Problem problem;
  problem.rows.width = 3;
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    const double a = random.uniform(), b = 1e6 * random.uniform(),
                 c = static_cast<double>(random.below(5));
    problem.rows.add(std::vector{a, b, c});
    problem.targets.push_back((a < 0.3 ? -2 : 5) + b * 1e-6 + c * c + 0.01 * random.uniform());
  }
  return problem;
}

/// XGBoost's own predictions after the same training.
std::vector<double> by_xgboost(const Problem& problem, const BoostingOptions& options) {
  const double mean = std::accumulate(problem.targets.begin(), problem.targets.end(), 0.0) /
                      static_cast<double>(problem.targets.size());
  std::vector<float> cells(problem.rows.cells.begin(), problem.rows.cells.end()), labels;
  for (const double target : problem.targets) labels.push_back(static_cast<float>(target - mean));
  DMatrixHandle matrix = nullptr;
  BoosterHandle booster = nullptr;
  EXPECT_EQ(XGDMatrixCreateFromMat(cells.data(), problem.rows.size(), problem.rows.width,
                                   std::nanf(""), &matrix),
            0);
  EXPECT_EQ(XGDMatrixSetFloatInfo(matrix, "label", labels.data(), labels.size()), 0);
  EXPECT_EQ(XGBoosterCreate(&matrix, 1, &booster), 0);
  const std::pair<const char*, std::string> parameters[] = {
      {"base_score", "0"},
      {"tree_method", "hist"},
      {"nthread", "1"},
      {"seed", std::to_string(options.seed)},
      {"subsample", std::to_string(options.row_share)},
      {"eta", std::to_string(options.learning_rate)},
      {"max_depth", std::to_string(options.depth)}};
  for (const auto& [name, value] : parameters)
    EXPECT_EQ(XGBoosterSetParam(booster, name, value.c_str()), 0);
  for (int round = 0; round < options.rounds; ++round)
    EXPECT_EQ(XGBoosterUpdateOneIter(booster, round, matrix), 0);
  bst_ulong length = 0;
  const float* out = nullptr;
  EXPECT_EQ(XGBoosterPredict(booster, matrix, 0, 0, 0, &length, &out), 0);
  std::vector<double> answers;
  for (bst_ulong i = 0; i < length; ++i) answers.push_back(static_cast<double>(out[i]) + mean);
  XGBoosterFree(booster);
  XGDMatrixFree(matrix);
  return answers;
}

TEST(BoostedTrees, AnswerAsXgboostDoes) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Problem problem = problem_of(500, seed);
    BoostingOptions options;
    options.rounds = 40;
    options.seed = seed;
    const auto trees = BoostedTrees::train(problem.rows, problem.targets, options);
    ASSERT_TRUE(trees) << trees.error().text();
    EXPECT_EQ(trees->trees(), 40U);
    const std::vector<double> theirs = by_xgboost(problem, options);
    ASSERT_EQ(theirs.size(), problem.targets.size());
    for (std::size_t i = 0; i < theirs.size(); ++i)
      ASSERT_NEAR(trees->predict(problem.rows[i]), theirs[i], 1e-4) << "row " << i;
  }
}

TEST(BoostedTrees, LearnAFunction) {
  const Problem seen = problem_of(2000, 1), unseen = problem_of(500, 2);
  const auto trees = BoostedTrees::train(seen.rows, seen.targets, {});
  ASSERT_TRUE(trees);
  double squares = 0;
  for (std::size_t i = 0; i < unseen.targets.size(); ++i)
    squares += std::pow(trees->predict(unseen.rows[i]) - unseen.targets[i], 2);
  EXPECT_LT(std::sqrt(squares / static_cast<double>(unseen.targets.size())), 0.8)
      << "targets spread over 24";

  const auto constant = BoostedTrees::train(seen.rows, std::vector<double>(2000, 7.25), {});
  ASSERT_TRUE(constant);
  EXPECT_DOUBLE_EQ(constant->predict(seen.rows[0]), 7.25);
}

TEST(BoostedTrees, TheSameSeedGivesTheSameBytes) {
  const Problem problem = problem_of(300, 1);
  BoostingOptions other;
  other.seed = 2;
  const auto once = BoostedTrees::train(problem.rows, problem.targets, {}),
             again = BoostedTrees::train(problem.rows, problem.targets, {}),
             another = BoostedTrees::train(problem.rows, problem.targets, other);
  ASSERT_TRUE(once && again && another);
  EXPECT_EQ(once->to_json().dump(), again->to_json().dump());
  EXPECT_NE(once->to_json().dump(), another->to_json().dump());
}

TEST(BoostedTrees, ComeBackFromJsonAsTheyWere) {
  const Problem problem = problem_of(300, 1);
  const auto trees = BoostedTrees::train(problem.rows, problem.targets, {});
  ASSERT_TRUE(trees);
  const auto document = parse_json(trees->to_json().dump(), "trees");
  ASSERT_TRUE(document);
  const auto read = BoostedTrees::from_json(*document, "trees");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, *trees);
}

TEST(BoostedTrees, RefuseBadTrainingData) {
  const auto trained = [](std::vector<double> cells, std::size_t width,
                          std::vector<double> targets) {
    return BoostedTrees::train({width, std::move(cells)}, targets, {});
  };
  EXPECT_TRUE(trained({1, 2}, 1, {1, 2}));
  for (const double unfit : {std::nan(""), HUGE_VAL, 1e31, -1e31}) {
    EXPECT_EQ(trained({1, unfit}, 1, {1, 2}).has_value(), std::isnan(unfit))
        << "a cell may be missing";
    EXPECT_FALSE(trained({1, 2}, 1, {1, unfit}));
  }
  EXPECT_FALSE(trained({}, 1, {}));
  EXPECT_FALSE(trained({}, 0, {}));
}

TEST(BoostedTrees, MissingCellsGoWhereTheyWereLearntToGo) {
  // Rows without the feature are like those with a small one, then like those with a large one.
  for (const double missing : {1.0, 3.0}) {
    NumberRows rows{1, {}};
    std::vector<double> targets;
    for (int i = 0; i < 60; ++i) {
      const double cell = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : std::nan("");
      rows.add(std::vector{cell});
      targets.push_back(i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : missing);
    }
    const auto trees = BoostedTrees::train(rows, targets, {});
    ASSERT_TRUE(trees) << trees.error().text();
    EXPECT_NEAR(trees->predict(std::vector{std::nan("")}), missing, 0.05);
    EXPECT_NEAR(trees->predict(std::vector{0.0}), 1, 0.05);
    const auto read = BoostedTrees::from_json(trees->to_json(), "model");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, *trees);
  }
}

TEST(BoostedTrees, RefuseDamage) {
  const auto read = [](const std::string& text) {
    return BoostedTrees::from_json(Json::parse(text), "model");
  };
  const auto tree = [&](const std::string& feature, const std::string& value,
                        const std::string& left) {
    return read(R"({"width": 2, "base": 1, "trees": [{"feature": )" + feature + R"(, "value": )" +
                value + R"(, "left": )" + left + "}]}");
  };
  const auto sound = tree("[1, -1, -1]", "[0.5, 3, 4]", "[1, 0, 0]");
  ASSERT_TRUE(sound) << sound.error().text();
  EXPECT_EQ(sound->predict(std::vector{9.0, 0.25}), 4);
  EXPECT_EQ(sound->predict(std::vector{0.0, 0.5}), 5) << "what is equal goes to the right";
  EXPECT_FALSE(tree("[1, -1, -1]", "[0.5, 3, 4]", "[0, 0, 0]")) << "leads to itself";
  EXPECT_FALSE(tree("[1, -1, -1]", "[0.5, 3, 4]", "[2, 0, 0]")) << "the right one is not there";
  EXPECT_FALSE(tree("[1, -1, -1]", "[0.5, 3, 4]", "[1.5, 0, 0]"));
  EXPECT_FALSE(tree("[1, 1, -1]", "[0.5, 3, 4]", "[1, 0, 0]")) << "leads back";
  EXPECT_FALSE(tree("[2, -1, -1]", "[0.5, 3, 4]", "[1, 0, 0]")) << "a column that is not there";
  EXPECT_FALSE(tree("[-2, -1, -1]", "[0.5, 3, 4]", "[1, 0, 0]"));
  EXPECT_FALSE(tree("[1, -1]", "[0.5, 3, 4]", "[1, 0, 0]"));
  EXPECT_FALSE(tree("[]", "[]", "[]"));
  EXPECT_FALSE(tree("[1, -1, -1]", "[0.5, null, 4]", "[1, 0, 0]"));
  EXPECT_FALSE(tree("[1, -1, -1]", "[0.5, 1e300, 4]", "[1, 0, 0]"));
  EXPECT_FALSE(tree("7", "[0.5, 3, 4]", "[1, 0, 0]"));
  EXPECT_FALSE(read("[]"));
  EXPECT_FALSE(read(R"({"width": 2, "base": 1})"));
  EXPECT_FALSE(read(R"({"width": 2, "base": 1, "trees": [3]})"));
  EXPECT_FALSE(read(R"({"width": 0, "base": 1, "trees": []})"));
  EXPECT_FALSE(read(R"({"width": 2, "trees": []})"));
}

}  // namespace
}  // namespace cleave
