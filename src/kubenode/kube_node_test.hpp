#pragma once
// For tests: an API server and a daemon in memory, that can be told to fail.

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "base/json.hpp"
#include "kubenode/kube_doors.hpp"
#include "kubenode/kube_targets.hpp"

namespace cleave {

/// Objects by path, with versions: a PUT of an old one is a conflict.
class KubeDouble : public KubeDoor {
 public:
  Result<KubeAnswer> ask(std::string_view method, const std::string& target,
                         const Json* body) override {
    const std::lock_guard lock(mutex);
    asked.emplace_back(std::string(method) + " " + target);
    if (down) return fail(ErrorKind::infeasible, "https://api", "no answer");
    if (method == "GET") return there(target);
    if (method == "POST") {
      const bool is_slice = target == slices_target;
      const std::string path =
          is_slice ? target + "/" + body->at("metadata").at("name").get<std::string>()
                   : target + "/" + std::to_string(++version);
      if (objects.contains(path)) return KubeAnswer{409, {}, {}};
      return put(path, *body, 201);
    }
    const auto known = objects.find(target);
    if (known == objects.end()) return KubeAnswer{404, {}, {}};
    if (body->at("metadata").value("resourceVersion", std::string()) !=
        known->second["metadata"]["resourceVersion"].get<std::string>())
      return KubeAnswer{409, {}, {}};
    return put(target, *body, 200);
  }
  Result<KubeList> list(const std::string& target) override {
    const std::lock_guard lock(mutex);
    if (down || lists_fail) return fail(ErrorKind::infeasible, "https://api", "no answer");
    KubeList all;
    for (const auto& [path, object] : objects)
      if (path.find(target.substr(target.rfind('/'))) != std::string::npos)
        all.items.push_back(object);
    return all;
  }
  Json slice(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto found = objects.find(slice_target(name));
    return found == objects.end() ? Json() : found->second;
  }
  /// Writes of slices so far.
  std::size_t writes() {
    const std::lock_guard lock(mutex);
    return static_cast<std::size_t>(std::ranges::count_if(asked, [](const std::string& each) {
      return !each.starts_with("GET") && each.find("resourceslices") != std::string::npos;
    }));
  }
  /// How many requests contain this.
  std::size_t count(const std::string& part) {
    const std::lock_guard lock(mutex);
    return static_cast<std::size_t>(std::ranges::count_if(
        asked, [&](const std::string& each) { return each.find(part) != std::string::npos; }));
  }

  std::mutex mutex;
  std::map<std::string, Json> objects;
  std::vector<std::string> asked;
  int version = 0;
  bool down = false, lists_fail = false;

 private:
  KubeAnswer there(const std::string& target) const {
    const auto found = objects.find(target);
    return found == objects.end() ? KubeAnswer{404, {}, {}} : KubeAnswer{200, found->second, {}};
  }
  KubeAnswer put(const std::string& path, Json body, int status) {
    body["metadata"]["resourceVersion"] = std::to_string(++version);
    objects[path] = body;
    return {status, body, {}};
  }
};

/// Claims become held at the second look. Slices are never used twice.
class NodeDaemonDouble : public DaemonDoor {
 public:
  explicit NodeDaemonDouble(std::vector<KubeGpu> gpus) : gpus_(std::move(gpus)) {}

  Result<DaemonView> look() override {
    const std::lock_guard lock(mutex);
    if (down) return fail(ErrorKind::infeasible, "", "no daemon answers");
    DaemonView view{gpus_, {}, {}};
    for (const auto& [key, claim] : claims) view.claims.push_back(claim);
    return view;
  }
  Result<DaemonClaim> make(const std::string& key, const ClaimOrder& order) override {
    const std::lock_guard lock(mutex);
    if (down) return fail(ErrorKind::infeasible, "", "no daemon answers");
    if (const auto known = claims.find(key);
        known != claims.end() && known->second.claim.state != ClaimState::failed)
      return known->second;
    DaemonClaim made;
    made.claim.key = key;
    made.claim.order = order;
    for (const ClaimAsk& ask : order.asks) {
      const auto gpu = std::ranges::find(gpus_, *ask.gpu, &KubeGpu::index);
      const auto at = *gpu->geometry.find(ask.profile, static_cast<int>(*ask.start));
      if (!gpu->geometry.free(standing(gpu->uuid)).contains(at))
        return fail(ErrorKind::infeasible, "no_room", "its place is taken");
      made.claim.places.push_back({gpu->uuid, ask.profile, *ask.start, {}, {}, false});
      made.numbers.emplace_back(DaemonClaim::Numbers{1, 0});
    }
    if (refuses) {
      made.claim.state = ClaimState::failed;
      made.claim.why = "the driver refuses";
      made.claim.places.clear();
    }
    claims[key] = made;
    ++makes;
    return made;
  }
  Result<std::optional<DaemonClaim>> find(const std::string& key) override {
    const std::lock_guard lock(mutex);
    if (down) return fail(ErrorKind::infeasible, "", "no daemon answers");
    const auto known = claims.find(key);
    if (known == claims.end()) return std::optional<DaemonClaim>();
    const DaemonClaim before = known->second;
    if (known->second.claim.state == ClaimState::making) {
      known->second.claim.state = ClaimState::held;
      for (ClaimPlace& place : known->second.claim.places)
        place.device = "MIG-" + key.substr(5) + "-" + std::to_string(place.start);
    }
    return before;
  }
  Result<void> release(const std::string& key) override {
    const std::lock_guard lock(mutex);
    if (down) return fail(ErrorKind::infeasible, "", "no daemon answers");
    claims.erase(key);
    return {};
  }

  std::mutex mutex;
  std::map<std::string, DaemonClaim> claims;
  int makes = 0;
  bool down = false, refuses = false;

 private:
  PlacementSet standing(const std::string& uuid) const {
    PlacementSet set;
    const auto gpu = std::ranges::find(gpus_, uuid, &KubeGpu::uuid);
    for (const auto& [key, claim] : claims)
      for (const ClaimPlace& place : claim.claim.places)
        if (place.gpu == uuid)
          set.insert(*gpu->geometry.find(place.profile, static_cast<int>(place.start)));
    return set;
  }
  std::vector<KubeGpu> gpus_;
};

/// One node for each instance.
class HostDouble : public HostDoor {
 public:
  KubeGifts gifts(const std::string&) override { return {}; }
  Result<std::vector<std::string>> nodes(const std::string&, const DaemonClaim::Numbers&) override {
    return std::vector<std::string>{"/dev/nvidia-caps/nvidia-cap1"};
  }
};

}  // namespace cleave
