// Listings of nvidia-smi.

#include "fuzz.hpp"
#include "model/smi_node.hpp"

namespace cleave::fuzz::nvidia_smi_target {
namespace {

/// Of one GPU model.
const Geometry& geometry() {
  static const Geometry one(**find_gpu_model("A100-40GB"),
                            ProfileChoice().on(**find_gpu_model("A100-40GB")));
  return one;
}

std::optional<Error> read_input(const std::string& text) {
  const auto listing = parse_smi(text, "smi.txt");
  const auto gpus = listing ? smi_gpus(*listing, geometry(), {}) : std::unexpected(listing.error());
  if (!gpus) {
    require(gpus.error().place.starts_with("smi.txt: line "), "an error names its line");
    return gpus.error();
  }
  // Never an instance that the text does not have, nor two on one slice.
  for (const SmiGpu& gpu : *gpus) {
    PlacementSet state;
    for (const SmiGpuInstance& instance : gpu.instances) state.insert(instance.placement);
    require(state.size() == static_cast<int>(gpu.instances.size()), "each has its place");
    require(geometry().legal(state), "the state is legal");
  }
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::nvidia_smi_target

CLEAVE_FUZZ_TARGET(nvidia_smi, judged)
