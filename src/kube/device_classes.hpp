#pragma once
// DeviceClasses as a manifest: one for each profile, and one for any instance, to be narrowed down
// by a selector. A class of a profile also stands for the extended resource by which NVIDIA's
// device plugin is asked for it, so that old manifests run unchanged.

#include <string>
#include <string_view>

namespace cleave {

/// "mig-1g.10gb.me" of "1g.10gb+me": a profile as a part of resource names.
[[nodiscard]] std::string resource_part(std::string_view profile);
/// Of all profiles of all models, in YAML; of several with one name there is one.
[[nodiscard]] std::string device_classes_yaml();

}  // namespace cleave
