// The controller against an API server in memory: one of several acts, a place is kept before
// anybody goes, budgets are asked again and obeyed, and what comes otherwise than planned is
// planned anew.

#include "kubecontrol/kube_controller.hpp"

#include <gtest/gtest.h>

#include "kubecontrol/cluster_double_test.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;

/// A controller beside a small cluster, with a clock of its own.
struct ControlStand : SmallCluster {
  RoundTime time{seconds(1000), Instant(std::chrono::hours(24 * 365 * 57))};
  std::vector<std::string> said;
  std::unique_ptr<KubeController> controller;

  explicit ControlStand(int nodes = 2) : SmallCluster(nodes) { begin("one"); }
  void begin(const std::string& holder) {
    KubeControllerSettings settings;
    settings.holder = holder;
    settings.clock = [this] { return time; };
    controller = std::make_unique<KubeController>(
        settings, api, [this](const std::string& line) { said.push_back(line); });
  }
  void pass(Duration span) {
    time.steady += span;
    time.now += span;
  }
  /// What the controller is told of all objects. Nodes that are told of kept places obey.
  void show(bool nodes_obey = true) {
    const auto of = [](const auto& objects) {
      std::vector<Json> all;
      for (const auto& [key, object] : objects) all.push_back(object);
      return all;
    };
    controller->pod_listener().replaced(of(pods));
    controller->claim_listener().replaced(of(claims));
    std::vector<Json> slices;
    for (std::size_t i = 0; i < names.size(); ++i)
      slices.push_back(slice(i, nodes_obey ? kept_on(names[i]) : ""));
    controller->slice_listener().replaced(slices);
  }
  std::string kept_on(const std::string& node) const {
    const auto notes =
        api.objects.find("/api/v1/namespaces/cleave-system/configmaps/cleave-compaction");
    if (notes == api.objects.end()) return {};
    for (const KeptRoom& each : read_kept_room(notes->second))
      if (each.node == node) return each.device;
    return {};
  }
  void rounds(int count, bool nodes_obey = true) {
    for (int i = 0; i < count; ++i) {
      show(nodes_obey);
      (void)controller->round();
      pass(seconds(1));
    }
  }
  /// The evicted pod is gone, and its owner has made another.
  void comes_back(const std::string& name, const std::string& as, std::size_t node,
                  const std::string& profile, int start) {
    remove(name);
    run(as, node, profile, start);
  }
  bool has_said(const std::string& part) const {
    return std::ranges::any_of(
        said, [&](const std::string& each) { return each.find(part) != std::string::npos; });
  }
};

/// The pod on n0 is in the way of a whole GPU; the one on n1 may not go.
struct OneInTheWay : ControlStand {
  OneInTheWay() {
    run("a", 0, "1g.5gb", 2);
    run("b", 1, "3g.20gb", 0, "");
    wait("big", "7g.40gb");
  }
};

TEST(KubeController, KeepsThePlaceThenEvictsThenLeavesItToTheScheduler) {
  OneInTheWay stand;
  stand.rounds(3, false);
  EXPECT_EQ(stand.kept_on("n0"), stand.device(0, "7g.40gb", 0));
  EXPECT_TRUE(stand.api.evicted.empty());  // the node does not keep it yet
  stand.rounds(2);
  EXPECT_EQ(stand.api.evicted, std::vector<std::string>{"u-a"});
  stand.rounds(3);
  EXPECT_EQ(stand.api.evicted.size(), 1U);
  stand.comes_back("a", "a2", 1, "1g.5gb", 4);
  stand.rounds(4);
  EXPECT_EQ(stand.kept_on("n0"), stand.device(0, "7g.40gb", 0));
  stand.run("big", 0, "7g.40gb", 0, "");
  stand.rounds(2);
  EXPECT_EQ(stand.kept_on("n0"), "");
  EXPECT_EQ(stand.controller->counts().evictions, 1U);
  EXPECT_EQ(stand.controller->counts().served, 1U);
  ASSERT_EQ(stand.api.events.size(), 1U);
  EXPECT_NE(stand.api.events[0].find("to make room for pod team/big"), std::string::npos);
}

TEST(KubeController, ANodeThatDoesNotKeepThePlaceCostsNobodyAnything) {
  OneInTheWay stand;
  stand.rounds(30, false);
  EXPECT_TRUE(stand.api.evicted.empty());
  EXPECT_TRUE(stand.has_said("its node does not keep the place"));
  EXPECT_EQ(stand.kept_on("n0"), "");
}

