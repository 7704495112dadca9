// Shares of hosts, and what fleet files say of them.

#include "model/host_share.hpp"

#include <gtest/gtest.h>

#include "model/fleet_file.hpp"

namespace cleave {
namespace {

FleetFile fleet_of(const char* nodes) {
  const std::string text =
      std::string(R"({"gpus": [{"name": "a/%d", "model": "A100-40GB", "count": 4},
                               {"name": "b/0", "model": "A30-24GB"},
                               {"name": "b/1", "model": "A100-40GB"}], "nodes": )") +
      nodes + "}";
  auto fleet = parse_fleet(text, "fleet", *ProfileChoice::parse("plain"));
  EXPECT_TRUE(fleet) << fleet.error().text();
  return *fleet;
}

TEST(HostShare, IsThatOfTheSlices) {
  const HostNode node{{64'000, MiB{512 << 10}}, 28, 32};
  EXPECT_EQ(host_share({}, node, {1, 1}), (HostAmount{2285, MiB{16384}}));
  EXPECT_EQ(host_share({}, node, {7, 8}), (HostAmount{16'000, MiB{131072}}));
  EXPECT_EQ(host_share({500, {}}, node, {7, 8}), (HostAmount{500, MiB{131072}}));
  EXPECT_EQ(host_share({{}, MiB{1}}, node, {1, 2}), (HostAmount{2285, MiB{1}}));
}

TEST(HostShare, OfAllInstancesIsNoMoreThanTheNode) {
  for (const std::int64_t cpus : {1, 999, 1000, 7777, 64'000})
    for (const int gpus : {1, 3, 8}) {
      const HostNode node{{cpus, MiB{cpus + 1}}, 7 * gpus, 8 * gpus};
      HostAmount all;
      for (int gpu = 0; gpu < gpus; ++gpu) {
        all += host_share({}, node, {4, 4});
        all += host_share({}, node, {3, 4});
      }
      EXPECT_TRUE(holds(node, {}, all)) << cpus << " " << gpus;
    }
}

TEST(HostShare, CountsNothingThatIsNotLimited) {
  EXPECT_EQ(host_share({8000, MiB{5}}, {{1000, {}}, 7, 8}, {1, 1}), (HostAmount{8000, MiB{0}}));
  EXPECT_TRUE(holds({{{}, {}}, 7, 8}, {1'000'000, MiB{1}}, {1, MiB{1}}));
}

TEST(HostShare, RoomIsLeftUpToTheLastThousandth) {
  const HostNode node{{1000, MiB{100}}, 7, 8};
  EXPECT_TRUE(holds(node, {400, MiB{50}}, {600, MiB{50}}));
  EXPECT_FALSE(holds(node, {400, MiB{50}}, {601, MiB{50}}));
  EXPECT_FALSE(holds(node, {400, MiB{50}}, {600, MiB{51}}));
  EXPECT_FALSE(holds(node, {}, {INT64_MAX, MiB{0}}));
}

TEST(FleetFile, SaysTheHostsOfItsNodes) {
  const auto nodes =
      host_nodes(fleet_of(R"([{"name": "b", "cpus": 8}, {"name": "none", "cpus": 1}])"));
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0], (HostNode{{}, 28, 32}));
  EXPECT_EQ(nodes[1], (HostNode{{8000, {}}, 11, 12}));
}

TEST(FleetFile, LimitsNoHostOfWhichItSaysNothing) {
  EXPECT_TRUE(host_nodes(fleet_of("[]")).empty());
  EXPECT_TRUE(host_nodes(fleet_of(R"([{"name": "a"}, {"name": "none", "cpus": 1}])")).empty());
}

}  // namespace
}  // namespace cleave
