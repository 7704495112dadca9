#include "model/workload/known_profiles.hpp"

#include "base/format.hpp"
#include "model/job.hpp"
#include "model/profile_set.hpp"

namespace cleave {

namespace {

bool is_mig_off(std::string_view column) {
  return column.substr(column.rfind(':') + 1) == mig_off;
}

}  // namespace

bool some_gpu_has(std::string_view profile) {
  for (const GpuModel& model : gpu_models())
    for (const Profile& known : model.profiles)
      if (means_profile(profile, model, known)) return true;
  return false;
}

std::optional<std::string> known_column(const std::string& column) {
  if (!is_mig_off(column) && !some_gpu_has(column)) return std::nullopt;
  const std::size_t colon = column.rfind(':');
  if (colon == std::string::npos) return column;
  const auto model = find_gpu_model(column.substr(0, colon));
  if (!model) return std::nullopt;
  return fmt::format("{}:{}", (*model)->key, column.substr(colon + 1));
}

}  // namespace cleave
