#include "model/speed_table.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

std::optional<double> listed_speed(const SpeedTable& table, const GpuModel& model,
                                   std::string_view profile) {
  auto found = table.find(std::string(model.key) + ":" + std::string(profile));
  if (found == table.end()) found = table.find(profile);
  if (found == table.end()) return std::nullopt;
  return found->second;
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
