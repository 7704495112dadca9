#pragma once
// A node as NVML describes it at one moment, as plain values: what the listings, tables, queries
// and logs print. Empty values were refused, as drivers do for much with MIG on.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/nvml_door.hpp"
#include "smi/nvml.hpp"

namespace cleave::smi {

/// Memory of a GPU or a MIG device, in bytes.
struct MemoryReading {
  std::uint64_t total = 0, reserved = 0, used = 0, free = 0;
};

/// A process on a GPU.
struct ProcessReading {
  std::uint32_t pid = 0;
  std::optional<std::uint64_t> used;  // bytes
  std::optional<std::uint32_t> gpu_instance, compute_instance;
  std::optional<std::string> name;
};

/// A MIG device.
struct MigReading {
  std::uint32_t index = 0, gpu_instance = 0, compute_instance = 0;
  std::string profile, uuid;  // "1c.3g.20gb", "MIG-..."
  std::optional<nvml::DeviceAttributes> attributes;
  std::optional<MemoryReading> memory, bar1;
  std::optional<std::uint64_t> uncorrected;  // errors in its caches and shared memories
};

/// A mode now, and after a reset.
struct ModeReading {
  bool current = false, pending = false;
};

/// Rows of memory that were remapped, and whether more are to be, or could not be.
struct RowsReading {
  std::uint32_t corrected = 0, uncorrected = 0;
  bool pending = false, failed = false;
};

/// Memory errors of one kind since the driver was loaded, and ever.
struct ErrorsReading {
  std::optional<std::uint64_t> since_load, ever;
};

/// A clock now, for applications, and at most; in MHz.
struct ClockReading {
  std::optional<std::uint32_t> now, applications, most;
};

/// Milliwatts.
struct PowerReading {
  std::optional<std::uint32_t> draw, limit, enforced, standard, least, most;
};

/// A GPU.
struct GpuReading {
  std::uint32_t index = 0;
  std::string uuid, name;
  std::optional<std::string> serial, vbios, board_part, gsp_firmware;
  std::optional<std::uint32_t> minor, brand, architecture, board_id, module_id;
  std::optional<std::pair<int, int>> capability;  // of CUDA
  std::optional<nvml::PciInfo> pci;
  std::optional<std::uint32_t> pcie_generation, pcie_generation_most, pcie_width, pcie_width_most;
  std::optional<std::uint32_t> pcie_sent, pcie_received;  // KB/s
  std::optional<bool> display_active, display_mode, persistence;
  std::optional<std::uint32_t> compute_mode, performance_state, replays;
  std::optional<ModeReading> mig, ecc;
  std::optional<MemoryReading> memory, bar1;
  std::optional<std::uint32_t> busy, memory_busy, encoder, decoder, jpeg, ofa;  // percent
  ErrorsReading corrected, uncorrected;
  std::optional<RowsReading> rows;
  std::optional<std::uint32_t> celsius, celsius_slow, celsius_shutdown;
  PowerReading power;
  std::optional<std::uint64_t> energy_millijoules;
  ClockReading graphics, sm, memory_clock, video;
  std::optional<std::uint64_t> clock_reasons;
  std::optional<std::uint32_t> addressing;
  std::vector<MigReading> migs;
  std::vector<ProcessReading> processes;
};

/// The node.
struct NodeReading {
  std::string driver_version, timestamp;  // "2026/11/26 09:05:24.123"
  std::optional<int> cuda_version;        // 13000
  std::vector<GpuReading> gpus;           // those that were asked for
  std::uint32_t attached = 0;             // GPUs, with those that were not
};

/// Reads these GPUs, by index.
[[nodiscard]] NodeReading read_node(Door& door, const nvml::EveryFunction& functions,
                                    const std::vector<std::uint32_t>& gpus);

/// "12.4"
std::string version_text(std::optional<int> cuda_version);

}  // namespace cleave::smi
