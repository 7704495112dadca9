#pragma once
// Which device nodes of NVIDIA's driver an attempt may open. The driver describes them under /proc
// (NVIDIA Multi-Instance GPU User Guide, "Device Nodes and Capabilities"): a GPU has /dev/nvidiaN,
// each GPU instance and each compute instance a node of its own under /dev/nvidia-caps. CUDA needs
// all three of its instance, and those nodes of other instances are what a fence withholds.

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// A character device.
struct DeviceNumber {
  std::uint32_t major = 0, minor = 0;
  friend auto operator<=>(const DeviceNumber&, const DeviceNumber&) = default;
};

/// Of the fenced majors, an attempt may open the admitted devices only; of all others, every one.
struct DeviceRules {
  std::vector<std::uint32_t> fenced;   // majors, ascending
  std::vector<DeviceNumber> admitted;  // of these majors, ascending
  friend bool operator==(const DeviceRules&, const DeviceRules&) = default;
  /// What every fence must agree with.
  [[nodiscard]] bool admits(const DeviceNumber& device) const;
};

/// A device that a job was given, by the driver's numbers.
struct JobDevice {
  struct Instance {
    std::uint32_t gpu_instance = 0, compute_instance = 0;
    friend bool operator==(const Instance&, const Instance&) = default;
  };
  std::uint32_t gpu = 0;             // N of /dev/nvidiaN
  std::optional<Instance> instance;  // none: the GPU, with MIG off
  friend bool operator==(const JobDevice&, const JobDevice&) = default;
};

/// A node of the driver's: its file on this machine, and where programs expect it.
struct DriverNode {
  std::string file, usual;
  friend bool operator==(const DriverNode&, const DriverNode&) = default;
};

/// The driver's nodes, as it describes them.
class DriverNodes {
 public:
  /// `root` is the folder in which proc/ lies; none where no such driver is loaded.
  [[nodiscard]] static std::optional<DriverNodes> read(const std::filesystem::path& root);
  /// What a job on these devices may open. Fails where there is none, or where the driver does not
  /// describe one of them.
  [[nodiscard]] Result<DeviceRules> rules_for(std::span<const JobDevice> devices) const;
  /// The nodes that a job on these devices needs: those that it may open, and of the driver's for
  /// unified memory those that are there. Fails as rules_for().
  [[nodiscard]] Result<std::vector<DriverNode>> nodes_for(std::span<const JobDevice> devices) const;

 private:
  std::filesystem::path root_;
  std::uint32_t gpus_ = 0;                     // their major, and that of the control node
  std::optional<std::uint32_t> capabilities_;  // major of the nodes of instances
};

/// The majors of all character devices, ascending, by the text of /proc/devices.
[[nodiscard]] std::vector<std::uint32_t> majors_of_character_devices(std::string_view text);

}  // namespace cleave
