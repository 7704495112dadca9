#include "kube/kube_claim.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

constexpr std::string_view key_prefix = "kube:";

/// As the API server makes them: hexadecimal digits and dashes. It becomes part of a file's name.
bool is_uid(std::string_view text) {
  constexpr std::size_t longest = 64;
  return !text.empty() && text.size() <= longest &&
         text.find_first_not_of("0123456789abcdefABCDEF-") == std::string_view::npos;
}

KubeName name_in(JsonReader& metadata) {
  return {metadata.text_if("namespace").value_or(""), metadata.text("name")};
}

void read_grants(JsonReader& allocation, std::string_view pool, KubeClaim& claim) {
  auto devices = allocation.object_if("devices");
  if (!devices) return;
  for (JsonReader& each : devices->objects("results")) {
    if (each.text("driver") != kube_driver || each.text("pool") != pool) continue;
    if (each.flag("adminAccess", false))
      each.refuse("adminAccess", "access for administrators is not served");
    claim.grants.push_back({each.text("request"), each.text("device")});
  }
}

void add(std::vector<std::string>& names, std::optional<std::string> name) {
  if (name && !name->empty() && std::ranges::find(names, *name) == names.end())
    names.push_back(std::move(*name));
}

}  // namespace

Result<KubeClaim> read_kube_claim(const Json& object, std::string_view pool) {
  std::optional<Error> error;
  JsonReader in(object, "resourceclaim", error);
  KubeClaim claim;
  if (auto metadata = in.object_if("metadata")) {
    claim.uid = metadata->text("uid");
    claim.at = name_in(*metadata);
  }
  if (!error && !is_uid(claim.uid)) in.refuse("metadata", "it has no UID");
  if (auto status = in.object_if("status"))
    if (auto allocation = status->object_if("allocation")) read_grants(*allocation, pool, claim);
  if (error) return std::unexpected(*error);
  return claim;
}

Result<KubePod> read_kube_pod(const Json& object) {
  std::optional<Error> error;
  JsonReader in(object, "pod", error);
  KubePod pod;
  bool leaves = false;
  if (auto metadata = in.object_if("metadata")) {
    pod.uid = metadata->text("uid");
    pod.at = name_in(*metadata);
    leaves = metadata->text_if("deletionTimestamp").has_value();
    for (JsonReader& owner : metadata->objects("ownerReferences"))
      pod.owned = pod.owned || owner.flag("controller", false);
  }
  if (auto spec = in.object_if("spec"))
    for (JsonReader& each : spec->objects("resourceClaims"))
      add(pod.claims, each.text_if("resourceClaimName"));
  if (auto status = in.object_if("status")) {
    const auto phase = status->text_if("phase").value_or("Pending");
    pod.over = phase == "Succeeded" || phase == "Failed";
    pod.starts = phase == "Pending" && !leaves;
    for (JsonReader& each : status->objects("resourceClaimStatuses"))
      add(pod.claims, each.text_if("resourceClaimName"));
    if (auto extended = status->object_if("extendedResourceClaimStatus"))
      add(pod.claims, extended->text_if("resourceClaimName"));
  }
  if (error) return std::unexpected(*error);
  return pod;
}

std::optional<std::string> claim_key_of(std::string_view uid) {
  if (!is_uid(uid)) return std::nullopt;
  return std::string(key_prefix) + std::string(uid);
}

std::optional<std::string_view> uid_of_key(std::string_view key) {
  if (!key.starts_with(key_prefix)) return std::nullopt;
  key.remove_prefix(key_prefix.size());
  return is_uid(key) ? std::optional(key) : std::nullopt;
}

Result<ClaimOrder> order_for(const KubeClaim& claim, std::span<const KubeGpu> gpus) {
  constexpr std::size_t longest_holder = 200;
  ClaimOrder order;
  order.holder =
      fmt::format("claim {}/{}", claim.at.space, claim.at.name).substr(0, longest_holder);
  for (const KubeGrant& grant : claim.grants) {
    const auto device = find_device(gpus, grant.device);
    if (!device)
      return fail(ErrorKind::infeasible, fmt::format("claim {}/{}", claim.at.space, claim.at.name),
                  fmt::format("this node has no device {}", grant.device),
                  "its GPU may be lost: delete the pod, so that another allocation is made");
    const Placement& at = gpus[device->gpu].geometry[device->placement];
    ClaimAsk& ask = order.asks.emplace_back();
    ask.profile = at.profile->name;
    ask.gpu = gpus[device->gpu].index;
    ask.start = at.start;
  }
  return order;
}

KubeDevices devices_of(const KubeClaim& claim, std::span<const KubeGpu> gpus) {
  KubeDevices devices;
  for (const KubeGrant& grant : claim.grants)
    if (const auto device = find_device(gpus, grant.device)) devices.insert(*device);
  return devices;
}

}  // namespace cleave
