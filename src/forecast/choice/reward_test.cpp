// The reward of the Taming paper: its laws, its ties, and the best instance over all alphas.

#include "forecast/choice/reward.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"

namespace cleave {
namespace {

constexpr RewardForm forms[] = {RewardForm::sum, RewardForm::mean, RewardForm::convex};

double share(Random& random) {
  return static_cast<double>(random.below(1001)) / 1000;
}

/// Instances of an H100 with 96 GB, measured at random; some with data in host memory.
std::vector<MeasuredInstance> random_instances(Random& random) {
  struct Size {
    const char* name;
    double sms, capacity;
  };
  constexpr Size sizes[] = {
      {"1g.12gb", 16, 11}, {"1g.24gb", 26, 23}, {"2g.24gb", 32, 23}, {"7g.96gb", 132, 94.5}};
  std::vector<MeasuredInstance> list;
  for (std::uint64_t left = 1 + random.below(6); left > 0; --left) {
    const Size& size = sizes[random.below(4)];
    MeasuredInstance one{size.name,
                         size.sms,
                         share(random) * size.sms / 132,
                         std::nullopt,
                         size.capacity,
                         share(random) * size.capacity * 1.2,
                         share(random) * 80,
                         random.below(2) == 0};
    list.push_back(one);
  }
  return list;
}

RewardBasis random_basis(Random& random) {
  return {132, 80, share(random) * 3, forms[random.below(3)]};
}

TEST(Reward, IsTheFormula) {
  // VI-A: 16 GB on an instance of 24 GB waste a third; the rest is invented.
  const MeasuredInstance one{"2g.24gb", 32, 0.1, std::nullopt, 24, 16, 1, false};
  const Reward result = reward(one, {132, 4, 0.5, RewardForm::sum});
  EXPECT_DOUBLE_EQ(result.sm_waste, 1 - 0.1 * 132 / 32);
  EXPECT_DOUBLE_EQ(result.memory_waste, 1.0 / 3);
  EXPECT_DOUBLE_EQ(result.relative_performance, 0.25);
  EXPECT_DOUBLE_EQ(result.reward, 0.5 * 0.25 - (1 - 0.4125) - 1.0 / 3);
  EXPECT_DOUBLE_EQ(reward(one, {132, 4, 0.5, RewardForm::mean}).reward,
                   0.125 - (0.5875 + 1.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(reward(one, {132, 4, 0.5, RewardForm::convex}).reward,
                   0.125 - (0.5875 + 1.0 / 3) / 2);
}

TEST(Reward, OccupancyOfTheInstanceIsTakenAsItIs) {
  MeasuredInstance one{"2g.24gb", 32, 0.1, 0.4125, 24, 16, 1, false};
  EXPECT_DOUBLE_EQ(reward(one, {132, 4, 1}).sm_waste, 1 - 0.4125);
  one.instance_occupancy = 0.5;
  EXPECT_DOUBLE_EQ(reward(one, {132, 4, 1}).sm_waste, 0.5);
}

TEST(Reward, OffloadingLeavesNoMemoryIdleAndNeverLessThanNone) {
  // Measured twice on 1g.12gb: resident memory fills it, and the managed allocation exceeds it.
  const MeasuredInstance full{"1g.12gb", 16, 0.1, std::nullopt, 11, 11, 1, true};
  const MeasuredInstance beyond{"1g.12gb", 16, 0.1, std::nullopt, 11, 16, 1, true};
  EXPECT_DOUBLE_EQ(reward(full, {132, 4, 1}).memory_waste, 0);
  EXPECT_DOUBLE_EQ(reward(beyond, {132, 4, 1}).memory_waste, 0);
}

TEST(Reward, AtAlphaZeroPerformanceDoesNotMatterAndAllFormsRankAlike) {
  Random random(11);
  for (int round = 0; round < 500; ++round) {
    auto instances = random_instances(random);
    const auto sum = recommend(instances, {132, 80, 0});
    for (const RewardForm form : forms)
      EXPECT_EQ(recommend(instances, {132, 80, 0, form}).best, sum.best);
    for (MeasuredInstance& each : instances) each.performance = share(random) * 80;
    EXPECT_EQ(recommend(instances, {132, 80, 0}).best, sum.best);
    EXPECT_EQ(recommend(instances, {132, 80, 0}).equal, sum.equal);
  }
}

TEST(Reward, AtALargeAlphaOnlyPerformanceMatters) {
  Random random(12);
  for (int round = 0; round < 500; ++round) {
    const auto instances = random_instances(random);
    const auto answer = recommend(instances, {132, 80, 1e6});
    for (const MeasuredInstance& each : instances)
      EXPECT_LE(each.performance, instances[*answer.best].performance);
  }
}

TEST(Reward, MoreIdleMemoryAndLessOccupancyNeverRaiseIt) {
  Random random(13);
  for (int round = 0; round < 500; ++round) {
    auto one = random_instances(random).front();
    RewardBasis basis = random_basis(random);
    if (basis.form == RewardForm::convex) basis.alpha = std::min(basis.alpha, 1.0);
    const double before = reward(one, basis).reward;
    one.peak *= share(random);
    const double less = reward(one, basis).reward;
    EXPECT_LE(less, before + 1e-12);
    *one.occupancy *= share(random);
    EXPECT_LE(reward(one, basis).reward, less + 1e-12);
  }
}

TEST(Reward, UnitsDoNotMatter) {
  Random random(14);
  for (int round = 0; round < 200; ++round) {
    auto instances = random_instances(random);
    RewardBasis basis = random_basis(random);
    const auto before = recommend(instances, basis);
    for (MeasuredInstance& each : instances) {
      each.capacity *= 1024;
      each.peak *= 1024;
      each.performance *= 60;
    }
    basis.full_performance *= 60;
    EXPECT_EQ(recommend(instances, basis).best, before.best);
  }
}

TEST(Reward, TiesGoToTheFewestProcessorsThenToTheFirst) {
  const MeasuredInstance large{"2g.24gb", 32, std::nullopt, 0.5, 24, 12, 2, false};
  const MeasuredInstance small{"1g.24gb", 26, std::nullopt, 0.5, 24, 12, 2, false};
  const MeasuredInstance worse{"7g.96gb", 132, std::nullopt, 0.1, 94.5, 12, 2, false};
  const std::vector<MeasuredInstance> list = {worse, large, small, small};
  const auto answer = recommend(list, {132, 4, 1});
  EXPECT_EQ(answer.best, 2U);
  EXPECT_EQ(answer.equal, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(recommend({}, {132, 4, 1}).best, std::nullopt);
  EXPECT_TRUE(best_by_alpha({}, {132, 4, 1}, 2).empty());
}

TEST(Reward, TheBestOverAllAlphasAgreesWithEachAlpha) {
  Random random(15);
  std::size_t changes = 0;
  for (int round = 0; round < 1000; ++round) {
    const auto instances = random_instances(random);
    RewardBasis basis = random_basis(random);
    const auto corners = best_by_alpha(instances, basis, 2);
    ASSERT_FALSE(corners.empty());
    EXPECT_EQ(corners.front().alpha, 0);
    EXPECT_TRUE(std::ranges::is_sorted(corners, std::less_equal{}, &BestFrom::alpha));
    changes += corners.size() - 1;
    for (double alpha = 0; alpha <= 2; alpha += 0.01) {
      basis.alpha = alpha;
      std::size_t said = corners.front().instance;
      for (const BestFrom& corner : corners)
        if (corner.alpha <= alpha) said = corner.instance;
      const auto answer = recommend(instances, basis);
      EXPECT_TRUE(std::ranges::count(answer.equal, said) == 1)
          << "round " << round << " alpha " << alpha;
    }
  }
  EXPECT_GT(changes, 300U);
}

TEST(Reward, FormsHaveNames) {
  for (const RewardForm form : forms) EXPECT_EQ(reward_form(name(form)), form);
  EXPECT_EQ(reward_form("ratio"), std::nullopt);
}

}  // namespace
}  // namespace cleave
