#include "control/verdicts/size_by_measurements.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "forecast/choice/profile_exports.hpp"

namespace cleave {

namespace {

/// The user's own first, then the operator's; those that there are.
std::vector<const ProfileRepository*> repositories_of(std::uint32_t uid,
                                                      const MeasuredApplications& applications) {
  std::vector<const ProfileRepository*> all;
  if (const auto* learnt = applications.learnt().of(uid)) all.push_back(learnt);
  if (const auto* given = applications.given()) all.push_back(&given->repository());
  return all;
}

bool has(const Profile& profile, MiB memory) {
  return profile.attribute == Attribute::none && profile.usable && *profile.usable >= memory;
}

/// Of the profiles with this memory the one of the highest reward; empty where it is not known.
std::optional<std::string> best_profile(const ProfileRepository& repository, const JobSpec& spec,
                                        const Geometry& geometry, MiB memory) {
  auto measured = reward_question(
      repository, {*spec.application, std::string(geometry.model().key), batch_of(spec)});
  if (!measured) return std::nullopt;
  std::vector<MeasuredInstance>& instances = measured->question.instances;
  const std::vector<const Profile*> here = geometry.profile_list();
  std::erase_if(instances, [&](const MeasuredInstance& each) {
    return each.offloaded || std::ranges::none_of(here, [&](const Profile* profile) {
             return profile->name == each.name && has(*profile, memory);
           });
  });
  const Recommendation answer = recommend(instances, measured->question.basis);
  return answer.best ? std::optional(instances[*answer.best].name) : std::nullopt;
}

std::string in_words(const JobSpec& spec, const std::string& size) {
  const std::string batch = spec.batch ? fmt::format(", batch {}", *spec.batch) : "";
  return fmt::format("{}{}: {}, by measurements", *spec.application, batch, size);
}

}  // namespace

std::optional<MiB> with_margin(MiB peak, const std::vector<const Geometry*>& geometries) {
  const MiB more{std::llround(std::ceil(static_cast<double>(peak.value) * (1 + peak_margin)))};
  MiB largest{};
  for (const Geometry* geometry : geometries)
    for (const Profile* profile : geometry->profile_list())
      if (has(*profile, peak)) largest = std::max(largest, *profile->usable);
  return largest >= peak ? std::optional(std::min(more, largest)) : std::nullopt;
}

std::optional<MeasuredSize> size_by_measurements(const JobSpec& spec, std::uint32_t uid,
                                                 const MeasuredApplications& applications,
                                                 const std::vector<const Geometry*>& geometries,
                                                 bool by_profile, std::optional<MiB> needed) {
  if (!spec.application) return std::nullopt;
  const auto repositories = repositories_of(uid, applications);
  std::optional<MiB> peak;
  for (const ProfileRepository* each : repositories)
    for (const Geometry* geometry : geometries)
      if (const auto known =
              measured_peak(*each, *spec.application, batch_of(spec), geometry->model()))
        peak = std::max(peak.value_or(MiB{}), *known);
  if (!peak || peak->value <= 0) return std::nullopt;
  if (needed) peak = std::max(*peak, *needed);
  const MiB memory = with_margin(*peak, geometries).value_or(*peak);
  // With several models one name would not do for all.
  if (by_profile && geometries.size() == 1)
    for (const ProfileRepository* each : repositories)
      if (auto profile = best_profile(*each, spec, *geometries.front(), memory)) {
        std::string asked = in_words(spec, *profile);
        return MeasuredSize{{ByProfile{std::move(*profile)}, {}}, std::move(asked)};
      }
  return MeasuredSize{{BySize{memory, {}}, {}},
                      in_words(spec, fmt::format("{} MiB", memory.value))};
}

}  // namespace cleave
