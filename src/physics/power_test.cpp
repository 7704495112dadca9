// What GPUs draw: parts make the whole, nothing passes the cap, and more work never draws less.

#include "physics/power.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.hpp"
#include "physics/models_by_key_test.hpp"

namespace cleave {
namespace {

std::vector<InstanceLoad> some_loads(Random& random) {
  std::vector<InstanceLoad> loads;
  for (std::uint64_t i = random.below(8); i > 0; --i)
    loads.push_back({random.uniform(), random.uniform(), 2 * random.uniform()});
  return loads;
}

TEST(Power, EveryModelHasACapAboveIdleAndASource) {
  for (const GpuModel& each : gpu_models()) {
    const GpuPower& power = gpu_power(each);
    EXPECT_GT(power.cap, power.idle) << each.key;
    EXPECT_GT(power.idle.value, 0) << each.key;
    EXPECT_FALSE(power.source.empty()) << each.key;
  }
}

TEST(Power, AModelWithoutARowIsInferredFromItsFamilyAndSaysSo) {
  GpuModel unknown = model("H100-80GB-SXM5");
  unknown.id = GpuModelId::other;
  EXPECT_EQ(gpu_power(unknown).cap, gpu_power(model("H100-80GB-SXM5")).cap);
  EXPECT_TRUE(gpu_power(unknown).cap_inferred && gpu_power(unknown).idle_inferred);
  unknown.architecture = Architecture::rubin;
  EXPECT_TRUE(gpu_power(unknown).cap_inferred);
}

TEST(Power, InstancesAndIdleAreTheGpuExactlyAndNeverAboveTheCap) {
  Random random(3);
  int capped = 0;
  for (int round = 0; round < 20000; ++round) {
    const GpuModel& gpu = gpu_models()[random.below(gpu_models().size())];
    const auto loads = some_loads(random);
    const PowerOptions options{1 + random.uniform(), 0.7 + random.uniform()};
    const PowerSplit split = power_of(gpu, loads, options);
    ASSERT_EQ(split.instances.size(), loads.size());
    EXPECT_EQ(split.total,
              std::accumulate(split.instances.begin(), split.instances.end(), split.idle));
    EXPECT_LE(split.total, gpu_power(gpu).cap);
    EXPECT_EQ(split.capped, split.clock < 1);
    for (const Milliwatts each : split.instances) EXPECT_GE(each.value, 0);
    if (split.capped) {
      EXPECT_EQ(split.total, gpu_power(gpu).cap);
    }
    capped += split.capped;
  }
  EXPECT_GT(capped, 1000) << "the cap must have been tried";
}

TEST(Power, FollowsTheFormulaBelowTheCap) {
  const GpuModel& a100 = model("A100-40GB");
  const InstanceLoad loads[] = {{3.0 / 7, 0.5}, {1.0 / 7, 1, 1.1}};
  const PowerSplit split = power_of(a100, loads);
  EXPECT_EQ(split.idle, Milliwatts{50'000});
  EXPECT_EQ(split.instances[0], Milliwatts{75'000});
  EXPECT_EQ(split.instances[1], Milliwatts{55'000});
  EXPECT_EQ(power_of(a100, {}).total, gpu_power(a100).idle);
}

TEST(Power, MoreWorkNeverDrawsLess) {
  Random random(5);
  for (int round = 0; round < 20000; ++round) {
    const GpuModel& gpu = gpu_models()[random.below(gpu_models().size())];
    auto loads = some_loads(random);
    if (loads.empty()) continue;
    const PowerSplit before = power_of(gpu, loads);
    InstanceLoad& one = loads[random.below(loads.size())];
    switch (random.below(3)) {
      case 0:
        one.busy += (1 - one.busy) * random.uniform();
        break;
      case 1:
        one.share += (1 - one.share) * random.uniform();
        break;
      default:
        one.kappa += random.uniform();
    }
    const PowerSplit after = power_of(gpu, loads);
    EXPECT_GE(after.total, before.total);
    EXPECT_LE(after.clock, before.clock);
  }
}

TEST(Power, CappedWorkSharesInProportionAndSlowsByBeta) {
  const GpuModel& h100 = model("H100-80GB-SXM5");
  const InstanceLoad loads[] = {{0.5, 1, 1.2}, {0.5, 1, 0.9}};
  const PowerSplit split = power_of(h100, loads);
  EXPECT_TRUE(split.capped);
  EXPECT_NEAR(
      static_cast<double>(split.instances[0].value) / static_cast<double>(split.instances[1].value),
      1.2 / 0.9, 1e-5);
  EXPECT_DOUBLE_EQ(split.clock, 1 / 1.05);
  EXPECT_DOUBLE_EQ(power_of(h100, loads, {1, 1.6}).clock, std::pow(1 / 1.05, 1 / 1.6));
  EXPECT_DOUBLE_EQ(power_of(h100, loads, {1, 99}).clock,
                   power_of(h100, loads, {1, most_beta}).clock);
}

TEST(Power, NonsenseDrawsNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  const GpuModel& a30 = model("A30-24GB");
  const InstanceLoad loads[] = {{nan, 1}, {1, nan}, {1, 1, nan}, {-1, 1}, {0.25, -inf}};
  EXPECT_EQ(power_of(a30, loads, {nan, nan}).total, gpu_power(a30).idle);
  const InstanceLoad endless[] = {{inf, inf, inf}};
  EXPECT_EQ(power_of(a30, endless, {inf, inf}).total, gpu_power(a30).cap);
}

// Serial and shared runs of the same jobs: the energy beside idle is that of the jobs, so what
// sharing saves is idle time. The law that fits most of what *Managing Multi Instance GPUs*
// reports.
TEST(Power, SharingSavesTheIdlePartOfTheEnergy) {
  const GpuModel& a100 = model("A100-40GB");
  for (const double busy : {0.1, 0.3, 0.6, 1.0}) {
    const InstanceLoad serial[] = {{1, busy}};
    const double before = in_watts(power_of(a100, serial).total);
    const double idle_share = in_watts(gpu_power(a100).idle) / before;
    for (double gain = 1; gain * busy <= 1; gain += 0.1) {
      const std::vector<InstanceLoad> shared(7, {1.0 / 7, busy * gain});
      const double energy = in_watts(power_of(a100, shared).total) / gain;
      EXPECT_NEAR(energy / before, 1 - idle_share * (1 - 1 / gain), 1e-4);
    }
  }
}

}  // namespace
}  // namespace cleave
