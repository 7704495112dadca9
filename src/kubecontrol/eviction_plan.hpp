#pragma once
// Room for a pod that waits for an instance: which pods would be evicted, so that their owners make
// others elsewhere. The planner's compaction decides (planner/make_room.hpp): the fewest moves,
// each to a place that is free before the pod goes. Where the new pod really goes is the
// scheduler's choice, so a plan is carried out one wave at a time, and the next is made from what
// is there then.
//
// Only pods are taken that have said so by a label, of their own or of their namespace, that a
// controller makes again wherever there is room, that hold one instance by a claim of their own,
// and that no disruption budget keeps.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kubecontrol/cluster_objects.hpp"
#include "planner/make_room.hpp"

namespace cleave {

/// Evictions of the past by the owner's UID, for its pods are others each time.
using EvictionHistory = std::multimap<std::string, Instant>;

/// What a plan is made from.
struct ClusterScene {
  std::map<std::string, ControlPod> pods;  // by UID
  std::map<KubeName, ControlClaim> claims;
  std::map<std::string, ControlNode> nodes;  // by name
  std::vector<NodeReadiness> states;         // of nodes
  std::vector<DisruptionBudget> budgets;
  std::set<std::string> compacted_spaces;  // namespaces with the label
  EvictionHistory evicted;
};

/// When and how much may be moved.
struct EvictionRules {
  Duration when_waiting = std::chrono::seconds(30);
  Duration every = std::chrono::minutes(30);  // a pod of an owner goes once in this time
  RoomLimits limits{};
};

/// A pod goes, and where its successor has room.
struct PlannedEviction {
  std::int64_t wave = 1;
  std::string uid;
  KubeName pod;
  PodOwner owner;
  std::string device;                // that it has
  std::string from, to;              // "node-0/1 3g.40gb@4"
  std::vector<std::string> budgets;  // "web allows 1"
};

/// Room for one pod, or for a profile that was asked about.
struct EvictionPlan {
  std::string uid;  // of the pod; empty where a profile was asked about
  KubeName pod;
  std::string node, device;                // that it is to have
  std::string place;                       // "node-0/1 7g.80gb@0"
  int memory_slices = 0;                   // that become free together
  std::vector<PlannedEviction> evictions;  // by wave
  std::size_t fewest = 0;                  // no plan has fewer
};

/// A pod that holds an instance and stays where it is.
struct StayingPod {
  KubeName pod;
  std::string place, why;
};

/// What was decided.
struct EvictionDecision {
  std::optional<EvictionPlan> plan;
  bool has_room = false;             // what was asked for fits as it is
  std::vector<std::string> why_not;  // of pods that wait, in words
  std::vector<StayingPod> stays;
};

/// For one pod that waits, by its UID.
[[nodiscard]] EvictionDecision plan_for_pod(const ClusterScene& scene, const std::string& uid,
                                            const EvictionRules& rules, Instant now);
/// For any pod that would want this profile.
[[nodiscard]] EvictionDecision plan_for_profile(const ClusterScene& scene,
                                                const std::string& profile,
                                                const EvictionRules& rules, Instant now);
/// For the pods that wait, the longest first, without those of `passed`; the first plan there is.
[[nodiscard]] EvictionDecision plan_evictions(const ClusterScene& scene,
                                              const std::set<std::string>& passed,
                                              const EvictionRules& rules, Instant now);

/// For a person to read.
[[nodiscard]] std::string in_words(const EvictionDecision& decision);
[[nodiscard]] Json to_json(const EvictionDecision& decision);

}  // namespace cleave
