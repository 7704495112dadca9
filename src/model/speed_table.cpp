#include "model/speed_table.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/named_numbers.hpp"
#include "base/text.hpp"

namespace cleave {

std::optional<double> listed_speed(const SpeedTable& table, const GpuModel& model,
                                   std::string_view profile) {
  auto found = table.find(std::string(model.key) + ":" + std::string(profile));
  if (found == table.end()) found = table.find(profile);
  if (found == table.end()) return std::nullopt;
  return found->second;
}

Result<void> check_column(std::string_view name, const std::string& place) {
  if (name == mig_off) return {};
  const std::size_t colon = name.rfind(':');
  const bool of_model = colon != std::string_view::npos;
  const std::string_view profile = of_model ? name.substr(colon + 1) : name;
  std::vector<std::string> models, profiles;
  for (const GpuModel& model : gpu_models()) {
    models.emplace_back(model.key);
    if (of_model && model.key != name.substr(0, colon)) continue;
    if (model.find(profile) != nullptr) return {};
    for (const Profile& each : model.profiles) profiles.emplace_back(each.name);
  }
  if (profiles.empty())
    return fail(ErrorKind::bad_input, place,
                fmt::format("there is no GPU model '{}'", shown(name.substr(0, colon))),
                suggestion(name.substr(0, colon), models));
  std::ranges::sort(profiles);
  const auto again = std::ranges::unique(profiles);
  profiles.erase(again.begin(), again.end());
  return fail(ErrorKind::bad_input, place,
              fmt::format("no GPU model has a profile '{}'", shown(profile)),
              suggestion(profile, profiles));
}

Result<SpeedTable> parse_by_profile(std::string_view text, const std::string& option,
                                    const ByProfileWords& words) {
  const auto numbers = named_numbers(text, option);
  if (!numbers) return std::unexpected(numbers.error());
  SpeedTable table;
  for (const NamedNumber& row : *numbers) {
    if (const auto known = check_column(row.name, option); !known)
      return std::unexpected(known.error());
    if (row.number <= 0)
      return fail(ErrorKind::bad_input, option,
                  fmt::format("{} has no {} above zero", shown(row.name), words.number),
                  std::string(words.remedy));
    table[row.name] = row.number;
  }
  return table;
}

namespace {

/// The least memory among the listed profiles of a model; empty if they do not differ in compute.
std::optional<MemorySlices> least_listed(const SpeedTable& table, const GpuModel& model) {
  const Profile* first = nullptr;
  bool differ = false;
  MemorySlices least{};
  for (const Profile& each : model.profiles) {
    if (!listed_speed(table, model, each.name)) continue;
    least = first == nullptr ? each.memory : std::min(least, each.memory);
    differ = differ || (first != nullptr && each.compute != first->compute);
    first = &each;
  }
  if (!differ) return std::nullopt;
  return least;
}

bool covered(const SpeedTable& table, const GpuModel& model, const Profile& profile,
             MemorySlices least) {
  return profile.memory >= least && !listed_speed(table, model, profile.name);
}

}  // namespace

bool is_completed(const SpeedTable& table, const GpuModel& model, const Profile& profile) {
  const auto least = least_listed(table, model);
  return least && covered(table, model, profile, *least);
}

std::vector<std::string> profiles_of(const SpeedTable& table, bool complete) {
  std::vector<std::string> names;
  for (const auto& [name, speed] : table)
    if (name.substr(name.rfind(':') + 1) != mig_off) names.push_back(name);
  if (!complete) return names;
  for (const GpuModel& model : gpu_models())
    if (const auto least = least_listed(table, model))
      for (const Profile& profile : model.profiles)
        if (covered(table, model, profile, *least))
          names.push_back(fmt::format("{}:{}", model.key, profile.name));
  return names;
}

}  // namespace cleave
