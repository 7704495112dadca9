#pragma once
// Shared by the commands on live GPUs: which library is opened, where the state is, and how GPUs
// and instances are named and shown.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "device/changing_gpu.hpp"
#include "device/live_instances.hpp"
#include "device/nvml_door.hpp"

namespace cleave::cli {

/// The name under which this program holds locks and writes to the ledger.
inline constexpr const char* program_name = "cleave";

/// The options that every command on live GPUs has.
struct LiveOptions {
  std::string nvml, state;  // --nvml, --state; empty: not given
  bool json = false;
};
/// `--nvml`, `--state` and `--json`, described the same way everywhere.
void add_live(CommandLine& command, LiveOptions& options);
/// `--gpu N`, required.
Option* add_gpu_choice(CommandLine& command, std::string& gpu);

/// How long a change waits for what is in use: as usual, and no longer than until Ctrl-C where
/// Interrupts are noted.
[[nodiscard]] Patience until_interrupted();

/// Which library the commands open, and whether it is the simulated one.
struct LibraryChoice {
  std::string file;
  std::optional<std::filesystem::path> sim_node;  // the node it shows; empty for a real library
};
[[nodiscard]] Result<LibraryChoice> choose_library(const LiveOptions& options);

/// The GPUs of this machine, or of the simulated node.
struct LiveNode {
  LibraryChoice library;
  std::unique_ptr<Door> door;
  std::filesystem::path state;  // need not be there
};
[[nodiscard]] Result<LiveNode> open_node(const LiveOptions& options);
/// Where the state is, without opening anything.
[[nodiscard]] Result<std::filesystem::path> state_of(const LiveOptions& options,
                                                     const LibraryChoice& library);

/// A GPU by index or UUID; the error says which there are.
[[nodiscard]] Result<GpuIndex> find_gpu(Door& door, const std::string& gpu);
[[nodiscard]] Result<std::vector<GpuIndex>> all_gpus(Door& door);

/// The profile of this name on the GPU; the error names those there are, or says that MIG is off.
[[nodiscard]] Result<const Profile*> find_profile(const LiveGpu& gpu, std::string_view name);
/// The geometry of a GPU with MIG on; otherwise an error that says what is missing.
[[nodiscard]] Result<const Geometry*> geometry_of(const LiveGpu& gpu);

/// "[AAAA#...]": capital letters run something, small letters are idle, # is not Cleave's or has an
/// unknown owner; "?" where it is not visible.
std::string picture(const LiveGpu& gpu);
/// Null where it is not known.
Json owner_json(Ownership owner);
/// One instance in a listing: as its GPU shows it, or a MIG device that is only visible, of which
/// some things are unknown. Just one of the two is there.
struct InstanceRow {
  const LiveGpu* gpu = nullptr;
  const InstanceView* instance = nullptr;
  const MigDevice* device = nullptr;

  [[nodiscard]] const std::optional<MemoryUse>& memory() const {
    return instance != nullptr ? instance->memory : device->memory;
  }
  [[nodiscard]] const std::vector<LiveProcess>& processes() const {
    return instance != nullptr ? instance->processes : device->processes;
  }
};
[[nodiscard]] const Columns<InstanceRow>& instance_columns();
/// "512 of 4864 MiB"
[[nodiscard]] std::string memory_text(const std::optional<MemoryUse>& memory);
Json to_json(const std::vector<LiveProcess>& processes);
Json mebibytes(std::optional<std::uint64_t> bytes);

}  // namespace cleave::cli
