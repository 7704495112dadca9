#include "kube/claim_book.hpp"

#include <algorithm>
#include <utility>

namespace cleave {

namespace {

bool names(const KubePod& pod, const KubeName& name) {
  return pod.at.space == name.space && std::ranges::find(pod.claims, name.name) != pod.claims.end();
}

}  // namespace

void ClaimBook::pods_are(const std::vector<KubePod>& pods) {
  pods_.clear();
  for (const KubePod& pod : pods) pod_is(pod);
  // What changed meanwhile is not known.
  for (const auto& [uid, claim] : claims_) unread_.insert(claim.at);
}

void ClaimBook::pod_is(const KubePod& pod) {
  const auto known = pods_.find(pod.uid);
  for (const std::string& name : pod.claims)
    if (known == pods_.end() || !names(known->second, {pod.at.space, name}))
      unread_.insert({pod.at.space, name});
  pods_[pod.uid] = pod;
}

void ClaimBook::pod_gone(const std::string& uid) {
  const auto known = pods_.find(uid);
  if (known == pods_.end()) return;
  for (const std::string& name : known->second.claims)
    unread_.insert({known->second.at.space, name});
  pods_.erase(known);
}

void ClaimBook::claim_is(const KubeClaim& claim) {
  // Of this name there is no other now.
  std::erase_if(claims_, [&](const auto& each) {
    return each.second.at == claim.at && each.first != claim.uid;
  });
  if (claim.grants.empty()) {
    claims_.erase(claim.uid);
    unprepared_.erase(claim.uid);
  } else {
    claims_[claim.uid] = claim;
  }
}

void ClaimBook::claim_gone(const KubeName& name) {
  std::erase_if(claims_, [&](const auto& each) {
    if (each.second.at != name) return false;
    unprepared_.erase(each.first);
    return true;
  });
}

void ClaimBook::unprepared(const std::string& uid) {
  if (const auto known = claims_.find(uid); known != claims_.end()) {
    unprepared_.insert(uid);
    unread_.insert(known->second.at);
  }
}

std::vector<KubeName> ClaimBook::take_unread() {
  const auto taken = std::exchange(unread_, {});
  return {taken.begin(), taken.end()};
}

void ClaimBook::read_again(const KubeName& name) {
  unread_.insert(name);
}

std::vector<KubeName> ClaimBook::without_pod() const {
  std::vector<KubeName> found;
  for (const auto& [uid, claim] : claims_)
    if (std::ranges::none_of(pods_of(claim.at), [](const KubePod& pod) { return !pod.over; }))
      found.push_back(claim.at);
  return found;
}

KubeDevices ClaimBook::allocated(std::span<const KubeGpu> gpus) const {
  KubeDevices all;
  for (const auto& [uid, claim] : claims_) all.merge(devices_of(claim, gpus));
  return all;
}

std::vector<KubeClaim> ClaimBook::to_make() const {
  std::vector<KubeClaim> found;
  for (const auto& [uid, claim] : claims_)
    if (!unprepared_.contains(uid) &&
        std::ranges::any_of(pods_of(claim.at), [](const KubePod& pod) { return pod.starts; }))
      found.push_back(claim);
  return found;
}

std::vector<KubePod> ClaimBook::pods_of(const KubeName& name) const {
  std::vector<KubePod> found;
  for (const auto& [uid, pod] : pods_)
    if (names(pod, name)) found.push_back(pod);
  return found;
}

}  // namespace cleave
