#include "model/geometry.hpp"

#include <algorithm>
#include <cassert>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

SliceMask covered(const Profile& profile, int start) {
  return static_cast<SliceMask>(((1U << profile.memory.value) - 1U) << start);
}

bool media_exclude(const Profile& a, const Profile& b) {
  return a.attribute == Attribute::media && b.attribute == Attribute::media;
}

bool all_media_exclude(const Profile& a, const Profile& b) {
  const auto takes_all = [](const Profile& p) { return p.attribute == Attribute::all_media; };
  const auto takes_none = [](const Profile& p) { return p.attribute == Attribute::no_media; };
  return (takes_all(a) && !takes_none(b)) || (takes_all(b) && !takes_none(a));
}

bool exclude_each_other(const Placement& a, const Placement& b) {
  const bool only_one = a.profile == b.profile && a.profile->max_instances == 1;
  return (a.slices & b.slices) != 0 || only_one || media_exclude(*a.profile, *b.profile) ||
         all_media_exclude(*a.profile, *b.profile);
}

}  // namespace

std::string_view name(Illegality reason) {
  switch (reason) {
    case Illegality::start:
      return "start not allowed";
    case Illegality::overlap:
      return "overlap";
    case Illegality::compute_budget:
      return "compute budget";
    case Illegality::second_media:
      return "more than one media-extension instance";
    case Illegality::too_many:
      return "too many of a profile";
    case Illegality::all_media:
      return "all-media rule";
  }
  return "unknown";
}

Geometry::Geometry(const GpuModel& model, ProfileMask profiles)
    : model_(&model), profiles_(profiles), by_profile_(model.profiles.size()) {
  for (std::size_t i = 0; i < model.profiles.size(); ++i) {
    if ((profiles >> i & 1U) == 0) continue;
    const Profile& profile = model.profiles[i];
    for (const int start : profile.starts.ascending()) {
      const auto id = static_cast<PlacementId>(placements_.size());
      placements_.push_back({&profile, static_cast<int>(i), start, covered(profile, start), {}});
      by_profile_[i].insert(id);
      all_.insert(id);
    }
  }
  assert(placements_.size() <= static_cast<std::size_t>(PlacementSet::most));
  for (const PlacementId a : all_)
    for (const PlacementId b : all_)
      if (a != b && exclude_each_other(placements_[a], placements_[b]))
        placements_[a].conflicts.insert(b);
}

std::vector<const Profile*> Geometry::profile_list() const {
  std::vector<const Profile*> list;
  for (std::size_t i = 0; i < model_->profiles.size(); ++i)
    if ((profiles_ >> i & 1U) != 0) list.push_back(&model_->profiles[i]);
  return list;
}

std::vector<std::string> Geometry::profile_names() const {
  std::vector<std::string> names;
  for (const Profile* profile : profile_list()) names.emplace_back(profile->name);
  return names;
}

std::optional<PlacementId> Geometry::find(const Profile& profile, int start) const {
  for (const PlacementId id : all_)
    if (placements_[id].profile == &profile && placements_[id].start == start) return id;
  return std::nullopt;
}

Result<PlacementId> Geometry::find(std::string_view profile_name, int start) const {
  const Profile* profile = model_->find(profile_name);
  const bool in_set =
      profile != nullptr && (profiles_ >> (profile - model_->profiles.data()) & 1U) != 0;
  if (profile == nullptr)
    return fail(ErrorKind::bad_input, "",
                fmt::format("the {} has no profile '{}'", model_->key, shown(profile_name)),
                suggestion(profile_name, profile_names()));
  if (!in_set)
    return fail(ErrorKind::bad_input, "",
                fmt::format("{} is not among the chosen profiles", profile_name),
                "widen --profiles");
  const auto id = find(*profile, start);
  if (!id) return fail(ErrorKind::bad_input, "", wrong_start(*profile, start));
  return *id;
}

PlacementSet Geometry::blocked(PlacementSet state) const {
  PlacementSet blocked = state;
  for (const PlacementId id : state) blocked = blocked | placements_[id].conflicts;
  return blocked;
}

bool Geometry::within_limits(PlacementSet state) const {
  if (compute(state) > model_->compute) return false;
  for (std::size_t i = 0; i < by_profile_.size(); ++i)
    if ((state & by_profile_[i]).size() > model_->profiles[i].max_instances) return false;
  return true;
}

bool Geometry::legal(PlacementSet state) const {
  for (const PlacementId id : state)
    if (placements_[id].conflicts.meets(state)) return false;
  return within_limits(state);
}

PlacementSet Geometry::free(PlacementSet state) const {
  PlacementSet free;
  for (const PlacementId id : all_ - blocked(state))
    if (within_limits(state | PlacementSet::of(id))) free.insert(id);
  return free;
}

Verdict Geometry::judge(const std::vector<Written>& list) const {
  SliceMask taken = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto& [profile, start] = list[i];
    if (start < 0 || start >= Starts::most || !profile->starts.contains(start))
      return {Illegality::start, i};
    const SliceMask slices = covered(*profile, start);
    if ((taken & slices) != 0) return {Illegality::overlap, i};
    taken = static_cast<SliceMask>(taken | slices);
  }
  const auto first_that = [&](auto&& breaks) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < list.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (breaks(*list[i].profile, *list[j].profile)) return i;
    return std::nullopt;
  };
  ComputeSlices compute;
  for (std::size_t i = 0; i < list.size(); ++i) {
    compute += list[i].profile->compute;
    if (compute > model_->compute) return {Illegality::compute_budget, i};
  }
  if (const auto second = first_that(media_exclude)) return {Illegality::second_media, *second};
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto same = [&](const Written& other) { return other.profile == list[i].profile; };
    const auto count =
        std::count_if(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i) + 1, same);
    if (count > list[i].profile->max_instances) return {Illegality::too_many, i};
  }
  if (const auto second = first_that(all_media_exclude)) return {Illegality::all_media, *second};
  return {};
}

SliceMask Geometry::slices(PlacementSet state) const {
  SliceMask mask = 0;
  for (const PlacementId id : state) mask = static_cast<SliceMask>(mask | placements_[id].slices);
  return mask;
}

ComputeSlices Geometry::compute(PlacementSet state) const {
  ComputeSlices sum;
  for (const PlacementId id : state) sum += placements_[id].profile->compute;
  return sum;
}

MemorySlices Geometry::memory(PlacementSet state) const {
  MemorySlices sum;
  for (const PlacementId id : state) sum += placements_[id].profile->memory;
  return sum;
}

std::vector<PlacementId> by_start(const Geometry& geometry, PlacementSet state) {
  std::vector<PlacementId> ids;
  for (const PlacementId id : state) ids.push_back(id);
  std::ranges::sort(ids, {}, [&](PlacementId id) {
    return std::pair(geometry[id].start, geometry[id].profile->name);
  });
  return ids;
}

std::string layout_text(const Geometry& geometry, PlacementSet state) {
  std::vector<std::string> parts;
  for (const PlacementId id : by_start(geometry, state))
    parts.push_back(fmt::format("{}@{}", geometry[id].profile->name, geometry[id].start));
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string wrong_start(const Profile& profile, int start) {
  std::vector<std::string> starts;
  for (const int allowed : profile.starts.ascending()) starts.push_back(fmt::format("{}", allowed));
  return fmt::format("{} may start at {}, not at {}", profile.name, any_of(starts), start);
}

}  // namespace cleave
