#pragma once
// The interface of the simulated GPUs to the rest of Cleave: create a simulated node, look at it,
// set faults, and tell it which processes use which instance. Everything else goes through NVML, in
// this room's libnvidia-ml.so.1, exactly as on a real machine.
//
// A node is a directory with its state in one file that all programs map. Every function may be
// called from any process at any time.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

/// The environment variable with the directory of the node that a program sees.
inline constexpr const char* sim_node_variable = "CLEAVE_SIM_NODE";
/// The one with the UUIDs of all that it can reach, with commas between them; without it
/// everything.
inline constexpr const char* sim_devices_variable = "CLEAVE_SIM_DEVICES";
inline constexpr int most_sim_gpus = 64;

/// How GPU instances are numbered: by their place in a tree of halves of the GPU, which A100
/// drivers number from the upper half and H100 drivers from the lower half.
enum class InstanceNumbering : std::uint8_t { by_model, upper_first, lower_first };

/// Who may do what drivers allow root alone.
enum class Administrator : std::uint32_t {
  everybody,
  root,    // as on hardware
  nobody,  // root is answered as other users are
};

/// What a new node has.
struct SimNodeSpec {
  std::vector<const GpuModel*> gpus;
  bool instant = false;  // creating and destroying take no time
  InstanceNumbering numbering = InstanceNumbering::by_model;
  bool mig_enabled = true;
  Administrator administrator = Administrator::everybody;
  std::uint64_t seed = 1;  // of the UUIDs
};

/// A seed that no other node has: as with real GPUs, no two nodes have a UUID in common, not even
/// one that is made again in the same place.
std::uint64_t new_sim_seed();

/// The simulated library that belongs to this program; it may be missing.
std::filesystem::path simulated_library();
/// Whether the file is a simulated library, this program's or another's.
bool is_simulated_library(const std::filesystem::path& file);
/// The node that the environment names.
std::optional<std::filesystem::path> sim_node_of_environment();

/// "4xA100-40GB,2xH100-80GB-SXM5"
[[nodiscard]] Result<std::vector<const GpuModel*>> parse_sim_gpus(std::string_view text);

/// Creates a node in a new or empty directory; fails if there is a node already.
[[nodiscard]] Result<void> create_sim_node(const std::filesystem::path& directory,
                                           const SimNodeSpec& spec);
/// Removes the node, and the directory if nothing else is in it. Programs that use the node see
/// lost GPUs.
[[nodiscard]] Result<void> destroy_sim_node(const std::filesystem::path& directory);

/// A process on a simulated GPU.
struct SimProcessView {
  std::uint32_t pid;
  MiB memory;
  double busy;  // share of the time in which it keeps its instance busy, 0 to 1
};
/// A compute instance of a simulated GPU.
struct SimComputeInstanceView {
  std::uint32_t id;
  std::string uuid;
  int start, slices;
  std::vector<SimProcessView> processes;
};
/// A GPU instance of a simulated GPU.
struct SimGpuInstanceView {
  std::uint32_t id;
  const Profile* profile;
  int start;
  std::vector<SimComputeInstanceView> compute_instances;
};
/// A simulated GPU.
struct SimGpuView {
  std::string uuid;
  const GpuModel* model;
  bool mig_enabled, mig_pending;  // pending: the mode after a reset, usually the same
  bool lost;
  std::vector<std::string> faults;            // as set_sim_fault takes them
  std::vector<SimGpuInstanceView> instances;  // by start
  std::vector<SimProcessView> processes;      // on the whole GPU, with MIG off
  double power_w, energy_j;
};
/// A simulated node.
struct SimNodeView {
  bool instant;
  Administrator administrator;
  std::vector<SimGpuView> gpus;
};
[[nodiscard]] Result<SimNodeView> look_at_sim_node(const std::filesystem::path& directory);
/// The rule that the node's state breaks (a slice used twice, an instance on a GPU with MIG off, a
/// process without a place, more memory than an instance has); empty if it breaks none.
[[nodiscard]] Result<std::string> sim_node_flaw(const std::filesystem::path& directory);

/// Changes who counts as root, for all calls from now on.
[[nodiscard]] Result<void> set_sim_administrator(const std::filesystem::path& directory,
                                                 Administrator administrator);

/// A kind of fault and what it does.
struct SimFaultRow {
  std::string_view name;  // "lost", "slow-create", ..., "none"
  std::string_view what;
};
std::vector<SimFaultRow> sim_faults();
/// Sets a fault from now on; with `times`, for that many calls, if it is a fault of calls. "none"
/// ends all faults. A sign of the GPU's health, "xid-94", "recovery-action-1" or "memory-errors",
/// is given once; Xids and memory errors may be of a GPU instance, by NVML's number.
[[nodiscard]] Result<void> set_sim_fault(const std::filesystem::path& directory, int gpu,
                                         std::string_view kind,
                                         std::optional<std::uint32_t> times = {},
                                         std::optional<std::uint32_t> instance = {});

/// A process on a simulated GPU as the driver sees it, from `start` until `end` or the process's
/// death. It stays registered after this object is destroyed, and after exec.
class SimProcess {
 public:
  /// `visible` is the value of CUDA_VISIBLE_DEVICES: a MIG UUID, a GPU's UUID, or a GPU's index
  /// (which with MIG on means its first compute instance, as with CUDA). Fails if there is no such
  /// device, and with `infeasible` if the GPU is lost.
  [[nodiscard]] static Result<SimProcess> start(const std::filesystem::path& directory,
                                                std::string_view visible, std::uint32_t pid);
  ~SimProcess();
  SimProcess(SimProcess&&) noexcept;
  SimProcess& operator=(SimProcess&&) noexcept;

  [[nodiscard]] const GpuModel& model() const;
  /// The profile of the GPU instance; null on a whole GPU.
  [[nodiscard]] const Profile* profile() const;
  /// The memory that all processes there can use together; empty if unknown.
  [[nodiscard]] std::optional<MiB> capacity() const;

  /// Sets the memory that the process holds from now on. False if the other processes leave less
  /// than that; then nothing changes.
  [[nodiscard]] Result<bool> hold(MiB memory);
  /// Sets the share of the time in which it keeps its instance busy from now on.
  [[nodiscard]] Result<void> keep_busy(double share);
  [[nodiscard]] Result<void> end();

 private:
  struct Inside;
  explicit SimProcess(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace cleave
