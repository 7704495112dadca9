#pragma once
// What NVIDIA's driver writes below /proc about its device nodes, as far as fences read it, for
// tests on machines without it; and character devices that stand in for its nodes.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/format.hpp"
#include "runner/device_rules.hpp"

namespace cleave::driver_root {

inline constexpr std::uint32_t gpu_major = 195, capability_major = 507, control_minor = 255;
inline constexpr std::uint32_t gpu_instances = 15, compute_instances = 8;

/// The node of a GPU instance, or of a compute instance in it.
inline DeviceNumber capability(std::uint32_t gpu, std::uint32_t gpu_instance,
                               std::optional<std::uint32_t> compute_instance = {}) {
  const std::uint32_t of_instance = gpu * gpu_instances + gpu_instance;
  return {capability_major, 3 + of_instance * (1 + compute_instances) +
                                (compute_instance ? 1 + *compute_instance : 0)};
}

inline void write_access(const std::filesystem::path& folder, const DeviceNumber& node) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "access")
      << fmt::format("DeviceFileMinor: {}\nDeviceFileMode: 292\nDeviceFileModify: 1\n", node.minor);
}

/// All instances that GPUs can have are there at once, so that none has to be made as they are.
inline void make(const std::filesystem::path& root, std::uint32_t gpus) {
  std::filesystem::create_directories(root / "proc");
  std::ofstream(root / "proc/devices") << fmt::format(
      "Character devices:\n  1 mem\n{} nvidia\n{} nvidiactl\n{} nvidia-caps\n\n"
      "Block devices:\n{} sd\n",
      gpu_major, gpu_major, capability_major, gpu_major + 1);
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
    for (std::uint32_t each = 0; each < gpu_instances; ++each) {
      const auto folder =
          root / fmt::format("proc/driver/nvidia/capabilities/gpu{}/mig/gi{}", gpu, each);
      write_access(folder, capability(gpu, each));
      for (std::uint32_t compute = 0; compute < compute_instances; ++compute)
        write_access(folder / fmt::format("ci{}", compute), capability(gpu, each, compute));
    }
}

/// "195:255", the name of such a node in `folder`.
inline std::string name(const DeviceNumber& node) {
  return fmt::format("{}:{}", node.major, node.minor);
}
/// Makes it, for everybody; whether nodes work in that folder at all.
inline bool make_node(const std::filesystem::path& folder, const DeviceNumber& node) {
  const std::string path = folder / name(node);
  if (::mknod(path.c_str(), S_IFCHR | 0666, makedev(node.major, node.minor)) != 0 ||
      ::chmod(path.c_str(), 0666) != 0)
    return false;
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened >= 0) ::close(opened);
  return opened >= 0 || errno == ENXIO;  // there is no such driver
}
/// A shell's words that say for each of these nodes whether a fence withholds it: "195:255 open",
/// "195:0 refused", a line each.
inline std::string tries(const std::filesystem::path& folder) {
  return fmt::format(
      "cd '{}'; for each in *; do case \"$( (: < $each) 2>&1)\" in *permitted*) echo $each refused "
      ";; *) echo $each open ;; esac; done; cd /; ",
      folder.string());
}

}  // namespace cleave::driver_root
