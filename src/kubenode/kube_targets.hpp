#pragma once
// Paths of Kubernetes' API, and the small objects that a node sends there.

#include <string>

#include "base/json_fwd.hpp"
#include "kube/kube_claim.hpp"

namespace cleave {

inline constexpr const char *slices_target = "/apis/resource.k8s.io/v1/resourceslices",
                            *all_claims_target = "/apis/resource.k8s.io/v1/resourceclaims",
                            *all_pods_target = "/api/v1/pods";

[[nodiscard]] std::string slice_target(const std::string& name);
[[nodiscard]] std::string claim_target(const KubeName& name);
[[nodiscard]] std::string node_target(const std::string& name);
[[nodiscard]] std::string events_target(const KubeName& of);
[[nodiscard]] std::string eviction_target(const KubeName& pod);

/// A warning about a pod, for `kubectl describe`.
[[nodiscard]] Json event_for(const KubePod& pod, const std::string& reason, const std::string& text,
                             const std::string& node);
/// Of this very pod and no successor of its name.
[[nodiscard]] Json eviction_of(const KubePod& pod);

}  // namespace cleave
