#pragma once
// ResourceClaims of resource.k8s.io/v1 as far as a node needs them, and the pods that name them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "kube/kube_devices.hpp"
#include "model/claim.hpp"

namespace cleave {

/// Where an object is; two of the same name may follow one another.
struct KubeName {
  std::string space, name;  // namespace and name
  friend auto operator<=>(const KubeName&, const KubeName&) = default;
};

/// One device of an allocation.
struct KubeGrant {
  std::string request;  // of the claim, perhaps with the alternative that was taken: "gpu/small"
  std::string device;
  friend bool operator==(const KubeGrant&, const KubeGrant&) = default;
};

/// A claim, and what of its allocation is of this driver and this pool.
struct KubeClaim {
  std::string uid;
  KubeName at;
  std::vector<KubeGrant> grants;  // empty: not allocated, or elsewhere
  friend bool operator==(const KubeClaim&, const KubeClaim&) = default;
};

/// Fails where the object is no claim, and where an allocation here is of a kind that is not
/// served: access for administrators.
[[nodiscard]] Result<KubeClaim> read_kube_claim(const Json& object, std::string_view pool);

/// A pod, as far as claims go.
struct KubePod {
  std::string uid;
  KubeName at;
  std::vector<std::string> claims;  // names; those of templates only once they are made
  bool starts = false;              // neither is it over, nor has it begun, nor is it being deleted
  bool over = false;                // its containers have ended for good
  bool owned = false;               // a controller makes another where this one is evicted
};
[[nodiscard]] Result<KubePod> read_kube_pod(const Json& object);

/// The daemon's key for the instances of a claim: "kube:UID". Nothing for a UID that is none.
[[nodiscard]] std::optional<std::string> claim_key_of(std::string_view uid);
/// The UID of such a key; nothing for keys of others.
[[nodiscard]] std::optional<std::string_view> uid_of_key(std::string_view key);

/// What the daemon is asked for: each instance on its GPU and at its start. Fails where the
/// allocation names a device that the node has not.
[[nodiscard]] Result<ClaimOrder> order_for(const KubeClaim& claim, std::span<const KubeGpu> gpus);

/// The devices of an allocation that the node has.
[[nodiscard]] KubeDevices devices_of(const KubeClaim& claim, std::span<const KubeGpu> gpus);

}  // namespace cleave
