// Which pods are evicted for which, and which are left alone.

#include "kubecontrol/eviction_plan.hpp"

#include <gtest/gtest.h>

#include "kubecontrol/cluster_double_test.hpp"

namespace cleave {
namespace {

constexpr Instant plan_time{std::chrono::hours(24 * 365 * 57)};

/// Two GPUs with a pod each, and one pod that wants a whole GPU.
struct Fragmented : SmallCluster {
  Fragmented() : SmallCluster(2) {
    run("a", 0, "1g.5gb", 2);
    run("b", 1, "3g.20gb", 0);
    wait("big", "7g.40gb");
  }
  [[nodiscard]] ClusterScene scene() const {
    ClusterScene scene;
    for (const auto& [uid, object] : pods)
      if (const auto pod = read_control_pod(object)) scene.pods[uid] = *pod;
    for (const auto& [name, object] : claims)
      if (const auto claim = read_control_claim(object)) scene.claims[claim->at] = *claim;
    for (std::size_t i = 0; i < names.size(); ++i)
      scene.nodes[names[i]] = *read_control_node(slice(i));
    const auto listed = [&](const char* target) {
      const auto found = api.lists.find(target);
      return found == api.lists.end() ? std::vector<Json>() : found->second;
    };
    for (const Json& each : listed("/api/v1/nodes"))
      scene.states.push_back(read_node_readiness(each));
    for (const Json& each : listed("/apis/policy/v1/poddisruptionbudgets"))
      scene.budgets.push_back(*read_budget(each));
    for (const Json& each : listed("/api/v1/namespaces"))
      if (has_compact_label(each)) scene.compacted_spaces.insert("team");
    return scene;
  }
  [[nodiscard]] EvictionDecision decision() const {
    return plan_evictions(scene(), {}, {}, plan_time);
  }
  [[nodiscard]] std::string why_stays(const std::string& name) const {
    for (const StayingPod& each : decision().stays)
      if (each.pod.name == name) return each.why;
    return {};
  }
};

TEST(EvictionPlan, MovesOneOfTwoSoThatAWholeGpuIsFree) {
  Fragmented cluster;
  const EvictionDecision found = cluster.decision();
  ASSERT_TRUE(found.plan) << in_words(found);
  EXPECT_EQ(found.plan->pod.name, "big");
  EXPECT_EQ(found.plan->fewest, 1U);
  ASSERT_EQ(found.plan->evictions.size(), 1U);
  const PlannedEviction& move = found.plan->evictions[0];
  EXPECT_EQ(move.from.substr(0, 2), found.plan->node);
  EXPECT_NE(move.to.substr(0, 2), found.plan->node);
  EXPECT_EQ(found.plan->memory_slices, 8);
  const std::string words = in_words(found);
  EXPECT_NE(words.find("for pod team/big, by evicting one pod"), std::string::npos) << words;
  EXPECT_NE(words.find("of ReplicaSet set"), std::string::npos) << words;
  EXPECT_NE(words.find("no disruption budget"), std::string::npos) << words;
  EXPECT_EQ(to_json(found)["plan"]["evictions"].size(), 1U);
}

TEST(EvictionPlan, BudgetsDecideAndAreNamed) {
  Fragmented cluster;
  cluster.budget(0);
  EXPECT_FALSE(cluster.decision().plan);
  EXPECT_EQ(cluster.why_stays("a"), "budget b allows no disruption");
  cluster.budget(1);
  const auto found = cluster.decision();
  ASSERT_TRUE(found.plan);
  EXPECT_EQ(found.plan->evictions[0].budgets, std::vector<std::string>{"b allows 1"});
  // What the budget's controller has not looked at yet allows nothing.
  cluster.api.lists["/apis/policy/v1/poddisruptionbudgets"][0]["metadata"]["generation"] = 2;
  EXPECT_FALSE(cluster.decision().plan);
  auto& budgets = cluster.api.lists["/apis/policy/v1/poddisruptionbudgets"];
  budgets[0]["metadata"]["generation"] = 1;
  budgets.push_back(budgets[0]);
  EXPECT_EQ(cluster.why_stays("a"), "several budgets cover it, which evictions do not serve");
}

TEST(EvictionPlan, BarePodsAndThoseThatDidNotAskForItStay) {
  Fragmented cluster;
  cluster.run("a", 0, "1g.5gb", 2, "");
  cluster.run("b", 1, "3g.20gb", 0, "DaemonSet");
  EXPECT_FALSE(cluster.decision().plan);
  EXPECT_EQ(cluster.why_stays("a"), "it is a bare pod: nobody makes it again");
  EXPECT_EQ(cluster.why_stays("b"), "its owner is a DaemonSet");
  cluster.run("a", 0, "1g.5gb", 2, "Job");
  EXPECT_TRUE(cluster.decision().plan);
  cluster.pods["u-a"]["metadata"]["labels"][compact_label] = "false";
  EXPECT_FALSE(cluster.decision().plan);
  EXPECT_NE(cluster.why_stays("a").find("has the label"), std::string::npos);
  cluster.api.lists["/api/v1/namespaces"].clear();
  cluster.pods["u-a"]["metadata"]["labels"][compact_label] = "true";
  EXPECT_TRUE(cluster.decision().plan);
}

TEST(EvictionPlan, PodsThatAreTiedToNodesStay) {
  for (const auto& [key, value] :
       {std::pair("nodeSelector", R"({"zone":"x"})"),
        std::pair("affinity",
                  R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"a":1}}})"),
        std::pair("topologySpreadConstraints", R"([{"whenUnsatisfiable":"DoNotSchedule"}])")}) {
    Fragmented cluster;
    for (const char* pod : {"u-a", "u-b"}) cluster.pods[pod]["spec"][key] = Json::parse(value);
    EXPECT_FALSE(cluster.decision().plan) << key;
    EXPECT_FALSE(cluster.why_stays("a").empty()) << key;
  }
}

