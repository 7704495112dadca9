// Reads the GPUs of a new simulated node from text.

#include "base/format.hpp"
#include "model/fleet_file.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave {

Result<std::vector<const GpuModel*>> parse_sim_gpus(std::string_view text) {
  const auto fleet = parse_fleet_in_short(text, {});
  if (!fleet) return std::unexpected(fleet.error());
  if (fleet->gpus.size() > static_cast<std::size_t>(most_sim_gpus))
    return fail(ErrorKind::bad_input, "--gpus",
                fmt::format("{} GPUs are more than a simulated node has", fleet->gpus.size()),
                fmt::format("a node has at most {}", most_sim_gpus));
  std::vector<const GpuModel*> models;
  for (const auto& gpu : fleet->gpus) models.push_back(&fleet->geometries[gpu.geometry].model());
  return models;
}

}  // namespace cleave
