#pragma once
// Files of the kernel's own file systems (proc, cgroup), which take what one call writes and whose
// length is not known before they have been read.

#include <string>
#include <string_view>

namespace cleave {

/// Empty where it cannot be read.
[[nodiscard]] std::string read_system_file(const std::string& path);
/// False where it is not taken as a whole; errno says why.
[[nodiscard]] bool write_system_file(const std::string& path, std::string_view text);

}  // namespace cleave
