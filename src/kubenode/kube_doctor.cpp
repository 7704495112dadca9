#include "kubenode/kube_doctor.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "kubenode/kube_targets.hpp"

namespace cleave {

namespace {

using Kind = DoctorFinding::Kind;

/// The number at the beginning of "36+".
std::optional<int> number_in(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_string()) return std::nullopt;
  std::string digits;
  for (const char c : object[key].get<std::string>()) {
    if (c < '0' || c > '9') break;
    digits += c;
  }
  const auto number = parse_integer(digits);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::string text_below(const Json& object, const char* outer, const char* inner) {
  if (!object.is_object() || !object.contains(outer)) return {};
  const Json& below = object[outer];
  if (!below.is_object() || !below.contains(inner) || !below[inner].is_string()) return {};
  return below[inner].get<std::string>();
}

void look_at_server(DoctorView& view, KubeDoor& kube) {
  const auto version = kube.ask("GET", "/version", nullptr);
  if (!version || !version->fine()) {
    view.server_trouble = version ? version->message() : version.error().text();
    return;
  }
  view.major = number_in(version->body, "major");
  view.minor = number_in(version->body, "minor");
  if (const auto metrics = kube.ask("GET", "/metrics", nullptr); metrics && metrics->fine())
    view.features = features_in(metrics->text);
}

void look_at_slices(DoctorView& view, KubeDoor& kube) {
  const auto slices = kube.list(slices_target);
  if (!slices) return;
  for (const Json& each : slices->items) {
    if (text_below(each, "spec", "nodeName") != view.node) continue;
    const std::string driver = text_below(each, "spec", "driver");
    view.slices_there = view.slices_there || driver == kube_driver;
    if (driver != kube_driver &&
        std::ranges::find(view.other_drivers, driver) == view.other_drivers.end())
      view.other_drivers.push_back(driver);
  }
}

void look_at_classes(DoctorView& view, KubeDoor& kube) {
  const auto classes = kube.list("/apis/resource.k8s.io/v1/deviceclasses");
  if (!classes) return;
  for (const Json& each : classes->items)
    if (const std::string name = text_below(each, "metadata", "name");
        name.ends_with(".cleave.gpu"))
      view.classes.push_back(name);
}

void look_at_node(DoctorView& view, KubeDoor& kube) {
  const auto node = kube.ask("GET", node_target(view.node), nullptr);
  if (!node || !node->fine() || !node->body.contains("status")) return;
  const Json& status = node->body["status"];
  if (!status.is_object() || !status.contains("capacity") || !status["capacity"].is_object())
    return;
  for (const auto& [name, amount] : status["capacity"].items())
    if (name.starts_with("nvidia.com/") && amount.is_string() && amount.get<std::string>() != "0")
      view.device_plugins.push_back(name);
}

/// What must be on, and what for.
struct Feature {
  const char *name, *what;
};
constexpr Feature needed_features[] = {
    {"DynamicResourceAllocation", "claims"},
    {"DRAPartitionableDevices", "counters, without which slices would be given twice"},
    {"DRADeviceTaints", "keeping pods off devices that cannot be made"},
    {"DRAExtendedResource", "manifests with nvidia.com/mig-1g.10gb"},
};
/// One of these has the scheduler sort pools and slices, which it does not otherwise.
constexpr const char* sorting_features[] = {"DRADeviceBindingConditions", "DRAConsumableCapacity"};

void judge_features(const DoctorView& view, std::vector<DoctorFinding>& found) {
  if (view.features.empty()) {
    found.push_back({Kind::warning,
                     "the API server does not show its features: reading /metrics needs a role"});
    return;
  }
  const auto is_on = [&](const char* name) {
    const auto feature = view.features.find(name);
    return feature != view.features.end() && feature->second;
  };
  for (const Feature& each : needed_features)
    if (!is_on(each.name))
      found.push_back({Kind::wrong, fmt::format("feature {} is off: {}", each.name, each.what)});
  if (std::ranges::none_of(sorting_features, is_on))
    found.push_back({Kind::warning,
                     "neither DRADeviceBindingConditions nor DRAConsumableCapacity is on: the "
                     "scheduler takes slices in a random order"});
}

void judge_server(const DoctorView& view, std::vector<DoctorFinding>& found) {
  constexpr int least_minor = 36;
  if (!view.major || !view.minor) {
    found.push_back({Kind::wrong, fmt::format("the API server does not answer: {}",
                                              view.server_trouble.empty() ? "no version"
                                                                          : view.server_trouble)});
    return;
  }
  const bool new_enough = *view.major > 1 || *view.minor >= least_minor;
  found.push_back({new_enough ? Kind::fine : Kind::wrong,
                   fmt::format("Kubernetes {}.{}{}", *view.major, *view.minor,
                               new_enough ? "" : ": 1.36 is the oldest that keeps an order")});
  judge_features(view, found);
}

}  // namespace

std::map<std::string, bool> features_in(std::string_view metrics) {
  constexpr std::string_view family = "kubernetes_feature_enabled{", key = "name=\"";
  std::map<std::string, bool> features;
  for (const std::string_view line : split(metrics, '\n')) {
    if (!line.starts_with(family)) continue;
    const std::size_t begin = line.find(key);
    const std::size_t space = line.rfind(' ');
    if (begin == std::string_view::npos || space == std::string_view::npos) continue;
    const std::string_view rest = line.substr(begin + key.size());
    features[std::string(rest.substr(0, rest.find('"')))] = trimmed(line.substr(space)) == "1";
  }
  return features;
}

DoctorView examine(const std::string& node, KubeDoor& kube, DaemonDoor& daemon) {
  DoctorView view;
  view.node = node;
  look_at_server(view, kube);
  if (view.major) {
    look_at_slices(view, kube);
    look_at_classes(view, kube);
    look_at_node(view, kube);
  }
  const auto there = daemon.look();
  if (there) {
    view.gpus = there->gpus.size();
    view.not_published = there->not_published;
  } else {
    view.daemon_trouble = there.error().text();
  }
  return view;
}

std::vector<DoctorFinding> findings_of(const DoctorView& view) {
  std::vector<DoctorFinding> found;
  judge_server(view, found);
  if (!view.gpus)
    found.push_back({Kind::wrong, view.daemon_trouble});
  else
    found.push_back({*view.gpus > 0 ? Kind::fine : Kind::wrong,
                     fmt::format("the daemon has {} GPUs for Kubernetes", *view.gpus)});
  for (const std::string& each : view.not_published)
    found.push_back({Kind::warning, each + " is not published"});
  for (const std::string& each : view.other_drivers)
    if (each == "gpu.nvidia.com")
      found.push_back(
          {Kind::wrong, each + " publishes GPUs of this node too: one of them must go"});
  for (const std::string& each : view.device_plugins)
    found.push_back(
        {Kind::wrong,
         fmt::format("a device plugin serves {} here: it would give the same slices away", each)});
  if (!view.major) return found;
  if (view.classes.empty())
    found.push_back({Kind::wrong, "there are no DeviceClasses of Cleave's: install the manifests"});
  found.push_back({view.slices_there ? Kind::fine : Kind::warning,
                   view.slices_there ? "the node's devices are published"
                                     : "the node's devices are not published: does "
                                       "`cleave-kube node` run?"});
  return found;
}

}  // namespace cleave
