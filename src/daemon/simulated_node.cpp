#include "daemon/simulated_node.hpp"

#include <unistd.h>

#include <chrono>

#include "base/format.hpp"
#include "base/text.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

/// As with real GPUs, no two nodes share a UUID.
std::uint64_t fresh_seed() {
  const auto ticks = std::chrono::system_clock::now().time_since_epoch().count();
  return static_cast<std::uint64_t>(ticks) ^ (static_cast<std::uint64_t>(::getpid()) << 40U);
}

Result<void> check_same(const fs::path& node, const std::vector<const GpuModel*>& wanted,
                        bool instant) {
  const auto there = look_at_sim_node(node);
  if (!there) return std::unexpected(there.error());
  std::vector<const GpuModel*> has;
  for (const SimGpuView& gpu : there->gpus) has.push_back(gpu.model);
  if (has == wanted && there->instant == instant) return {};
  const auto names = names_of(has, &GpuModel::key);
  return fail(
      ErrorKind::infeasible, shown(node.string(), 200),
      fmt::format("the existing simulated node has other GPUs: {}{}", fmt::join(names, ", "),
                  there->instant ? ", instant" : ""),
      fmt::format("ask for these, name another --state, or remove it: cleave sim-node destroy {}",
                  shown(node.string(), 200)));
}

}  // namespace

Result<fs::path> own_sim_node(const fs::path& state, const std::string& gpus, bool instant) {
  auto models = parse_sim_gpus(gpus);
  if (!models) return std::unexpected(models.error());
  const fs::path node = state / "sim-node";
  std::error_code failed;
  if (fs::exists(node, failed) && !fs::is_empty(node, failed)) {
    if (const auto same = check_same(node, *models, instant); !same)
      return std::unexpected(same.error());
    return node;
  }
  SimNodeSpec spec;
  spec.gpus = std::move(*models);
  spec.instant = instant;
  spec.seed = fresh_seed();
  if (const auto made = create_sim_node(node, spec); !made) return std::unexpected(made.error());
  return node;
}

fs::path own_simulated_library() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  return program.parent_path().parent_path() / "lib" / "cleave-nvmlsim" / "libnvidia-ml.so.1";
}

}  // namespace cleave
