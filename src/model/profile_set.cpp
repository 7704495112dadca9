#include "model/profile_set.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

bool means_profile(std::string_view name, const GpuModel& model, const Profile& profile) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return name == profile.name;
  const auto named = find_gpu_model(name.substr(0, colon));
  return named && *named == &model && name.substr(colon + 1) == profile.name;
}

Result<ProfileChoice> ProfileChoice::parse(std::string_view text) {
  ProfileChoice choice;
  constexpr std::pair<std::string_view, Family> families[] = {{"all", Family::all},
                                                              {"plain", Family::plain},
                                                              {"five", Family::five},
                                                              {"four", Family::four}};
  for (const auto& [word, family] : families) {
    if (text != word) continue;
    choice.family_ = family;
    return choice;
  }
  choice.family_ = Family::list;
  for (const std::string_view part : split(text, ',')) {
    if (trimmed(part).empty())
      return fail(ErrorKind::bad_input, "--profiles",
                  fmt::format("'{}' has an empty name in it", shown(text)),
                  "write all, plain, five, four, or names separated by commas");
    choice.names_.emplace_back(trimmed(part));
  }
  return choice;
}

ProfileChoice ProfileChoice::plain() {
  ProfileChoice choice;
  choice.family_ = Family::plain;
  return choice;
}

ProfileMask ProfileChoice::on(const GpuModel& model) const {
  const auto wanted = [&](const Profile& profile) {
    const bool plain = profile.attribute == Attribute::none;
    switch (family_) {
      case Family::all:
        return true;
      case Family::plain:
        return plain;
      case Family::five:
        return plain && !profile.double_memory;
      case Family::four:
        return plain && !profile.double_memory && profile.compute.value <= 4;
      case Family::list:
        break;
    }
    return std::ranges::any_of(
        names_, [&](const auto& name) { return means_profile(name, model, profile); });
  };
  ProfileMask mask = 0;
  for (std::size_t i = 0; i < model.profiles.size(); ++i)
    if (wanted(model.profiles[i])) mask = static_cast<ProfileMask>(mask | 1U << i);
  return mask;
}

Result<void> ProfileChoice::check(std::span<const GpuModel* const> models) const {
  std::vector<std::string> known;
  for (const GpuModel* model : models)
    for (const Profile& profile : model->profiles) known.emplace_back(profile.name);
  for (const std::string& name : names_) {
    const bool meant = std::ranges::any_of(models, [&](const GpuModel* model) {
      return std::ranges::any_of(model->profiles,
                                 [&](const Profile& p) { return means_profile(name, *model, p); });
    });
    if (!meant)
      return fail(ErrorKind::bad_input, "--profiles",
                  fmt::format("no GPU here has a profile '{}'", shown(name)),
                  suggestion(name, known));
  }
  for (const GpuModel* model : models)
    if (on(*model) == 0)
      return fail(ErrorKind::bad_input, "--profiles",
                  fmt::format("this leaves the {} without any profile", model->key),
                  "name at least one profile of each model");
  return {};
}

}  // namespace cleave
