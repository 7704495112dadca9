#pragma once
// C++ names as the linker sees them, and as they are written in the source.

#include <string>

namespace cleave {

/// A mangled name in plain words; other names, and very long ones, as they are.
[[nodiscard]] std::string in_source(const std::string& mangled);

}  // namespace cleave
