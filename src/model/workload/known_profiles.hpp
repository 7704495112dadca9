#pragma once
// Names of profiles in workloads, which are read before it is known on which GPUs they run.

#include <optional>
#include <string>
#include <string_view>

namespace cleave {

/// Whether a known GPU has the profile PROFILE or MODEL:PROFILE.
[[nodiscard]] bool some_gpu_has(std::string_view profile);

/// A column of a table of speeds as it is stored: PROFILE or MODEL:PROFILE with the model's key,
/// where the profile `none` means MIG off. Empty if no known GPU has it.
[[nodiscard]] std::optional<std::string> known_column(const std::string& column);

}  // namespace cleave
