#include "kube/kube_devices.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::string profile_label(std::string_view profile) {
  std::string label;
  for (const char c : profile) {
    if (c == '-')
      label += "-without-";
    else
      label += c == '.' || c == '+' ? '-' : c;
  }
  return label;
}

std::string gpu_label(std::string_view uuid) {
  std::string label = "gpu";
  if (uuid.starts_with("GPU-")) uuid.remove_prefix(4);
  for (const char c : uuid)
    if (c != '-') label += c;
  return lowercase(label);
}

std::string device_name(const KubeGpu& gpu, PlacementId placement) {
  const Placement& at = gpu.geometry[placement];
  return fmt::format("{}-{}-{}", gpu_label(gpu.uuid), profile_label(at.profile->name), at.start);
}

std::optional<KubeDevice> find_device(std::span<const KubeGpu> gpus, std::string_view name) {
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    if (!name.starts_with(gpu_label(gpus[gpu].uuid))) continue;
    for (const PlacementId placement : gpus[gpu].geometry.all())
      if (device_name(gpus[gpu], placement) == name) return KubeDevice{gpu, placement};
  }
  return std::nullopt;
}

}  // namespace cleave
