#pragma once
// What a container has for its instance, as a specification of the Container Device Interface (CDI,
// version 0.6.0): one device, cleave.gpu/instance=NAME, with its nodes, mounts and environment. It
// lies in the attempt's folder; the container program is given the same item by item, since not all
// of those in use read specifications from folders of users.

#include <string>

#include "runner/container/container.hpp"

namespace cleave {

inline constexpr std::string_view cdi_version = "0.6.0", cdi_kind = "cleave.gpu/instance";

/// `name` is that of the device: letters, digits, dots and dashes.
[[nodiscard]] std::string cdi_text(const ContainerEdits& edits, const std::string& name);

}  // namespace cleave
