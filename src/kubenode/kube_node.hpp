#pragma once
// A node of Kubernetes: publishes the GPUs of the daemon as devices, in Cleave's order, and makes
// and gives back the instances of claims. It keeps no books of its own: what is allocated stands in
// the claims, what is made in the daemon's, and after a restart it goes on from both.
//
// Nothing is published before all claims could be read once, and nothing is given back unless all
// could be read just now.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/claim_book.hpp"
#include "kube/offered_window.hpp"
#include "kube/prepare_steps.hpp"
#include "kube/resource_slice.hpp"
#include "kubenode/cdi_folder.hpp"
#include "kubenode/kube_doors.hpp"
#include "kubenode/room_notes.hpp"

namespace cleave {

/// What the kubelet is told of one device of a claim.
struct PreparedDevice {
  std::string request, pool, device, cdi_id;
};

/// How the node behaves.
struct KubeNodeSettings {
  std::string node, node_uid;
  std::chrono::milliseconds patience{25'000};  // for the instances of one claim
  Duration offered_for = std::chrono::seconds(5);
  Duration refused_for = std::chrono::seconds(60);  // a device whose instance could not be made
  Duration tidy_every = std::chrono::seconds(30);
  std::size_t changes_in_order = 8;  // more between two writes, and the order is the fixed one
  KubeOrder order = KubeOrder::policy;
  int refusals_before_eviction = 3;
  bool evict = true;
};

/// Calls come from several threads: those of the followers, of the kubelet, and one that runs
/// rounds.
class KubeNode {
 public:
  KubeNode(KubeNodeSettings settings, KubeDoor& kube, DaemonDoor& daemon, HostDoor& host,
           CdiFolder files, std::function<void(const std::string&)> say);

  /// Who is told of the node's pods, and of its slices.
  [[nodiscard]] KubeListener pod_listener();
  [[nodiscard]] KubeListener slice_listener();
  /// Of the ConfigMap with places that the controller keeps (room_notes.hpp).
  [[nodiscard]] KubeListener notes_listener();

  /// Makes the claim's instances and its CDI file; returns when they are there.
  [[nodiscard]] Result<std::vector<PreparedDevice>> prepare(const KubeName& name,
                                                            const std::string& uid);
  [[nodiscard]] Result<void> unprepare(const std::string& uid);

  /// One round: reads the claims that pods have named since, has instances of new ones made, and
  /// writes the slices where they are not as they should be. Fails where nothing can be published.
  [[nodiscard]] Result<void> round();
  /// Returns when there is something to do, or after this time.
  void wait_for_change(std::chrono::milliseconds longest);
  void wake();

 private:
  struct Refusals {
    int count = 0;
  };
  using Steady = std::chrono::steady_clock;

  [[nodiscard]] static Duration now() { return Steady::now().time_since_epoch(); }
  void noticed();
  // Reading.
  Result<void> look_at_daemon();
  Result<std::set<std::string>> read_all_claims();
  Result<std::optional<KubeClaim>> read_claim(const KubeName& name);
  void read_named_claims();
  std::vector<KubeGpu> gpus() const;
  // Claims.
  void make_ahead();
  std::vector<std::string> keys_here() const;
  void tidy();
  Result<PrepareView> view_of(const KubeClaim& claim, const std::vector<KubeGpu>& gpus);
  Result<void> bring_about(const KubeClaim& claim);
  Result<void> ask_daemon_for(const KubeClaim& claim, const ClaimOrder& order);
  Result<std::optional<std::string>> file_text(const KubeClaim& claim, const DaemonClaim& held,
                                               const std::vector<KubeGpu>& gpus);
  void refused(const KubeClaim& claim, const std::string& why);
  void tell_pod(const KubePod& pod, const std::string& reason, const std::string& text);
  void evict(const KubePod& pod);
  // Slices.
  Result<void> publish();
  Result<void> write_slice(const Json& ours);
  KubeDevices taints();
  KubeDevices kept_back();

  const KubeNodeSettings settings_;
  KubeDoor& kube_;
  DaemonDoor& daemon_;
  HostDoor& host_;
  const CdiFolder files_;
  const std::function<void(const std::string&)> say_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool dirty_ = true;
  std::size_t changes_ = 0;  // since slices were written
  ClaimBook book_;
  std::vector<KubeGpu> gpus_;
  KubeDevices made_;                    // that the daemon holds for Kubernetes
  std::set<std::string> made_uids_;     // likewise
  std::map<std::string, Json> slices_;  // of the API server, by name
  bool slices_known_ = false, claims_known_ = false;
  bool full_ = false;  // the slice has no room for more
  OfferedWindow window_;
  KubeDevices shown_;                         // the latest that was offered
  std::map<KubeDevice, Duration> refused_;    // until then
  std::map<std::string, Refusals> refusals_;  // by UID of the claim
  std::vector<KeptRoom> kept_;                // on this node
  std::set<std::string> not_published_;       // said already
  Duration tidied_{};  // when all claims began to be read, the latest time that they could be
};

}  // namespace cleave
