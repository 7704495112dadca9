#include "kubenode/kube_targets.hpp"

#include <chrono>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

std::string slice_target(const std::string& name) {
  return fmt::format("{}/{}", slices_target, name);
}
std::string claim_target(const KubeName& name) {
  return fmt::format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims/{}", name.space,
                     name.name);
}
std::string node_target(const std::string& name) {
  return fmt::format("/api/v1/nodes/{}", name);
}
std::string events_target(const KubeName& of) {
  return fmt::format("/api/v1/namespaces/{}/events", of.space);
}
std::string eviction_target(const KubeName& pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}/eviction", pod.space, pod.name);
}

Json event_for(const KubePod& pod, const std::string& reason, const std::string& text,
               const std::string& node) {
  constexpr std::size_t longest_message = 1000;
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", {{"generateName", "cleave-"}, {"namespace", pod.at.space}}},
          {"involvedObject",
           {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"namespace", pod.at.space},
            {"name", pod.at.name},
            {"uid", pod.uid}}},
          {"type", "Warning"},
          {"reason", reason},
          {"message", text.substr(0, longest_message)},
          {"source", {{"component", "cleave-kube"}, {"host", node}}},
          {"reportingComponent", "cleave-kube"},
          {"reportingInstance", node},
          {"count", 1}};
}

Json eviction_of(const KubePod& pod) {
  return {{"apiVersion", "policy/v1"},
          {"kind", "Eviction"},
          {"metadata", {{"name", pod.at.name}, {"namespace", pod.at.space}}},
          {"deleteOptions", {{"preconditions", {{"uid", pod.uid}}}}}};
}

}  // namespace cleave
