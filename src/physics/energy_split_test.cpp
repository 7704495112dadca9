// Energy divided: parts make the whole exactly, in proportion to what the law of power says.

#include "physics/energy_split.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "physics/models_by_key_test.hpp"

namespace cleave {
namespace {

Millijoules sum_of(const EnergySplit& split) {
  return std::accumulate(split.loads.begin(), split.loads.end(), split.idle);
}

TEST(EnergySplit, AWholeIsDividedExactly) {
  EXPECT_EQ(divide_whole(10, std::vector<std::int64_t>{1, 1, 1}),
            (std::vector<std::int64_t>{3, 3, 4}));
  EXPECT_EQ(divide_whole(7, std::vector<std::int64_t>{0, 5, 0}),
            (std::vector<std::int64_t>{0, 7, 0}));
  EXPECT_EQ(divide_whole(7, std::vector<std::int64_t>{0, 0}), (std::vector<std::int64_t>{0, 0}));
  EXPECT_TRUE(divide_whole(7, {}).empty());
}

TEST(EnergySplit, WithoutLoadsAllOfItIsIdle) {
  const PowerBounds bounds = power_bounds(model("A100-40GB"));
  const EnergySplit split =
      split_energy(bounds, Millijoules{1'000'000}, std::chrono::seconds(1), {});
  EXPECT_EQ(split.idle, Millijoules{1'000'000});
  const LoadTime idle_load{{1, 0, 1}, std::chrono::seconds(1)};
  EXPECT_EQ(split_energy(bounds, Millijoules{1'000'000}, std::chrono::seconds(1),
                         std::span(&idle_load, 1))
                .idle,
            Millijoules{1'000'000});
}

TEST(EnergySplit, TheIdlePartComesFirst) {
  const PowerBounds bounds = power_bounds(model("A100-40GB"));
  const LoadTime load{{1, 1, 1}, std::chrono::seconds(10)};
  const auto of = [&](std::int64_t millijoules) {
    return split_energy(bounds, Millijoules{millijoules}, std::chrono::seconds(10),
                        std::span(&load, 1));
  };
  const std::int64_t idle = bounds.idle.value * 10;
  EXPECT_EQ(of(idle + 77).idle.value, idle);
  EXPECT_EQ(of(idle + 77).loads.front().value, 77);
  EXPECT_EQ(of(idle - 1).idle.value, idle - 1);
  EXPECT_EQ(of(idle - 1).loads.front().value, 0);
}

TEST(EnergySplit, LoadsGetWhatTheyAskForAndForAsLongAsTheyWereThere) {
  const PowerBounds bounds = power_bounds(model("A100-40GB"));
  // 3g at half, 4g whole for a quarter of the time: 3/14 to 1/7.
  const LoadTime loads[] = {{{3.0 / 7, 0.5, 1}, std::chrono::seconds(8)},
                            {{4.0 / 7, 1, 1}, std::chrono::seconds(2)}};
  const std::int64_t idle = bounds.idle.value * 8;
  const EnergySplit split =
      split_energy(bounds, Millijoules{idle + 1'000'000}, std::chrono::seconds(8), loads);
  EXPECT_EQ(split.idle.value, idle);
  EXPECT_NEAR(static_cast<double>(split.loads[0].value), 600'000, 3);
  EXPECT_NEAR(static_cast<double>(split.loads[1].value), 400'000, 3);
}

/// The law itself has them: what it says that a GPU draws is divided into what it says of each.
TEST(EnergySplit, TurnsTheLawOfPowerRound) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    const GpuModel& gpu = gpu_models()[random.below(gpu_models().size())];
    std::vector<InstanceLoad> loads;
    for (std::uint64_t i = 1 + random.below(7); i > 0; --i)
      loads.push_back({random.uniform() / 3, random.uniform(), 2 * random.uniform()});
    const PowerSplit power = power_of(gpu, loads);
    const std::int64_t seconds = 1 + static_cast<std::int64_t>(random.below(5000));
    std::vector<LoadTime> times;
    for (const InstanceLoad& each : loads) times.push_back({each, std::chrono::seconds(seconds)});
    const EnergySplit split =
        split_energy(power_bounds(gpu), Millijoules{power.total.value * seconds},
                     std::chrono::seconds(seconds), times);
    EXPECT_EQ(split.idle.value, power.idle.value * seconds);
    for (std::size_t i = 0; i < loads.size(); ++i)
      EXPECT_NEAR(static_cast<double>(split.loads[i].value),
                  static_cast<double>(power.instances[i].value * seconds),
                  static_cast<double>(seconds) + 1);  // the law rounds to milliwatts
  }
}

/// A simulated counter that is read a million times, with up to seven loads that come and go.
TEST(EnergySplit, AMillionIntervalsAddUpToTheCounterExactly) {
  Random random(11);
  const PowerBounds bounds = power_bounds(model("H100-80GB-SXM5"));
  std::int64_t counter = 0;
  Millijoules idle, shared;
  std::vector<LoadTime> loads;
  for (int i = 0; i < 1'000'000; ++i) {
    const Duration over{static_cast<std::int64_t>(random.below(20'000'000'000))};
    loads.resize(random.below(8));
    for (LoadTime& each : loads)
      each = {{random.uniform(), random.uniform(), 1},
              Duration{static_cast<std::int64_t>(random.below(20'000'000'000))}};
    const auto step = static_cast<std::int64_t>(random.below(14'000'000));
    counter += step;
    const EnergySplit split = split_energy(bounds, Millijoules{step}, over, loads);
    for (const Millijoules part : split.loads) {
      ASSERT_GE(part.value, 0);
      shared += part;
    }
    ASSERT_GE(split.idle.value, 0);
    idle += split.idle;
  }
  EXPECT_EQ((idle + shared).value, counter);
  EXPECT_GT(shared.value, counter / 2);
}

TEST(EnergySplit, TheLargestValuesAreDividedToo) {
  const PowerBounds bounds = power_bounds(model("B200-180GB"));
  const LoadTime load{{1, 1, 100}, longest_split};
  const std::vector<LoadTime> loads(64, load);
  const EnergySplit split = split_energy(bounds, most_energy, longest_split, loads);
  EXPECT_EQ(sum_of(split), most_energy);
  for (const Millijoules part : split.loads)
    EXPECT_NEAR(static_cast<double>(part.value), static_cast<double>(split.loads[0].value), 1);
  EXPECT_EQ(sum_of(split_energy(bounds, Millijoules{INT64_MAX}, Duration::max(), loads)),
            most_energy);
  EXPECT_EQ(sum_of(split_energy(bounds, Millijoules{-5}, Duration::min(), loads)), Millijoules{0});
}

TEST(EnergySplit, WhatNoGpuCanUseIsNotPlausible) {
  const PowerBounds bounds = power_bounds(model("A100-40GB"));
  const std::int64_t cap = bounds.cap.value;
  EXPECT_TRUE(is_plausible(bounds, Millijoules{cap * 10}, std::chrono::seconds(10)));
  EXPECT_TRUE(is_plausible(bounds, Millijoules{cap}, Duration::zero()));
  EXPECT_FALSE(is_plausible(bounds, Millijoules{cap * 50}, std::chrono::seconds(10)));
  EXPECT_FALSE(is_plausible(bounds, Millijoules{-1}, std::chrono::seconds(10)));
  EXPECT_FALSE(is_plausible(bounds, Millijoules{INT64_MAX}, Duration::max()));
}

}  // namespace
}  // namespace cleave
