#include "kube/device_classes.hpp"

#include <algorithm>
#include <vector>

#include "base/format.hpp"
#include "kube/kube_devices.hpp"

namespace cleave {

std::string resource_part(std::string_view profile) {
  std::string part = "mig-";
  for (const char c : profile) {
    if (c == '-')
      part += ".without.";
    else
      part += c == '+' ? '.' : c;
  }
  return part;
}

std::string device_classes_yaml() {
  std::string yaml = fmt::format(
      "# Made by `cleave-kube classes`. A claim asks for one of these classes.\n"
      "apiVersion: resource.k8s.io/v1\n"
      "kind: DeviceClass\n"
      "metadata:\n"
      "  name: mig.{0}\n"
      "spec:\n"
      "  selectors:\n"
      "  - cel:\n"
      "      expression: device.driver == \"{0}\"\n",
      kube_driver);
  std::vector<std::string_view> names;
  for (const GpuModel& model : gpu_models())
    for (const Profile& profile : model.profiles) names.push_back(profile.name);
  std::ranges::sort(names);
  const auto again = std::ranges::unique(names);
  names.erase(again.begin(), again.end());
  for (const std::string_view name : names)
    yaml += fmt::format(
        "---\n"
        "apiVersion: resource.k8s.io/v1\n"
        "kind: DeviceClass\n"
        "metadata:\n"
        "  name: {1}.{0}\n"
        "spec:\n"
        "  selectors:\n"
        "  - cel:\n"
        "      expression: >-\n"
        "        device.driver == \"{0}\" &&\n"
        "        device.attributes[\"{0}\"].profile == \"{2}\"\n"
        "  extendedResourceName: nvidia.com/{1}\n",
        kube_driver, resource_part(name), name);
  return yaml;
}

}  // namespace cleave
