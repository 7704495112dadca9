#pragma once
// What a controller keeps of a cluster's objects: of pods, claims, slices, budgets and nodes only
// what a plan of evictions goes by, so that a large cluster fits into little memory.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/kube_claim.hpp"

namespace cleave {

/// A pod or namespace with this label "true" is one whose pods may be evicted for compaction.
inline constexpr const char* compact_label = "cleave.gpu/compact";

using KubeLabels = std::map<std::string, std::string>;

/// Who makes another pod where one is gone.
struct PodOwner {
  std::string kind, name, uid;
};

/// A taint of a node, and what of a pod lets it go there all the same.
struct NodeTaint {
  std::string key, value, effect;
};
struct PodToleration {
  std::string key, how, value, effect;  // an empty key or effect is any

  [[nodiscard]] bool covers(const NodeTaint& taint) const;
};

/// A pod, as far as compaction goes.
struct ControlPod {
  std::string uid;
  KubeName at;
  std::string node;                 // empty: not bound yet
  std::vector<std::string> claims;  // names; those of templates only once they are made
  KubeLabels labels;
  std::optional<PodOwner> owner;
  std::optional<Instant> started;  // it runs since then
  std::optional<Instant> refused;  // since then the scheduler finds no devices for it
  bool leaves = false, over = false;
  std::string anchored;  // what ties it to certain nodes, in words; empty: nothing does
  std::string extended;  // "mig-1g.10gb": the one extended resource that it asks for
  std::vector<PodToleration> tolerations;

  [[nodiscard]] bool tolerates(const NodeTaint& taint) const;
};
/// Nothing for a pod without claims and extended resources of ours.
[[nodiscard]] std::optional<ControlPod> read_control_pod(const Json& object);

/// A claim and where it is allocated.
struct ControlClaim {
  std::string uid;
  KubeName at;
  std::string pool;                  // the node; empty: not allocated
  std::vector<std::string> devices;  // of ours
  std::string wanted_class;          // of a claim for one device of one class, else empty
  std::string pod_uid;               // of the pod that it was made for; empty: it stands by itself
  std::size_t users = 0;             // pods that it is reserved for
  bool of_others = false;            // another driver's devices are part of it
};
[[nodiscard]] std::optional<ControlClaim> read_control_claim(const Json& object);

/// A GPU that a node publishes.
struct ControlGpu {
  std::string uuid, model;
  std::int64_t index = 0;
  bool closed = false;              // it takes no new work
  std::vector<std::string> others;  // devices in whose place somebody else is
};

/// The slice of devices of one node.
struct ControlNode {
  std::string name;
  std::vector<ControlGpu> gpus;
  std::set<std::string> devices, tainted;  // names
};
/// Nothing for slices of counters, and of other drivers.
[[nodiscard]] std::optional<ControlNode> read_control_node(const Json& slice);

/// A PodDisruptionBudget.
struct DisruptionBudget {
  /// One condition on labels, as selectors have them.
  struct Term {
    std::string key, how;  // "In", "NotIn", "Exists", "DoesNotExist"
    std::vector<std::string> values;
  };
  KubeName at;
  std::vector<Term> terms;  // all must hold
  bool selects = false;     // a budget without a selector has no pods
  std::int64_t allowed = 0;

  [[nodiscard]] bool covers(const ControlPod& pod) const;
};
[[nodiscard]] std::optional<DisruptionBudget> read_budget(const Json& object);

/// Whether a node takes pods, and of which kind.
struct NodeReadiness {
  std::string name;
  bool open = false;              // ready, and not cordoned
  std::vector<NodeTaint> taints;  // that keep pods away
};
[[nodiscard]] NodeReadiness read_node_readiness(const Json& object);
/// Whether the object has the label for compaction.
[[nodiscard]] bool has_compact_label(const Json& object);

/// The value below these keys; null where there is none.
[[nodiscard]] const Json& json_below(const Json& object, std::initializer_list<const char*> keys);
/// The text below these keys; empty where there is none.
[[nodiscard]] std::string text_below(const Json& object, std::initializer_list<const char*> keys);

}  // namespace cleave
