#include "engine/schedulers/instance_seats.hpp"

#include <algorithm>

#include "physics/instance_sharing.hpp"

namespace cleave {

namespace {

/// The slices of the largest compute instance of which as many as `jobs` fit side by side.
int compute_slices(const Profile& profile, int jobs) {
  constexpr int sizes[] = {7, 4, 3, 2, 1};  // that drivers offer
  const int each = profile.compute.value / jobs;
  for (const int size : sizes)
    if (size <= each) return size;
  return 1;
}

}  // namespace

Result<std::optional<SharingRule>> sharing_rule(const OptionTexts& options) {
  OptionReader in(options);
  SharingRule rule;
  rule.jobs = static_cast<int>(in.count("sharers", 0, 48));  // clients of one MPS server
  rule.percent = static_cast<int>(in.count("percent", 1, 100));
  const auto* mode = std::ranges::find(words_of_sharing, in.text("sharing"));
  const bool none = mode == words_of_sharing.end();
  if (!none) rule.mode = static_cast<SharingMode>(mode - words_of_sharing.begin());
  if (none && rule.jobs != 0) in.refuse("sharers", "it needs sharing");
  if (rule.percent != 100 && (none || rule.mode != SharingMode::mps))
    in.refuse("percent", "it needs sharing=mps");
  if (in.error()) return std::unexpected(*in.error());
  if (none) return std::nullopt;
  return rule;
}

MiB InstanceSeats::needed(const ResolvedRequest& request, std::size_t kind,
                          const Geometry& geometry) {
  const auto* size = std::get_if<BySize>(&request.request.wanted);
  if (size != nullptr && !request.request.at_least) return size->memory;
  return usable_alone(request, kind, geometry).value_or(MiB{0});
}

int InstanceSeats::seats(const Profile& profile) const {
  const int slices = profile.compute.value;
  if (rule_.jobs == 0) return slices;
  return rule_.mode == SharingMode::compute_instances ? std::min(rule_.jobs, slices) : rule_.jobs;
}

InstanceShare InstanceSeats::share_of(const Profile& profile) const {
  InstanceShare share{rule_.mode, 0};
  if (rule_.mode == SharingMode::compute_instances)
    share.part = static_cast<std::uint8_t>(compute_slices(profile, seats(profile)));
  if (rule_.mode == SharingMode::mps && rule_.percent < 100)
    share.part = static_cast<std::uint8_t>(rule_.percent);
  return share;
}

int InstanceSeats::jobs_on(GpuId gpu, PlacementId placement) const {
  const auto there = sharers_.find({gpu, placement});
  return there == sharers_.end() ? 0 : there->second.jobs;
}

bool InstanceSeats::has_room(GpuId gpu, PlacementId placement, const Profile& profile,
                             MiB needed) const {
  const auto there = sharers_.find({gpu, placement});
  if (there == sharers_.end()) return true;  // it holds the job alone
  if (!profile.usable) return false;         // whether it holds two is not known
  const MiB contexts = sharing_memory(rule_.mode, there->second.jobs + 1);
  return there->second.needed + needed + contexts <= *profile.usable;
}

void InstanceSeats::enter(GpuId gpu, PlacementId placement, MiB needed) {
  Sharers& there = sharers_[{gpu, placement}];
  ++there.jobs;
  there.needed += needed;
}

void InstanceSeats::leave(GpuId gpu, PlacementId placement, MiB needed) {
  const auto there = sharers_.find({gpu, placement});
  if (there == sharers_.end()) return;
  there->second.needed -= needed;
  if (--there->second.jobs == 0) sharers_.erase(there);
}

}  // namespace cleave