TEST(KubeController, ARefusalByABudgetIsAskedAgainAndThenObeyed) {
  OneInTheWay stand;
  stand.api.refusals["u-a"] = 429;
  stand.rounds(10);
  EXPECT_TRUE(stand.api.evicted.empty());
  EXPECT_GT(stand.controller->counts().refused, 3U);
  stand.api.refusals.clear();  // it allows one again
  stand.rounds(2);
  EXPECT_EQ(stand.api.evicted.size(), 1U);

  OneInTheWay other;
  other.api.refusals["u-a"] = 429;
  other.rounds(90);
  EXPECT_TRUE(other.has_said("disruption budgets allow no eviction"));
  EXPECT_EQ(other.kept_on("n0"), "");
  const auto asked = other.controller->counts().refused;
  other.rounds(60);  // and it is passed over for a while
  EXPECT_EQ(other.controller->counts().refused, asked);
}

TEST(KubeController, AnotherErrorEndsThePlan) {
  OneInTheWay stand;
  stand.api.refusals["u-a"] = 500;
  stand.rounds(20);
  EXPECT_EQ(stand.api.count("/eviction"), 1U);
  EXPECT_EQ(stand.controller->counts().passed, 1U);
}

TEST(KubeController, APodOfTheSameNameIsAnotherPod) {
  OneInTheWay stand;
  stand.api.refusals["u-a"] = 409;  // its UID is not the one of the precondition
  stand.rounds(4);
  stand.comes_back("a", "a2", 1, "1g.5gb", 4);
  stand.rounds(4);
  EXPECT_EQ(stand.api.count("/eviction"), 1U);
  EXPECT_EQ(stand.controller->counts().evictions, 0U);
}

TEST(KubeController, WhatComesBackElsewhereIsPlannedAnewWithinTheLimit) {
  ControlStand stand(3);
  stand.run("a", 0, "1g.5gb", 2);
  stand.run("b", 1, "3g.20gb", 0, "");
  stand.run("c", 2, "3g.20gb", 0, "");
  stand.run("d", 2, "1g.5gb", 4, "");
  stand.wait("big", "7g.40gb");
  stand.rounds(4);
  ASSERT_EQ(stand.api.evicted, std::vector<std::string>{"u-a"});
  // Not where the plan would have it, and onto the place that is kept, as if its node slept.
  stand.comes_back("a", "a2", 0, "1g.5gb", 6);
  stand.rounds(6);
  // Its owner's one pod has gone a moment ago: it is not chased.
  EXPECT_EQ(stand.api.evicted.size(), 1U);
  EXPECT_EQ(stand.controller->counts().passed, 1U);
  EXPECT_EQ(stand.kept_on("n0"), "");
}

TEST(KubeController, AWaveAfterAnotherIsPlannedFromWhatIsThere) {
  // n0 is to be free: its two pods of different owners have one free place each.
  ControlStand stand(2);
  stand.run("a", 0, "3g.20gb", 0);
  stand.run("b", 0, "1g.5gb", 6);
  stand.pods["u-b"]["metadata"]["ownerReferences"][0]["uid"] = "u-other";
  stand.run("c", 1, "2g.10gb", 0, "");
  stand.wait("big", "7g.40gb");
  stand.rounds(4);
  ASSERT_FALSE(stand.api.evicted.empty());
  std::set<std::string> went(stand.api.evicted.begin(), stand.api.evicted.end());
  if (went.contains("u-a")) stand.comes_back("a", "a2", 1, "3g.20gb", 4);
  if (went.contains("u-b")) stand.comes_back("b", "b2", 1, "1g.5gb", 2);
  stand.rounds(10);
  went.insert(stand.api.evicted.begin(), stand.api.evicted.end());
  EXPECT_EQ(went, (std::set<std::string>{"u-a", "u-b"}));
  EXPECT_EQ(stand.controller->counts().evictions, 2U);
}

TEST(KubeController, OneOfTwoActs) {
  OneInTheWay stand;
  auto other = std::move(stand.controller);
  stand.begin("two");
  stand.show();
  EXPECT_TRUE(stand.controller->round());
  std::swap(other, stand.controller);  // "one" comes later
  stand.rounds(12);
  EXPECT_TRUE(stand.api.evicted.empty());  // "two" has renewed nothing, and has not run out yet
  std::swap(other, stand.controller);
  stand.controller->end();
  std::swap(other, stand.controller);
  stand.rounds(6);
  EXPECT_EQ(stand.api.evicted.size(), 1U);
}

