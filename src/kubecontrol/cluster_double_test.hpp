#pragma once
// For tests: an API server in memory as a controller needs it, with a scheduler's first fit behind
// it where a test asks for that.

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/json.hpp"
#include "kube/device_classes.hpp"
#include "kube/resource_slice.hpp"
#include "kubecontrol/kube_controller.hpp"
#include "kubenode/kube_targets.hpp"

namespace cleave {

/// Objects by path, with versions: a PUT of an old one is a conflict, a POST of a known one too.
class ClusterDouble : public KubeDoor {
 public:
  Result<KubeAnswer> ask(std::string_view method, const std::string& target,
                         const Json* body) override {
    asked.emplace_back(std::string(method) + " " + target);
    if (down) return fail(ErrorKind::infeasible, "https://api", "no answer");
    if (method == "POST" && target.ends_with("/eviction")) return evict(target, *body);
    if (method == "POST" && target.ends_with("/events")) {
      events.push_back(body->at("message").get<std::string>());
      return KubeAnswer{201, *body, {}};
    }
    if (method == "GET") {
      const auto found = objects.find(target);
      return found == objects.end() ? KubeAnswer{404, {}, {}} : KubeAnswer{200, found->second, {}};
    }
    if (conflicts > 0) {
      --conflicts;
      return KubeAnswer{409, {}, {}};
    }
    const std::string path = method == "POST"
                                 ? target + "/" + body->at("metadata").at("name").get<std::string>()
                                 : target;
    const auto known = objects.find(path);
    if (method == "POST" && known != objects.end()) return KubeAnswer{409, {}, {}};
    if (method == "PUT" && known == objects.end()) return KubeAnswer{404, {}, {}};
    if (method == "PUT" &&
        body->at("metadata").at("resourceVersion") != known->second["metadata"]["resourceVersion"])
      return KubeAnswer{409, {}, {}};
    Json& made = objects[path] = *body;
    made["metadata"]["resourceVersion"] = std::to_string(++version);
    return KubeAnswer{method == "POST" ? 201 : 200, made, {}};
  }
  Result<KubeList> list(const std::string& target) override {
    asked.emplace_back("LIST " + target);
    if (down) return fail(ErrorKind::infeasible, "https://api", "no answer");
    return KubeList{lists[target], "1"};
  }
  [[nodiscard]] std::size_t count(const std::string& part) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        asked, [&](const std::string& each) { return each.find(part) != std::string::npos; }));
  }

  std::map<std::string, Json> objects;
  std::map<std::string, std::vector<Json>> lists;
  std::vector<std::string> asked, events, evicted;  // evicted: UIDs
  std::map<std::string, int> refusals;              // by UID: the status that an eviction gets
  int version = 0, conflicts = 0;
  bool down = false;

 private:
  KubeAnswer evict(const std::string&, const Json& body) {
    const auto uid = body["deleteOptions"]["preconditions"]["uid"].get<std::string>();
    if (const auto refused = refusals.find(uid); refused != refusals.end())
      return {refused->second, {{"message", "refused"}}, {}};
    evicted.push_back(uid);
    return {201, {}, {}};
  }
};

/// Nodes of one A100 each, and their pods, as the API server would show them.
class SmallCluster {
 public:
  explicit SmallCluster(int nodes) {
    const GpuModel& model = **find_gpu_model("A100-40GB");
    for (int i = 0; i < nodes; ++i) {
      gpus.push_back(
          {"GPU-000" + std::to_string(i), 0, Geometry(model, ProfileChoice().on(model)), {}, true});
      names.push_back("n" + std::to_string(i));
    }
    api.lists["/api/v1/namespaces"] = {
        Json::parse(R"({"metadata":{"name":"team","labels":{"cleave.gpu/compact":"true"}}})")};
    show_nodes();
  }

