#include "kubecontrol/cluster_objects.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/clock_text.hpp"
#include "base/json.hpp"
#include "kube/kube_devices.hpp"
#include "kube/resource_slice.hpp"

namespace cleave {

const Json& json_below(const Json& object, std::initializer_list<const char*> keys) {
  static const Json nothing;
  const Json* at = &object;
  for (const char* key : keys) {
    if (!at->is_object()) return nothing;
    const auto found = at->find(key);
    if (found == at->end()) return nothing;
    at = &*found;
  }
  return *at;
}

std::string text_below(const Json& object, std::initializer_list<const char*> keys) {
  const Json& found = json_below(object, keys);
  return found.is_string() ? found.get<std::string>() : std::string();
}

namespace {

std::optional<Instant> time_below(const Json& object, std::initializer_list<const char*> keys) {
  const auto clock = parse_clock(text_below(object, keys));
  if (!clock) return std::nullopt;
  return Instant(std::chrono::nanoseconds(std::llround(clock->seconds * 1e9)));
}

KubeName name_below(const Json& object) {
  return {text_below(object, {"metadata", "namespace"}), text_below(object, {"metadata", "name"})};
}

KubeLabels labels_of(const Json& object) {
  KubeLabels labels;
  const Json& all = json_below(object, {"metadata", "labels"});
  if (all.is_object())
    for (const auto& [key, value] : all.items())
      if (value.is_string()) labels[key] = value.get<std::string>();
  return labels;
}

std::optional<PodOwner> owner_of(const Json& object) {
  for (const Json& each : json_below(object, {"metadata", "ownerReferences"}))
    if (json_below(each, {"controller"}) == true)
      return PodOwner{text_below(each, {"kind"}), text_below(each, {"name"}),
                      text_below(each, {"uid"})};
  return std::nullopt;
}

/// Cleave does not follow the scheduler's rules for nodes; a pod with such rules is left alone.
std::string anchors_of(const Json& object) {
  const Json& spec = json_below(object, {"spec"});
  if (!json_below(spec, {"nodeSelector"}).empty()) return "it selects nodes";
  const Json& affinity = json_below(spec, {"affinity"});
  for (const char* kind : {"nodeAffinity", "podAffinity", "podAntiAffinity"})
    if (!json_below(affinity, {kind, "requiredDuringSchedulingIgnoredDuringExecution"}).empty())
      return "its affinity selects nodes";
  for (const Json& each : json_below(spec, {"topologySpreadConstraints"}))
    if (text_below(each, {"whenUnsatisfiable"}) != "ScheduleAnyway")
      return "its spread over nodes is laid down";
  return {};
}

/// Of all containers: "mig-1g.10gb" where they ask for one instance of one profile in all.
std::string extended_of(const Json& object, bool& more) {
  constexpr std::string_view prefix = "nvidia.com/mig-", vendor = "nvidia.com/";
  std::string found;
  for (const Json& container : json_below(object, {"spec", "containers"})) {
    const Json& limits = json_below(container, {"resources", "limits"});
    if (!limits.is_object()) continue;
    for (const auto& [key, value] : limits.items()) {
      if (!key.starts_with(prefix)) continue;
      more = more || !found.empty() || value != "1";
      found = key.substr(vendor.size());
    }
  }
  return found;
}

void add_name(std::vector<std::string>& names, std::string name) {
  if (!name.empty() && std::ranges::find(names, name) == names.end())
    names.push_back(std::move(name));
}

std::vector<std::string> claims_of(const Json& object) {
  std::vector<std::string> names;
  for (const Json& each : json_below(object, {"spec", "resourceClaims"}))
    add_name(names, text_below(each, {"resourceClaimName"}));
  for (const Json& each : json_below(object, {"status", "resourceClaimStatuses"}))
    add_name(names, text_below(each, {"resourceClaimName"}));
  add_name(names,
           text_below(object, {"status", "extendedResourceClaimStatus", "resourceClaimName"}));
  return names;
}

/// The scheduler counts its reasons by nodes; this is the one for devices.
std::optional<Instant> refused_since(const Json& object) {
  for (const Json& each : json_below(object, {"status", "conditions"}))
    if (text_below(each, {"type"}) == "PodScheduled" && text_below(each, {"status"}) == "False" &&
        text_below(each, {"message"}).find("cannot allocate all claims") != std::string::npos)
      return time_below(each, {"lastTransitionTime"});
  return std::nullopt;
}

}  // namespace

std::optional<ControlPod> read_control_pod(const Json& object) {
  ControlPod pod;
  bool more = false;
  pod.extended = extended_of(object, more);
  const bool claims = !json_below(object, {"spec", "resourceClaims"}).empty();
  if (!claims && pod.extended.empty()) return std::nullopt;
  if (more || (claims && !pod.extended.empty())) pod.extended.clear();
  pod.uid = text_below(object, {"metadata", "uid"});
  pod.at = name_below(object);
  pod.node = text_below(object, {"spec", "nodeName"});
  pod.claims = claims_of(object);
  pod.labels = labels_of(object);
  pod.owner = owner_of(object);
  pod.leaves = !text_below(object, {"metadata", "deletionTimestamp"}).empty();
  const std::string phase = text_below(object, {"status", "phase"});
  pod.over = phase == "Succeeded" || phase == "Failed";
  if (phase == "Running") pod.started = time_below(object, {"status", "startTime"});
  if (pod.node.empty()) pod.refused = refused_since(object);
  pod.anchored = anchors_of(object);
  for (const Json& each : json_below(object, {"spec", "tolerations"}))
    pod.tolerations.push_back({text_below(each, {"key"}), text_below(each, {"operator"}),
                               text_below(each, {"value"}), text_below(each, {"effect"})});
  return pod;
}

bool PodToleration::covers(const NodeTaint& taint) const {
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  return how == "Exists" || (!key.empty() && value == taint.value);
}

bool ControlPod::tolerates(const NodeTaint& taint) const {
  return std::ranges::any_of(tolerations,
                             [&](const PodToleration& each) { return each.covers(taint); });
}

std::optional<ControlClaim> read_control_claim(const Json& object) {
  ControlClaim claim;
  claim.uid = text_below(object, {"metadata", "uid"});
  claim.at = name_below(object);
  if (claim.uid.empty()) return std::nullopt;
  for (const Json& each : json_below(object, {"metadata", "ownerReferences"}))
    if (text_below(each, {"kind"}) == "Pod") claim.pod_uid = text_below(each, {"uid"});
  const Json& requests = json_below(object, {"spec", "devices", "requests"});
  if (requests.is_array() && requests.size() == 1) {
    const Json& exactly = json_below(requests[0], {"exactly"});
    const Json& count = json_below(exactly, {"count"});
    const std::string mode = text_below(exactly, {"allocationMode"});
    if (json_below(exactly, {"selectors"}).empty() && (mode.empty() || mode == "ExactCount") &&
        (count.is_null() || count == 1))
      claim.wanted_class = text_below(exactly, {"deviceClassName"});
  }
  for (const Json& each : json_below(object, {"status", "allocation", "devices", "results"})) {
    if (text_below(each, {"driver"}) != kube_driver) {
      claim.of_others = true;
      continue;
    }
    claim.pool = text_below(each, {"pool"});
    claim.devices.push_back(text_below(each, {"device"}));
  }
  claim.users = json_below(object, {"status", "reservedFor"}).size();
  return claim;
}

std::optional<ControlNode> read_control_node(const Json& slice) {
  if (text_below(slice, {"spec", "driver"}) != kube_driver ||
      !json_below(slice, {"spec", "sharedCounters"}).empty())
    return std::nullopt;
  ControlNode node;
  node.name = text_below(slice, {"spec", "pool", "name"});
  std::map<std::string, ControlGpu> gpus;
  for (const Json& each : json_below(slice, {"spec", "devices"})) {
    const std::string name = text_below(each, {"name"});
    node.devices.insert(name);
    if (!json_below(each, {"taints"}).empty()) node.tainted.insert(name);
    const Json& attributes = json_below(each, {"attributes"});
    const std::string uuid = text_below(attributes, {"uuid", "string"});
    ControlGpu& gpu = gpus[uuid];
    gpu.uuid = uuid;
    gpu.model = text_below(attributes, {"model", "string"});
    const Json& index = json_below(attributes, {"gpu", "int"});
    gpu.index = index.is_number_integer() ? index.get<std::int64_t>() : 0;
  }
  for (auto& [uuid, gpu] : gpus) {
    const Json& notes = json_below(slice, {"metadata", "annotations"});
    const std::string label = gpu_label(uuid);
    const auto for_words = [&](const char* note, const auto& found) {
      const std::string text = text_below(notes, {note});
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        if (const std::string word = text.substr(at, end - at); word.starts_with(label))
          found(word);
        at = end + 1;
      }
    };
    for_words(taken_note, [&](const std::string& word) { gpu.others.push_back(word); });
    for_words(closed_note, [&](const std::string&) { gpu.closed = true; });
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

bool DisruptionBudget::covers(const ControlPod& pod) const {
  return selects && pod.at.space == at.space && std::ranges::all_of(terms, [&](const Term& term) {
           const auto label = pod.labels.find(term.key);
           const bool there = label != pod.labels.end();
           const bool listed =
               there && std::ranges::find(term.values, label->second) != term.values.end();
           if (term.how == "In") return listed;
           if (term.how == "NotIn") return !listed;
           return term.how == "Exists" ? there : !there;
         });
}

std::optional<DisruptionBudget> read_budget(const Json& object) {
  DisruptionBudget budget;
  budget.at = name_below(object);
  const Json& selector = json_below(object, {"spec", "selector"});
  budget.selects = selector.is_object();
  const Json& labels = json_below(selector, {"matchLabels"});
  if (labels.is_object())
    for (const auto& [key, value] : labels.items())
      if (value.is_string()) budget.terms.push_back({key, "In", {value.get<std::string>()}});
  for (const Json& each : json_below(selector, {"matchExpressions"})) {
    DisruptionBudget::Term term{text_below(each, {"key"}), text_below(each, {"operator"}), {}};
    for (const Json& value : json_below(each, {"values"}))
      if (value.is_string()) term.values.push_back(value.get<std::string>());
    budget.terms.push_back(std::move(term));
  }
  // What the budget's controller has not seen yet says nothing.
  const Json& seen = json_below(object, {"status", "observedGeneration"});
  const Json& allowed = json_below(object, {"status", "disruptionsAllowed"});
  if (allowed.is_number_integer() && seen == json_below(object, {"metadata", "generation"}))
    budget.allowed = allowed.get<std::int64_t>();
  return budget;
}

NodeReadiness read_node_readiness(const Json& object) {
  NodeReadiness node;
  node.name = text_below(object, {"metadata", "name"});
  for (const Json& each : json_below(object, {"status", "conditions"}))
    if (text_below(each, {"type"}) == "Ready") node.open = text_below(each, {"status"}) == "True";
  node.open = node.open && json_below(object, {"spec", "unschedulable"}) != true;
  for (const Json& each : json_below(object, {"spec", "taints"}))
    if (const std::string effect = text_below(each, {"effect"}); effect != "PreferNoSchedule")
      node.taints.push_back({text_below(each, {"key"}), text_below(each, {"value"}), effect});
  return node;
}

bool has_compact_label(const Json& object) {
  const Json& value = json_below(json_below(object, {"metadata", "labels"}), {compact_label});
  return value.is_string() && value == "true";
}

}  // namespace cleave