TEST(KubeController, WithoutTheApiServerOrTheLeaseNobodyGoes) {
  OneInTheWay stand;
  stand.rounds(1);
  stand.api.down = true;
  stand.rounds(20);
  stand.api.down = false;
  EXPECT_TRUE(stand.api.evicted.empty());
  // Another has taken it over meanwhile.
  Json& lease = stand.api.objects
                    ["/apis/coordination.k8s.io/v1/namespaces/cleave-system/leases/"
                     "cleave-kube-controller"];
  lease["spec"]["holderIdentity"] = "two";
  lease["metadata"]["resourceVersion"] = "900";
  stand.rounds(8);
  EXPECT_TRUE(stand.api.evicted.empty());
}

TEST(KubeController, TheNextOneKnowsWhichOwnersPodsWent) {
  OneInTheWay stand;
  stand.rounds(5);
  ASSERT_EQ(stand.api.evicted.size(), 1U);
  stand.comes_back("a", "a2", 0, "1g.5gb", 6);
  stand.rounds(3);
  stand.controller->end();
  stand.begin("two");
  stand.rounds(20);
  EXPECT_EQ(stand.api.evicted.size(), 1U);
  stand.pass(std::chrono::minutes(31));
  stand.rounds(6);
  EXPECT_EQ(stand.api.evicted.size(), 2U);
}

TEST(KubeController, ADryRunEvictsNobody) {
  OneInTheWay stand;
  KubeControllerSettings settings;
  settings.holder = "dry";
  settings.dry_run = true;
  settings.clock = [&stand] { return stand.time; };
  stand.controller = std::make_unique<KubeController>(
      settings, stand.api, [&stand](const std::string& line) { stand.said.push_back(line); });
  stand.rounds(10);
  EXPECT_TRUE(stand.api.evicted.empty());
  EXPECT_EQ(stand.kept_on("n0"), "");
  EXPECT_TRUE(stand.has_said("Room at n0/0 7g.40gb@0 for pod team/big"));
}

TEST(KubeLease, IsTakenRenewedLostAndGivenBack) {
  ClusterDouble api;
  const Instant now(std::chrono::hours(24 * 365 * 57));
  KubeLease one(api, "s", "l", "one"), two(api, "s", "l", "two");
  ASSERT_TRUE(one.look(seconds(0), now));
  EXPECT_TRUE(one.held(seconds(9)));
  EXPECT_FALSE(one.held(seconds(10)));
  ASSERT_TRUE(two.look(seconds(0), now));
  EXPECT_FALSE(two.held(seconds(0)));
  EXPECT_EQ(two.holder(), "one");
  for (int at = 2; at < 40; at += 2) {
    ASSERT_TRUE(one.look(seconds(at), now));
    ASSERT_TRUE(two.look(seconds(at), now));
    EXPECT_TRUE(one.held(seconds(at)));
    EXPECT_FALSE(two.held(seconds(at)));
  }
  // It is not renewed: after its time, by the other's clock, and not at once.
  ASSERT_TRUE(two.look(seconds(52), now));
  EXPECT_FALSE(two.held(seconds(52)));
  ASSERT_TRUE(two.look(seconds(54), now));
  EXPECT_TRUE(two.held(seconds(54)));
  EXPECT_FALSE(one.held(seconds(54)));
  ASSERT_TRUE(one.look(seconds(54), now));
  EXPECT_FALSE(one.held(seconds(54)));
  two.release(now);
  ASSERT_TRUE(one.look(seconds(56), now));
  EXPECT_TRUE(one.held(seconds(56)));
  const Json& lease = api.objects["/apis/coordination.k8s.io/v1/namespaces/s/leases/l"];
  EXPECT_EQ(lease["spec"]["leaseTransitions"], 3);
  EXPECT_EQ(lease["spec"]["leaseDurationSeconds"], 15);
  EXPECT_EQ(lease["spec"]["renewTime"], "2026-12-18T00:00:00.000000Z");
}

TEST(KubeLease, ALostRaceIsNoLease) {
  ClusterDouble api;
  KubeLease one(api, "s", "l", "one");
  api.conflicts = 1;
  ASSERT_TRUE(one.look(seconds(0), {}));
  EXPECT_FALSE(one.held(seconds(0)));
  ASSERT_TRUE(one.look(seconds(2), {}));
  EXPECT_TRUE(one.held(seconds(2)));
  api.conflicts = 1;
  ASSERT_TRUE(one.look(seconds(4), {}));
  EXPECT_FALSE(one.held(seconds(4)));
  api.down = true;
  EXPECT_FALSE(one.look(seconds(6), {}));
}

}  // namespace
}  // namespace cleave