  void show_nodes() {
    auto& list = api.lists["/api/v1/nodes"];
    list.clear();
    for (const std::string& name : names)
      list.push_back(
          Json::parse(R"({"metadata":{"name":")" + name +
                      R"("},"status":{"conditions":[{"type":"Ready","status":"True"}]}})"));
  }
  /// The node's slice; what shares slices with `kept` has a taint.
  Json slice(std::size_t node, const std::string& kept = {}) const {
    const std::span<const KubeGpu> own(&gpus[node], 1);
    std::vector<KubeDevice> devices;
    for (const PlacementId each : gpus[node].geometry.all()) devices.push_back({0, each});
    KubeDevices tainted;
    if (const auto device = find_device(own, kept)) tainted = held_for(own, *device);
    return devices_slice({names[node], "", 1}, own, devices, tainted);
  }
  [[nodiscard]] std::string device(std::size_t node, const std::string& profile, int start) const {
    return device_name(gpus[node], *gpus[node].geometry.find(profile, start));
  }
  static Json pod(const std::string& name, const std::string& node,
                  const std::string& owner = "ReplicaSet") {
    Json made = Json::parse(R"({"metadata":{"namespace":"team","name":")" + name +
                            R"(","uid":"u-)" + name + R"(","labels":{"app":"a"}},
      "spec":{"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"t"}]},
      "status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"c-)" +
                            name + R"("}]}})");
    if (!owner.empty())
      made["metadata"]["ownerReferences"] =
          Json::array({{{"kind", owner}, {"name", "set"}, {"uid", "u-set"}, {"controller", true}}});
    if (node.empty()) {
      made["status"]["phase"] = "Pending";
      made["status"]["conditions"] = Json::parse(
          R"([{"type":"PodScheduled","status":"False","lastTransitionTime":"2026-01-01T00:00:00Z",
               "message":"0/2 nodes are available: 2 cannot allocate all claims."}])");
    } else {
      made["spec"]["nodeName"] = node;
      made["status"]["phase"] = "Running";
      made["status"]["startTime"] = "2026-01-01T00:00:00Z";
    }
    return made;
  }
  static Json claim(const std::string& pod, const std::string& profile, const std::string& node,
                    const std::string& device) {
    Json made =
        Json::parse(R"({"metadata":{"namespace":"team","name":"c-)" + pod + R"(","uid":"cu-)" +
                    pod + R"(","ownerReferences":[{"kind":"Pod","uid":"u-)" + pod + R"("}]}})");
    made["spec"]["devices"]["requests"] =
        Json::array({{{"name", "gpu"},
                      {"exactly", {{"deviceClassName", resource_part(profile) + ".cleave.gpu"}}}}});
    if (!node.empty()) {
      made["status"]["allocation"]["devices"]["results"] = Json::array(
          {{{"driver", kube_driver}, {"pool", node}, {"device", device}, {"request", "gpu"}}});
      made["status"]["reservedFor"] = Json::array({{{"name", pod}}});
    }
    return made;
  }
  /// A pod that runs on an instance there.
  void run(const std::string& name, std::size_t node, const std::string& profile, int start,
           const std::string& owner = "ReplicaSet") {
    pods["u-" + name] = pod(name, names[node], owner);
    claims["c-" + name] = claim(name, profile, names[node], device(node, profile, start));
  }
  void wait(const std::string& name, const std::string& profile) {
    pods["u-" + name] = pod(name, "", "");
    claims["c-" + name] = claim(name, profile, "", "");
  }
  void remove(const std::string& name) {
    pods.erase("u-" + name);
    claims.erase("c-" + name);
  }
  void budget(std::int64_t allowed) {
    api.lists["/apis/policy/v1/poddisruptionbudgets"] = {Json::parse(
        R"({"metadata":{"namespace":"team","name":"b","generation":1},
            "spec":{"selector":{"matchLabels":{"app":"a"}}},
            "status":{"observedGeneration":1,"disruptionsAllowed":)" +
        std::to_string(allowed) + "}}")};
  }

  ClusterDouble api;
  std::vector<KubeGpu> gpus;
  std::vector<std::string> names;
  std::map<std::string, Json> pods, claims;
};

}  // namespace cleave
