#include "runner/container/container_gifts.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "nvmlsim/sim_node.hpp"
#include "runner/system_file.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

/// By the beginnings of their names: compute, NVML and video; nothing for screens.
constexpr std::array<std::string_view, 14> libraries = {
    "libcuda.so",
    "libcudadebugger.so",
    "libnvidia-allocator.so",
    "libnvidia-cfg.so",
    "libnvidia-compiler.so",
    "libnvidia-encode.so",
    "libnvidia-gpucomp.so",
    "libnvidia-ml.so",
    "libnvidia-nvvm",
    "libnvidia-opencl.so",
    "libnvidia-opticalflow.so",
    "libnvidia-pkcs11",
    "libnvidia-ptxjitcompiler.so",
    "libnvcuvid.so",
};
constexpr std::string_view smi = "usr/bin/nvidia-smi";

bool begins_with_one_of(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](std::string_view each) { return name.starts_with(each); });
}

/// The file itself, wherever links lead; nothing where it is not there or cannot be mounted.
void add(std::vector<BindMount>& mounts, const fs::path& file, const std::string& to) {
  std::error_code failed;
  const fs::path real = fs::canonical(file, failed);
  if (failed || !is_mountable(real.string()) || !is_mountable(to)) return;
  const auto same = [&](const BindMount& each) { return each.to == to; };
  if (std::ranges::none_of(mounts, same)) mounts.push_back({real.string(), to, true});
}

void add_libraries(std::vector<BindMount>& mounts, std::span<const CachedLibrary> cached,
                   std::span<const std::string_view> beginnings, const fs::path& root) {
  for (const CachedLibrary& each : cached)
    if (begins_with_one_of(each.name, beginnings) && each.path.starts_with('/'))
      add(mounts, root / each.path.substr(1),
          fmt::format("{}/{}", libraries_in_container, each.name));
}

}  // namespace

std::vector<BindMount> driver_libraries(std::span<const CachedLibrary> cached,
                                        const fs::path& root) {
  std::vector<BindMount> mounts;
  add_libraries(mounts, cached, libraries, root);
  add(mounts, root / smi, fmt::format("/{}", smi));
  return mounts;
}

std::vector<BindMount> simulated_driver(std::span<const CachedLibrary> cached, const fs::path& node,
                                        const fs::path& library) {
  std::vector<BindMount> mounts;
  const std::string folder = fs::absolute(node).lexically_normal().string();
  if (is_mountable(folder)) mounts.push_back({folder, folder, false});
  add(mounts, library, fmt::format("{}/libnvidia-ml.so.1", libraries_in_container));
  constexpr std::array<std::string_view, 1> needed = {"libfmt.so"};
  add_libraries(mounts, cached, needed, "/");
  return mounts;
}

ContainerGifts container_gifts(const fs::path& root, const std::optional<fs::path>& sim_node,
                               const fs::path& library) {
  const fs::path of_libraries = sim_node ? fs::path("/") : root;
  const auto cached =
      libraries_in_cache(read_system_file((of_libraries / "etc/ld.so.cache").string()));
  if (sim_node) return {std::nullopt, simulated_driver(cached, *sim_node, library), true};
  return {DriverNodes::read(root), driver_libraries(cached, root)};
}

Result<ContainerEdits> edits_for(const ContainerGifts& gifts, std::span<const JobDevice> devices,
                                 const std::string& visible) {
  ContainerEdits edits;
  edits.environment.push_back(fmt::format("CUDA_VISIBLE_DEVICES={}", visible));
  if (!gifts.mounts.empty())
    edits.environment.push_back(fmt::format("LD_LIBRARY_PATH={}", libraries_in_container));
  if (gifts.simulated)
    edits.environment.push_back(fmt::format("{}={}", sim_devices_variable, visible));
  edits.mounts = gifts.mounts;
  if (!gifts.driver) return edits;
  auto nodes = gifts.driver->nodes_for(devices);
  if (!nodes) return std::unexpected(nodes.error());
  for (const DriverNode& each : *nodes) edits.nodes.push_back({each.file, each.usual});
  return edits;
}

}  // namespace cleave
