#pragma once
// Makes room by evictions, one wave at a time, for pods that wait (eviction_plan.hpp). Of several
// replicas one acts.
//
// The place that a plan frees is kept first: its node taints all devices that overlap it, and only
// then is a pod evicted. When the evicted pods are gone and their owners' new ones have a place,
// the next plan is made from what is there then. If that needs more evictions than the rules allow
// for one pod, or a wave does not come to an end, the pod is passed over for a while: nothing is
// chased.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "kubeapi/kube_follow.hpp"
#include "kubecontrol/kept_room.hpp"
#include "kubecontrol/kube_lease.hpp"

namespace cleave {

/// Both clocks: the steady one for timing, the wall clock for records.
struct RoundTime {
  Duration steady{};
  Instant now{};
};
[[nodiscard]] RoundTime time_now();

/// How the controller behaves.
struct KubeControllerSettings {
  std::string space = "cleave-system", holder;
  EvictionRules rules;
  bool dry_run = false;  // says what it would do, and evicts nothing
  Duration kept_for = std::chrono::seconds(120), passed_for = std::chrono::minutes(10);
  Duration keeping = std::chrono::seconds(15);   // until a node keeps the place
  Duration evicting = std::chrono::seconds(60);  // until a budget allows it
  Duration leaving = std::chrono::minutes(10);   // until evicted pods are gone
  Duration settling = std::chrono::seconds(15);  // until their successors have a place
  Duration starting = std::chrono::seconds(60);  // until the pod has its place
  std::function<RoundTime()> clock = time_now;
};

/// What it has done, for metrics.
struct ControllerCounts {
  std::uint64_t evictions = 0, refused = 0;         // by a budget, each try
  std::uint64_t plans = 0, served = 0, passed = 0;  // pods
};

/// Listeners are called by followers' threads, rounds by one.
class KubeController {
 public:
  KubeController(KubeControllerSettings settings, KubeDoor& kube,
                 std::function<void(const std::string&)> say);

  [[nodiscard]] KubeListener pod_listener();
  [[nodiscard]] KubeListener claim_listener();
  [[nodiscard]] KubeListener slice_listener();

  /// Fails where it could not be carried out; the next goes on from there.
  [[nodiscard]] Result<void> round();
  /// What it would do now, without being the one that acts. Once all lists are known.
  [[nodiscard]] Result<EvictionDecision> decide(const std::string& profile);
  [[nodiscard]] bool knows_all() const;
  /// Gives back what it keeps, and the lease.
  void end();

  [[nodiscard]] ControllerCounts counts() const;

 private:
  enum class Stage : std::uint8_t { keep, evict, leave, settle, start };
  /// A plan that is carried out.
  struct Work {
    EvictionPlan plan;
    Stage stage = Stage::keep;
    Duration since{};              // the stage
    std::set<std::string> done;    // UIDs of this wave's pods that went
    std::set<std::string> owners;  // UIDs, of all pods that went
    std::size_t evicted = 0;       // in all, for this pod
    Duration kept_at{};            // when the place was written down last
  };

  // Reading.
  [[nodiscard]] Result<void> read_rest();
  [[nodiscard]] Result<void> take_over();
  [[nodiscard]] ClusterScene scene() const;
  // Deciding.
  [[nodiscard]] Result<void> begin(RoundTime time);
  [[nodiscard]] Result<void> go_on(RoundTime time);
  [[nodiscard]] Result<void> evict_wave(RoundTime time);
  [[nodiscard]] Result<bool> evict(const PlannedEviction& each, RoundTime time);
  [[nodiscard]] Result<void> plan_again(RoundTime time);
  [[nodiscard]] bool is_kept() const;
  [[nodiscard]] bool have_left() const;
  [[nodiscard]] bool have_settled() const;
  [[nodiscard]] std::optional<ControlPod> pod_of(const std::string& uid) const;
  // Doing.
  [[nodiscard]] Result<void> write_notes(RoundTime time);
  void turn_to(Stage stage, RoundTime time);
  [[nodiscard]] Result<void> finish(const std::string& why, bool served, RoundTime time);
  void tell(const KubeName& pod, const std::string& uid, const std::string& reason,
            const std::string& text);

  const KubeControllerSettings settings_;
  KubeDoor& kube_;
  const std::function<void(const std::string&)> say_;
  KubeLease lease_;
  bool led_ = false;
  std::optional<Work> work_;
  std::map<std::string, Duration> passed_;  // pods, until then
  std::optional<Duration> looked_;          // for pods that wait
  std::string said_;
  std::vector<NodeReadiness> states_;
  std::vector<DisruptionBudget> budgets_;
  std::set<std::string> compacted_spaces_;
  EvictionHistory evicted_;

  mutable std::mutex mutex_;  // of what follows
  std::map<std::string, ControlPod> pods_;
  std::map<KubeName, ControlClaim> claims_;
  std::map<std::string, ControlNode> nodes_;
  bool pods_known_ = false, claims_known_ = false, nodes_known_ = false;
  ControllerCounts counts_;
};

}  // namespace cleave
