// Jobs side by side on a GPU: the link is never overdrawn and fairly divided, power never passes
// the cap, and no job is faster for having neighbours.

#include "physics/contention.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "physics/link.hpp"

namespace cleave {
namespace {

SharedLoad some_load(Random& random) {
  SharedLoad load;
  const auto part = [&] { return random.below(3) == 0 ? 0 : 3 * random.uniform(); };
  load.parts = {part(), part(), part(), part(),
                random.below(2) == 0 ? 1 : 1 + 5 * random.uniform()};
  load.parts.direct = part();
  load.direct_link = random.below(2) == 0 ? 1 : 0.1 + 0.9 * random.uniform();
  load.compute_share = load.memory_share = 1.0 / 7;
  load.kappa = 2 * random.uniform();
  return load;
}

std::vector<Pace> paces(const SharedGpu& gpu, const std::vector<SharedLoad>& loads) {
  std::vector<Pace> all(loads.size());
  paces_of(gpu, loads, all);
  return all;
}

SharedGpu some_gpu(Random& random) {
  constexpr LinkSharing links[] = {LinkSharing::off, LinkSharing::spread, LinkSharing::together};
  SharedGpu gpu{.link = links[random.below(3)]};
  if (gpu.link != LinkSharing::off && random.below(2) == 0)
    gpu.instance_link = 0.1 + 0.9 * random.uniform();
  if (random.below(4) > 0)
    gpu.power = power_bounds(gpu_models()[random.below(gpu_models().size())],
                             {.cap = Milliwatts{static_cast<std::int64_t>(random.below(400'000))}});
  gpu.beta = 0.7 + 0.9 * random.uniform();
  return gpu;
}

TEST(Contention, LinkAndCapHoldAndNoJobGainsByNeighbours) {
  Random random(11);
  int saturated = 0, capped = 0;
  for (int round = 0; round < 50000; ++round) {
    const SharedGpu gpu = some_gpu(random);
    std::vector<SharedLoad> loads;
    for (std::uint64_t i = 1 + random.below(7); i > 0; --i) loads.push_back(some_load(random));
    std::vector<Pace> together(loads.size());
    const double clock = paces_of(gpu, loads, together);
    double link = 0;
    Milliwatts power;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      link += together[i].link;
      power += together[i].power;
      SharedGpu uncapped = gpu;
      uncapped.power = {};
      EXPECT_LE(together[i].speed, pace_alone(uncapped, loads[i]).speed * (1 + 1e-12));
    }
    if (gpu.link != LinkSharing::off) {
      EXPECT_LE(link, 1 + 1e-9);
    }
    if (gpu.power) {
      EXPECT_LE(power, gpu.power->cap - gpu.power->idle);
    }
    EXPECT_EQ(clock < 1, clock != 1);
    saturated += gpu.link == LinkSharing::spread && link > 1 - 1e-6 ? 1 : 0;
    capped += clock < 1 ? 1 : 0;
  }
  EXPECT_GT(saturated, 1000);
  EXPECT_GT(capped, 1000);
}

// Needleman-Wunsch as *Managing Multi Instance GPUs* measured it fits a share of 0.32 of transfers
// that never coincide, and 0.21 where all coincide (kernels as fast on a slice as on the GPU).
TEST(Contention, TheTwoReadingsOfSevenTransfers) {
  const auto slowdown = [](LinkSharing link, double share) {
    const std::vector<SharedLoad> seven(
        7, SharedLoad{.parts = {.fixed = 1 - share, .transfer = share}});
    return 1 / paces({.link = link}, seven).front().speed;
  };
  EXPECT_NEAR(slowdown(LinkSharing::spread, 0.32), 2.24, 1e-9);
  EXPECT_NEAR(slowdown(LinkSharing::together, 0.2067), 2.24, 1e-3);
  EXPECT_EQ(slowdown(LinkSharing::spread, 1.0 / 8), 1);
  EXPECT_NEAR(slowdown(LinkSharing::together, 1.0 / 8), 7.0 / 8 + 7.0 / 8, 1e-12);
  EXPECT_EQ(slowdown(LinkSharing::off, 1), 1);
}

// What transfers all the time gets an equal share, and no more than its copy engines carry.
TEST(Contention, PureTransfersGetMaxMinFairShares) {
  const SharedLoad transfer{.parts = {.transfer = 1}};
  for (const LinkSharing link : {LinkSharing::spread, LinkSharing::together})
    for (std::size_t count = 1; count <= 7; ++count) {
      const auto all =
          paces({.link = link, .instance_link = 0.3}, std::vector<SharedLoad>(count, transfer));
      for (const Pace& each : all)
        EXPECT_NEAR(each.speed, std::min(0.3, 1.0 / static_cast<double>(count)), 1e-12);
    }
  const SharedLoad reads{.parts = {.direct = 1}, .direct_link = 0.62};
  const auto both = paces({.link = LinkSharing::spread, .instance_link = 0.13}, {transfer, reads});
  EXPECT_NEAR(both[0].speed, 0.13, 1e-12) << "its copy engines";
  EXPECT_NEAR(both[1].speed, 0.62, 1e-12) << "its processors";
  const auto three =
      paces({.link = LinkSharing::spread, .instance_link = 0.13}, {transfer, reads, reads});
  EXPECT_NEAR(three[0].speed, 0.13, 1e-9);
  EXPECT_NEAR(three[1].speed, (1 - 0.13) / 2, 1e-9) << "what the copy engines leave";
  const auto mixed = paces({.link = LinkSharing::spread},
                           {transfer, transfer, {.parts = {.fixed = 0.99, .transfer = 0.01}}});
  EXPECT_NEAR(mixed[0].speed, mixed[1].speed, 1e-12);
  EXPECT_GT(mixed[2].speed, 0.98) << "a job that transfers little is hardly slowed";
  EXPECT_NEAR(mixed[0].link + mixed[1].link + mixed[2].link, 1, 1e-9);
}

TEST(Contention, JobsOfOneInstanceShareItsCopyEngines) {
  const SharedLoad transfer{
      .parts = {.transfer = 1}, .instance = 1, .sharing = SharingMode::compute_instances};
  for (const LinkSharing link : {LinkSharing::spread, LinkSharing::together})
    for (const std::size_t count : {1, 2, 4}) {
      const auto all =
          paces({.link = link, .instance_link = 0.3}, std::vector<SharedLoad>(count, transfer));
      for (const Pace& pace : all)
        EXPECT_NEAR(pace.link, 0.3 / static_cast<double>(count), 1e-9) << count;
    }
  // Half of a lone job's time: two of them keep the engines busy, three want more than there is.
  SharedLoad half = transfer;
  half.parts.fixed = 1 / 0.3;
  const SharedGpu gpu{.instance_link = 0.3};
  EXPECT_NEAR(paces(gpu, {half, half})[0].speed, 0.3 / 2, 1e-9);
  EXPECT_NEAR(paces(gpu, {half, half, half})[0].link, 0.1, 1e-9);
}

TEST(Contention, OnlyComputeSlowsWithTheClock) {
  const GpuModel& a30 = **find_gpu_model("A30-24GB");
  SharedGpu gpu{.power = power_bounds(a30, {.cap = Milliwatts{100'000}})};
  SharedLoad busy{.parts = {.compute = 1}, .compute_share = 1, .memory_share = 1};
  const double clock = 70.0 / 135;
  EXPECT_NEAR(pace_alone(gpu, busy).speed, clock, 1e-6);
  EXPECT_EQ(pace_alone(gpu, busy).power, Milliwatts{70'000});
  busy.parts = {.bandwidth = 1};
  EXPECT_EQ(pace_alone(gpu, busy).speed, 1);
  EXPECT_EQ(pace_alone(gpu, busy).power, Milliwatts{70'000});
  busy.parts = {.compute = 1};
  gpu.beta = 0.7;
  EXPECT_NEAR(pace_alone(gpu, busy).speed, std::pow(clock, 1 / 0.7), 1e-6);
}

TEST(HostLink, EveryModelHasOneWithASource) {
  for (const GpuModel& model : gpu_models()) {
    const HostLink& link = host_link(model);
    EXPECT_GT(link.gb_per_s, 0) << model.key;
    EXPECT_GT(link.instance_share(), 0) << model.key;
    EXPECT_LE(link.instance_share(), 1) << model.key;
    EXPECT_FALSE(link.source.empty()) << model.key;
  }
  // Seven instances at the limit of their copy engines just fill the GH200's link.
  EXPECT_NEAR(7 * host_link(**find_gpu_model("H100-96GB-GH200")).instance_share(), 0.92, 0.01);
}

}  // namespace
}  // namespace cleave
