#include "engine/instance_groups.hpp"

#include <algorithm>
#include <tuple>

namespace cleave {

std::vector<InstanceGroup> instance_groups(
    const std::vector<std::shared_ptr<const StateGraph>>& graphs) {
  std::vector<InstanceGroup> groups;
  const auto profile_of = [&](const InstanceGroup& group) -> const Profile& {
    return graphs[group.kind]->geometry().model().profiles[static_cast<std::size_t>(group.profile)];
  };
  for (std::size_t kind = 0; kind < graphs.size(); ++kind) {
    const Geometry& geometry = graphs[kind]->geometry();
    for (const Profile* profile : geometry.profile_list()) {
      const auto number = static_cast<int>(profile - geometry.model().profiles.data());
      groups.push_back({kind, number, geometry.of_profile(number)});
    }
  }
  std::ranges::stable_sort(groups, {}, [&](const InstanceGroup& group) {
    const Profile& profile = profile_of(group);
    return std::tuple(profile.name_gb(), profile.compute, profile.attribute, group.kind);
  });
  return groups;
}

std::vector<std::uint16_t> groups_that_hold(const ResolvedRequest& request,
                                            std::span<const InstanceGroup> groups) {
  std::vector<std::uint16_t> holding;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (request.holds[groups[i].kind].meets(groups[i].placements))
      holding.push_back(static_cast<std::uint16_t>(i));
  return holding;
}

}  // namespace cleave
