#pragma once
// Signs of a GPU's health that a simulated driver gives on demand: Xids, a recovery action, memory
// errors.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/health_facts.hpp"
#include "nvmlsim/node.hpp"

namespace cleave::sim {

/// A sign with the number that it is to have.
struct GivenSign {
  HealthSign sign{};
  std::uint32_t number = 0;
  bool corrected = false;  // of memory errors
};
/// "xid-94"; also Xids that are in no table. Nothing where it is none of these signs.
[[nodiscard]] std::optional<GivenSign> parse_sign(std::string_view text);
/// How people write them, for help texts.
[[nodiscard]] std::vector<SimFaultRow> sign_rows();

/// Of the whole GPU, or of the GPU instance with this number, which must be there. `place` names
/// the GPU in errors.
[[nodiscard]] Result<void> give_sign(Node& node, std::uint32_t gpu, const GivenSign& sign,
                                     std::optional<std::uint32_t> instance,
                                     const std::string& place);
/// As a reset does.
void end_signs(GpuCell& cell);

}  // namespace cleave::sim