TEST(EvictionPlan, ClaimsThatArePodsTogetherStay) {
  Fragmented cluster;
  for (const char* each : {"c-a", "c-b"}) cluster.claims[each]["metadata"].erase("ownerReferences");
  EXPECT_FALSE(cluster.decision().plan);
  EXPECT_EQ(cluster.why_stays("b"), "its claim is not its own");
}

TEST(EvictionPlan, NodesThatTakeNoPodsDoNotCount) {
  Fragmented cluster;
  auto& nodes = cluster.api.lists["/api/v1/nodes"];
  nodes[1]["spec"]["unschedulable"] = true;
  EXPECT_FALSE(cluster.decision().plan);
  nodes[1]["spec"] = Json::parse(R"({"taints":[{"key":"gpu","effect":"NoSchedule"}]})");
  EXPECT_FALSE(cluster.decision().plan);
  const Json tolerates = Json::parse(R"([{"key":"gpu","operator":"Exists"}])");
  cluster.pods["u-big"]["spec"]["tolerations"] = tolerates;
  EXPECT_FALSE(cluster.decision().plan);  // the others could not go there
  for (const char* pod : {"u-a", "u-b"}) cluster.pods[pod]["spec"]["tolerations"] = tolerates;
  EXPECT_TRUE(cluster.decision().plan);
  nodes[1]["status"]["conditions"][0]["status"] = "Unknown";
  EXPECT_FALSE(cluster.decision().plan);
}

TEST(EvictionPlan, WhatOthersHaveIsInTheWay) {
  Fragmented cluster;
  cluster.gpus[0].taken.insert(*cluster.gpus[0].geometry.find("1g.5gb", 6));
  cluster.gpus[1].taken.insert(*cluster.gpus[1].geometry.find("1g.5gb", 6));
  EXPECT_FALSE(cluster.decision().plan);
  cluster.gpus[0].taken = {};
  const auto found = cluster.decision();
  ASSERT_TRUE(found.plan);
  EXPECT_EQ(found.plan->node, "n0");
  cluster.gpus[0].usable = false;
  EXPECT_FALSE(cluster.decision().plan);
}

TEST(EvictionPlan, AnOwnersPodsGoOnceInAWhile) {
  Fragmented cluster;
  ClusterScene scene = cluster.scene();
  for (int i = 0; i < 2; ++i) scene.evicted.emplace("u-set", plan_time - std::chrono::minutes(5));
  EXPECT_FALSE(plan_evictions(scene, {}, {}, plan_time).plan);
  EXPECT_TRUE(plan_evictions(scene, {}, {}, plan_time + std::chrono::minutes(26)).plan);
}

TEST(EvictionPlan, OnlyForPodsThatWaitLongEnoughForOneInstance) {
  Fragmented cluster;
  cluster.pods["u-big"]["status"]["conditions"][0]["lastTransitionTime"] = "2026-12-17T23:59:50Z";
  EXPECT_FALSE(cluster.decision().plan);  // ten seconds
  cluster.wait("big", "7g.40gb");
  cluster.pods["u-big"]["status"]["conditions"][0]["message"] = "0/2 nodes: 2 Insufficient cpu.";
  EXPECT_FALSE(cluster.decision().plan);
  cluster.wait("big", "7g.40gb");
  cluster.claims["c-big"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2;
  const auto found = cluster.decision();
  EXPECT_FALSE(found.plan);
  ASSERT_EQ(found.why_not.size(), 1U);
  EXPECT_EQ(found.why_not[0], "team/big: it does not ask for one instance of one profile");
}

TEST(EvictionPlan, ForAProfileAndForAnExtendedResource) {
  Fragmented cluster;
  cluster.wait("big", "1g.5gb");
  EXPECT_FALSE(cluster.decision().plan);
  EXPECT_TRUE(plan_for_profile(cluster.scene(), "1g.5gb", {}, plan_time).has_room);
  EXPECT_TRUE(plan_for_profile(cluster.scene(), "7g.40gb", {}, plan_time).plan);
  EXPECT_FALSE(plan_for_profile(cluster.scene(), "7g.80gb", {}, plan_time).plan);
  cluster.claims.erase("c-big");
  Json& pod = cluster.pods["u-big"];
  pod["spec"].erase("resourceClaims");
  pod["status"].erase("resourceClaimStatuses");
  pod["spec"]["containers"] =
      Json::parse(R"([{"resources":{"limits":{"nvidia.com/mig-7g.40gb":"1"}}}])");
  EXPECT_TRUE(cluster.decision().plan);
  pod["spec"]["containers"].push_back(pod["spec"]["containers"][0]);  // two of them
  EXPECT_FALSE(cluster.decision().plan);
}

}  // namespace
}  // namespace cleave
