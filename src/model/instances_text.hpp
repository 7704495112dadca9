#pragma once
// "4x1g.5gb": how many instances of which profile, as people write it in workloads, on the command
// line and in the API.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/request.hpp"

namespace cleave {

/// So many instances of one profile, PROFILE or MODEL:PROFILE.
struct StatedInstances {
  std::uint32_t places = 1;
  std::string profile;
  friend bool operator==(const StatedInstances&, const StatedInstances&) = default;
};

/// Whether some GPU has the profile is not asked.
[[nodiscard]] Result<StatedInstances> parse_instances(std::string_view text,
                                                      const std::string& place);

/// By its word among words_of_together.
[[nodiscard]] std::optional<Together> parse_together(std::string_view word);

}  // namespace cleave
