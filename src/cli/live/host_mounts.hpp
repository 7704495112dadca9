#pragma once
// A mount namespace of this program's own, in which folders of the host are covered by writable
// copies of themselves. It and all that was made in it end with the last program in it.

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cleave::cli {

/// Moves this program there; users other than root also get a user namespace, in which they are
/// themselves. Fails with `infeasible` and a remedy where this system refuses.
[[nodiscard]] Result<void> enter_own_mounts();

/// Covers those of the folders that are there, named without a slash in front, or else the nearest
/// above that is and may be covered; the names of what was covered. What is in them stays visible,
/// but for names that begin with `hidden`, and PCI devices of NVIDIA's.
[[nodiscard]] Result<std::vector<std::string>> cover(const std::vector<std::string>& folders,
                                                     std::string_view hidden);

/// Shows `file` in the place of another.
[[nodiscard]] Result<void> show_instead(const std::filesystem::path& file,
                                        const std::filesystem::path& place);

}  // namespace cleave::cli
