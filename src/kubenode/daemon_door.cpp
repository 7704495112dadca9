#include "kubenode/daemon_door.hpp"

#include "api/claim_documents.hpp"
#include "api/client.hpp"
#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

constexpr const char* answer_place = "the daemon's answer";

std::string target_of(const std::string& key) {
  return fmt::format("/v1/claims/{}", percent_encoded(key));
}

DaemonClaim claim_of(const ApiClaim& seen) {
  DaemonClaim found;
  found.claim.key = seen.key;
  found.claim.order.holder = seen.holder;
  found.claim.state = seen.state;
  found.claim.why = seen.why;
  for (const ApiClaimInstance& each : seen.instances) {
    found.claim.places.push_back(
        {each.gpu_uuid, each.profile, each.start, each.uuid, {}, each.lost});
    auto& numbers = found.numbers.emplace_back();
    if (each.gpu_instance && each.compute_instance)
      numbers = DaemonClaim::Numbers{static_cast<std::uint32_t>(*each.gpu_instance),
                                     static_cast<std::uint32_t>(*each.compute_instance)};
  }
  return found;
}

/// Whether somebody other than Kubernetes has it, or may have.
bool is_others(const ApiInstance& instance) {
  if (instance.claim) return !uid_of_key(*instance.claim);
  return instance.owner != "ours" || instance.held || !instance.jobs.empty();
}

bool takes_work(const ApiGpu& gpu) {
  return gpu.managed && !gpu.drained && !gpu.lost && gpu.trouble.empty() && !gpu.reserved_for;
}

}  // namespace

std::optional<KubeGpu> kube_gpu_of(const ApiGpu& gpu) {
  const auto model = find_gpu_model(gpu.model);
  if (!model) return std::nullopt;
  KubeGpu found{
      gpu.uuid, gpu.index, Geometry(**model, ProfileChoice().on(**model)), {}, takes_work(gpu)};
  for (const ApiInstance& each : gpu.instances) {
    if (!is_others(each)) continue;
    if (const auto at = found.geometry.find(each.profile, static_cast<int>(each.start)))
      found.taken.insert(*at);
    else
      found.usable = false;  // in the way somewhere
  }
  return found;
}

Result<DaemonView> SocketDaemon::look() {
  ApiClient client(places_);
  const auto gpus = client.ask_json("GET", "/v1/gpus");
  if (!gpus) return std::unexpected(gpus.error());
  const auto read = read_gpus(*gpus, answer_place);
  if (!read) return std::unexpected(read.error());
  const auto claims = client.ask_json("GET", "/v1/claims");
  if (!claims) return std::unexpected(claims.error());
  const auto held = read_claims(*claims, answer_place);
  if (!held) return std::unexpected(held.error());
  DaemonView view;
  for (const ApiGpu& each : *read) {
    if (!each.managed) continue;
    auto gpu = kube_gpu_of(each);
    if (!gpu || view.gpus.size() == most_kube_gpus)
      view.not_published.push_back(fmt::format("GPU {}, a {}", each.index, each.model));
    else
      view.gpus.push_back(std::move(*gpu));
  }
  for (const ApiClaim& each : *held) {
    if (uid_of_key(each.key)) {
      view.claims.push_back(claim_of(each));
      continue;
    }
    // Others' claims have their places before the instances are there.
    for (const ApiClaimInstance& place : each.instances)
      for (KubeGpu& gpu : view.gpus)
        if (gpu.uuid == place.gpu_uuid)
          if (const auto at = gpu.geometry.find(place.profile, static_cast<int>(place.start)))
            gpu.taken.insert(*at);
  }
  return view;
}

Result<DaemonClaim> SocketDaemon::make(const std::string& key, const ClaimOrder& order) {
  ApiClient client(places_);
  const auto answer = client.ask_json("PUT", target_of(key), to_json(order).dump());
  if (!answer) return std::unexpected(answer.error());
  const auto claim = read_claim(*answer, answer_place);
  if (!claim) return std::unexpected(claim.error());
  return claim_of(*claim);
}

Result<std::optional<DaemonClaim>> SocketDaemon::find(const std::string& key) {
  ApiClient client(places_);
  const auto answer = client.ask_json("GET", "/v1/claims");
  if (!answer) return std::unexpected(answer.error());
  const auto claims = read_claims(*answer, answer_place);
  if (!claims) return std::unexpected(claims.error());
  for (const ApiClaim& each : *claims)
    if (each.key == key) return claim_of(each);
  return std::optional<DaemonClaim>();
}

Result<void> SocketDaemon::release(const std::string& key) {
  ApiClient client(places_);
  const auto answer = client.ask("DELETE", target_of(key));
  if (!answer) return std::unexpected(answer.error());
  return {};
}

}  // namespace cleave
