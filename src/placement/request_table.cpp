#include "placement/request_table.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "placement/gang_room.hpp"

namespace cleave {

namespace {

/// Profiles of the geometry on which the job can run, from large to small.
std::vector<const Profile*> usable_profiles(const Geometry& geometry, const Request& request) {
  std::vector<const Profile*> profiles = geometry.profile_list();
  if (request.at_least)
    std::erase_if(profiles,
                  [&](const Profile* p) { return !p->usable || *p->usable < *request.at_least; });
  if (!request.fits || asks_for_whole(request)) return profiles;
  std::erase_if(profiles, [&](const Profile* profile) {
    return std::ranges::none_of(*request.fits, [&](const auto& name) {
      return means_profile(name, geometry.model(), *profile);
    });
  });
  return profiles;
}

bool is_plain(const Profile* profile) {
  return profile->attribute == Attribute::none;
}

/// The plain profiles with the fewest memory slices that hold a size; all that tie compete.
std::vector<const Profile*> profiles_of_size(const std::vector<const Profile*>& usable,
                                             const BySize& size) {
  const auto holds = [&](const Profile* p) {
    return is_plain(p) && p->usable && *p->usable >= size.memory && p->compute >= size.compute;
  };
  std::vector<const Profile*> chosen;
  for (const Profile* profile : usable) {
    if (!holds(profile)) continue;
    if (!chosen.empty() && profile->memory < chosen.front()->memory) chosen.clear();
    chosen.push_back(profile);
  }
  return chosen;
}

/// The plain profiles that are smaller than the size, but enough for what cannot be offloaded.
std::vector<const Profile*> profiles_with_offload(const std::vector<const Profile*>& usable,
                                                  const Request& request) {
  const auto* size = std::get_if<BySize>(&request.wanted);
  std::vector<const Profile*> enough;
  if (size == nullptr || !request.offload) return enough;
  for (const Profile* p : usable)
    if (is_plain(p) && p->usable && *p->usable < size->memory &&
        *p->usable >= size->memory - *request.offload && p->compute >= size->compute)
      enough.push_back(p);
  return enough;
}

/// Of those the ones with the most memory, where least is offloaded; all that tie compete.
std::vector<const Profile*> largest_with_offload(const std::vector<const Profile*>& usable,
                                                 const Request& request) {
  std::vector<const Profile*> chosen = profiles_with_offload(usable, request);
  if (chosen.empty()) return chosen;
  const auto most =
      *std::ranges::max(chosen, {}, [](const Profile* p) { return *p->usable; })->usable;
  std::erase_if(chosen, [&](const Profile* p) { return *p->usable < most; });
  return chosen;
}

/// The profile of that name; where it has turned out too small, the next larger ones with as much
/// compute.
std::vector<const Profile*> profiles_of_name(const Geometry& geometry,
                                             const std::vector<const Profile*>& usable,
                                             const ByProfile& wanted, std::optional<MiB> at_least) {
  const auto named = [&](const Profile* p) {
    return means_profile(wanted.profile, geometry.model(), *p);
  };
  std::vector<const Profile*> chosen;
  for (const Profile* profile : usable)
    if (named(profile)) chosen.push_back(profile);
  if (!chosen.empty() || !at_least) return chosen;
  for (const Profile* profile : geometry.profile_list())
    if (named(profile)) return profiles_of_size(usable, {*at_least, profile->compute});
  return chosen;
}

/// What stands for the whole GPU: nothing is beside the largest profile.
std::vector<const Profile*> largest_profile(const std::vector<const Profile*>& usable,
                                            const GpuModel& model) {
  const bool there = std::ranges::find(usable, &model.largest()) != usable.end();
  return there ? std::vector{&model.largest()} : std::vector<const Profile*>{};
}

/// Fewest memory slices, then fewest compute slices.
std::vector<const Profile*> smallest_profile(const std::vector<const Profile*>& usable) {
  const Profile* smallest = nullptr;
  for (const Profile* profile : usable) {
    if (!is_plain(profile)) continue;
    if (smallest == nullptr ||
        std::tie(profile->memory, profile->compute) < std::tie(smallest->memory, smallest->compute))
      smallest = profile;
  }
  return smallest == nullptr ? std::vector<const Profile*>{} : std::vector{smallest};
}

std::vector<const Profile*> satisfying(const Geometry& geometry, const Request& request) {
  const std::vector<const Profile*> usable = usable_profiles(geometry, request);
  if (const auto* wanted = std::get_if<ByProfile>(&request.wanted))
    return profiles_of_name(geometry, usable, *wanted, request.at_least);
  if (const auto* size = std::get_if<BySize>(&request.wanted)) {
    if (request.offloaded) return largest_with_offload(usable, request);
    auto whole = profiles_of_size(usable, *size);
    return whole.empty() ? largest_with_offload(usable, request) : whole;
  }
  if (const auto* share = std::get_if<ByShare>(&request.wanted)) {
    const Profile* meant = profile_of_share(geometry.model(), usable, *share);
    return meant == nullptr ? std::vector<const Profile*>{} : std::vector{meant};
  }
  if (asks_for_whole(request)) return largest_profile(usable, geometry.model());
  return smallest_profile(usable);
}

/// Whether a job that would run on one of `chosen` runs on `profile` too: one of them, or larger.
bool at_least_as_large(const Profile* profile, const std::vector<const Profile*>& chosen) {
  return std::ranges::any_of(chosen, [&](const Profile* least) {
    return profile == least || (is_plain(profile) && profile->memory >= least->memory &&
                                profile->compute >= least->compute && is_plain(least));
  });
}

bool some_memory_unknown(const Geometry& geometry) {
  return std::ranges::any_of(geometry.profile_list(),
                             [](const Profile* p) { return is_plain(p) && !p->usable; });
}

/// In the words of whoever asked: what the fleet has instead.
std::string reason(const Request& request, const std::vector<Geometry>& geometries) {
  std::vector<std::string> models, unknown;
  for (const Geometry& geometry : geometries) {
    models.emplace_back(geometry.model().key);
    if (some_memory_unknown(geometry)) unknown.emplace_back(geometry.model().key);
  }
  const std::string where = any_of(models);
  // What the request wants may be there, and only its job does not run on it.
  if (request.fits && resolve({request.wanted, {}}, geometries).impossible.empty())
    return fmt::format("on {}, the job's table of speeds has no profile for {}", where,
                       text(request));
  if (const auto* wanted = std::get_if<ByProfile>(&request.wanted))
    return fmt::format("no {} here has a profile {}", where, shown(wanted->profile));
  if (std::holds_alternative<BySize>(request.wanted)) {
    const std::string known = fmt::format("no instance of {} holds {}", where, text(request));
    if (unknown.empty()) return known;
    return fmt::format("{} (the instance memory of {} is unknown)", known, any_of(unknown));
  }
  return fmt::format("no {} has a profile for {}", where, text(request));
}

}  // namespace

std::optional<MiB> usable_alone(const ResolvedRequest& request, std::size_t kind,
                                const Geometry& geometry) {
  const PlacementSet asked = request.candidates[kind];
  const MiB at_least = request.request.at_least.value_or(MiB{0});
  std::optional<MiB> least;
  for (const PlacementId id : asked.empty() ? geometry.all() : asked)
    if (const auto usable = geometry[id].profile->usable; usable && *usable >= at_least)
      least = std::min(least.value_or(*usable), *usable);
  return least;
}

ResolvedRequest resolve(const Request& request, const std::vector<Geometry>& geometries) {
  ResolvedRequest resolved{request, {}, {}, {}};
  bool possible = false;
  for (const Geometry& geometry : geometries) {
    const auto placements = [&](const Profile* profile) {
      return geometry.of_profile(static_cast<int>(profile - geometry.model().profiles.data()));
    };
    const std::vector<const Profile*> chosen = satisfying(geometry, request);
    PlacementSet candidates, holds;
    for (const Profile* profile : chosen) candidates = candidates | placements(profile);
    for (const Profile* profile : usable_profiles(geometry, request))
      if (at_least_as_large(profile, chosen)) holds = holds | placements(profile);
    resolved.holds.push_back(holds);
    PlacementSet with_offload;
    for (const Profile* profile :
         profiles_with_offload(usable_profiles(geometry, request), request))
      with_offload = with_offload | placements(profile);
    resolved.with_offload.push_back(with_offload);
    possible = possible || !candidates.empty();
    resolved.candidates.push_back(candidates);
  }
  if (!possible) resolved.impossible = reason(request, geometries);
  return resolved;
}

RequestId RequestTable::intern(const Request& request) {
  const auto [entry, fresh] = known_.try_emplace(request, static_cast<RequestId>(resolved_.size()));
  const RequestId id = entry->second;
  if (fresh) {
    resolved_.push_back(resolve(request, geometries_));
    if (request.offload && !request.offloaded) intern_offloaded(id);
  }
  return id;
}

void RequestTable::intern_offloaded(RequestId id) {
  const auto some = [](PlacementSet set) { return !set.empty(); };
  if (std::ranges::none_of(resolved_[index(id)].with_offload, some)) return;
  Request smaller = resolved_[index(id)].request;
  smaller.offloaded = true;
  const RequestId offloaded = intern(smaller);
  resolved_[index(id)].offloaded = offloaded;
}

}  // namespace cleave
