#pragma once
// `mig ...`: lists profiles, placements and instances, and creates and destroys instances.

#include <optional>
#include <string>
#include <vector>

#include "device/door.hpp"
#include "smi/nvml.hpp"

namespace cleave::smi {

/// What is to be done with MIG.
enum class MigAction {
  list_gpu_profiles,
  list_placements,
  list_compute_profiles,
  list_gpu_instances,
  list_compute_instances,
  create_gpu_instances,
  create_compute_instances,
  destroy_gpu_instances,
  destroy_compute_instances,
};

/// One command of `mig`.
struct MigRequest {
  MigAction action = MigAction::list_gpu_instances;
  std::vector<std::string> profiles;  // numbers or names, "9", "3g.20gb:4"; none: the default
  std::vector<std::uint32_t> gpu_instances, compute_instances;  // none: all
  bool with_compute = false;  // a compute instance in each new GPU instance
};

/// What is printed, and the exit code: the number of NVML's answer where a call was refused.
struct Outcome {
  int code = 0;
  std::string text;
};

/// Carries it out on these GPUs, in order; stops where a call is refused.
[[nodiscard]] Outcome carry_out(Door& door, const nvml::EveryFunction& functions,
                                const MigRequest& request, const std::vector<std::uint32_t>& gpus);

/// Switches MIG on or off.
[[nodiscard]] Outcome set_mig(Door& door, bool enabled, const std::vector<std::uint32_t>& gpus);

/// "In use by another client"
std::string words_of(nvml::Return code);

}  // namespace cleave::smi
