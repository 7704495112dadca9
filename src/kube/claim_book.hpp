#pragma once
// What a node knows of the claims that are allocated on it: from the pods that name them, from what
// was read of each, and from calls of the kubelet. A claim stays known after its pod is gone until
// the API server says that it is not allocated here any more: until then it could be another pod's,
// and its devices must stay published.

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kube/kube_claim.hpp"

namespace cleave {

/// Plain values; somebody else keeps its lock.
class ClaimBook {
 public:
  /// These are all pods of the node.
  void pods_are(const std::vector<KubePod>& pods);
  void pod_is(const KubePod& pod);
  void pod_gone(const std::string& uid);

  /// As it was read just now. One that is not allocated here is forgotten.
  void claim_is(const KubeClaim& claim);
  void claim_gone(const KubeName& name);
  /// The kubelet has given it back: it is not made again ahead of a call.
  void unprepared(const std::string& uid);

  /// Names to read now: those that pods have named since. Taken by this; `read_again` brings one
  /// back whose reading failed.
  [[nodiscard]] std::vector<KubeName> take_unread();
  void read_again(const KubeName& name);
  /// Known claims that no pod names any more, to be read from time to time.
  [[nodiscard]] std::vector<KubeName> without_pod() const;

  [[nodiscard]] KubeDevices allocated(std::span<const KubeGpu> gpus) const;
  [[nodiscard]] const std::map<std::string, KubeClaim>& claims() const { return claims_; }
  /// Claims whose pods begin, and that the kubelet has not given back.
  [[nodiscard]] std::vector<KubeClaim> to_make() const;
  /// The pods that name this claim.
  [[nodiscard]] std::vector<KubePod> pods_of(const KubeName& name) const;

 private:
  std::map<std::string, KubePod> pods_;      // by UID
  std::map<std::string, KubeClaim> claims_;  // by UID; all have grants
  std::set<std::string> unprepared_;         // UIDs of known claims
  std::set<KubeName> unread_;
};

}  // namespace cleave
