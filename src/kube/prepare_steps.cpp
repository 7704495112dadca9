#include "kube/prepare_steps.hpp"

#include <algorithm>

namespace cleave {

namespace {

/// The place of the daemon's claim that is this grant's.
const ClaimPlace* place_for(const KubeGrant& grant, const Claim& at_daemon,
                            std::span<const KubeGpu> gpus) {
  const auto device = find_device(gpus, grant.device);
  if (!device) return nullptr;
  const KubeGpu& gpu = gpus[device->gpu];
  const Placement& at = gpu.geometry[device->placement];
  const auto place = std::ranges::find_if(at_daemon.places, [&](const ClaimPlace& each) {
    return each.gpu == gpu.uuid && each.profile == at.profile->name && each.start == at.start;
  });
  return place == at_daemon.places.end() ? nullptr : &*place;
}

bool is_lost(const Claim& claim) {
  return std::ranges::any_of(claim.places, [](const ClaimPlace& each) { return each.lost; });
}

PrepareVerdict judge_held(const PrepareView& view) {
  if (is_lost(*view.at_daemon))
    return {PrepareStep::refuse, "somebody else has destroyed an instance of this claim"};
  if (!view.wanted_file) return {PrepareStep::wait, {}};
  if (view.file != view.wanted_file) return {PrepareStep::write, {}};
  return {PrepareStep::done, {}};
}

}  // namespace

PrepareVerdict judge_prepare(const KubeClaim& claim, const PrepareView& view, bool tried) {
  if (claim.grants.empty()) return {PrepareStep::refuse, "the claim is not allocated on this node"};
  if (!view.at_daemon) return {PrepareStep::claim_it, {}};
  const Claim& held = *view.at_daemon;
  switch (held.state) {
    case ClaimState::failed:
      if (tried)
        return {PrepareStep::refuse, held.why.empty() ? "its instance was not made" : held.why};
      return {PrepareStep::claim_it, {}};
    case ClaimState::released:
      return {PrepareStep::claim_it, {}};
    case ClaimState::releasing:
      return {PrepareStep::wait, {}};
    case ClaimState::making:
    case ClaimState::held:
      break;
  }
  if (!view.same_places) return {PrepareStep::give_back, {}};
  if (held.state == ClaimState::making) return {PrepareStep::wait, {}};
  return judge_held(view);
}

PrepareStep judge_unprepare(const PrepareView& view) {
  if (view.file) return PrepareStep::write;  // that is, away with it
  if (!view.at_daemon || view.at_daemon->state == ClaimState::releasing ||
      view.at_daemon->state == ClaimState::released)
    return PrepareStep::done;
  return PrepareStep::give_back;
}

bool holds_the_same(const KubeClaim& claim, const Claim& at_daemon, std::span<const KubeGpu> gpus) {
  return claim.grants.size() == at_daemon.places.size() &&
         std::ranges::all_of(claim.grants, [&](const KubeGrant& grant) {
           return place_for(grant, at_daemon, gpus) != nullptr;
         });
}

std::optional<std::vector<std::string>> uuids_of(const KubeClaim& claim, const Claim& at_daemon,
                                                 std::span<const KubeGpu> gpus) {
  std::vector<std::string> uuids;
  for (const KubeGrant& grant : claim.grants) {
    const ClaimPlace* place = place_for(grant, at_daemon, gpus);
    if (place == nullptr || place->device.empty()) return std::nullopt;
    uuids.push_back(place->device);
  }
  return uuids;
}

std::vector<std::string> keys_to_give_back(const std::vector<std::string>& keys,
                                           const std::optional<std::set<std::string>>& allocated) {
  std::vector<std::string> left;
  if (!allocated) return left;
  for (const std::string& key : keys)
    if (const auto uid = uid_of_key(key); uid && !allocated->contains(std::string(*uid)))
      left.push_back(key);
  return left;
}

}  // namespace cleave
