#pragma once
// The face of the simulated GPUs to the rest of Cleave: making a simulated node, looking at it,
// breaking it on purpose, and telling it which processes use which instance. Everything else goes
// through NVML, in libnvidia-ml.so.1 of this room, exactly as on a real machine.
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

/// The environment variable that names the node a program sees: its directory.
inline constexpr const char* sim_node_variable = "CLEAVE_SIM_NODE";
inline constexpr int most_sim_gpus = 64;

/// How GPU instances are numbered: by their place in a tree of halves of the GPU, which A100
/// drivers number from the upper half down and H100 drivers from the lower half up.
enum class InstanceNumbering : std::uint8_t { by_model, upper_first, lower_first };

struct SimNodeSpec {
  std::vector<const GpuModel*> gpus;
  bool instant = false;  // creating and destroying take no time
  InstanceNumbering numbering = InstanceNumbering::by_model;
  bool mig_enabled = true;
  bool check_root = false;  // whether others than root are refused what hardware refuses them
  std::uint64_t seed = 1;   // of the UUIDs
};

/// "4xA100-40GB,2xH100-80GB-SXM5"
[[nodiscard]] Result<std::vector<const GpuModel*>> parse_sim_gpus(std::string_view text);

/// Makes the directory, or uses it when it is empty. Refused where there is a node already.
[[nodiscard]] Result<void> create_sim_node(const std::filesystem::path& directory,
                                           const SimNodeSpec& spec);
/// Removes the node and, when nothing else is in it, the directory. Programs that use it see lost
/// GPUs.
[[nodiscard]] Result<void> destroy_sim_node(const std::filesystem::path& directory);

struct SimProcessView {
  std::uint32_t pid;
  MiB memory;
  double busy;  // share of time in which it keeps its instance busy, 0 to 1
};
struct SimComputeInstanceView {
  std::uint32_t id;
  std::string uuid;
  int start, slices;
  std::vector<SimProcessView> processes;
};
struct SimGpuInstanceView {
  std::uint32_t id;
  const Profile* profile;
  int start;
  std::vector<SimComputeInstanceView> compute_instances;
};
struct SimGpuView {
  std::string uuid;
  const GpuModel* model;
  bool mig_enabled, mig_pending,
      lost;                         // pending: the mode after a reset; mostly the same as enabled
  std::vector<std::string> faults;  // as set_sim_fault takes them
  std::vector<SimGpuInstanceView> instances;  // by start
  std::vector<SimProcessView> processes;      // on the whole GPU, with MIG off
  double power_w, energy_j;
};
struct SimNodeView {
  bool instant;
  bool check_root;
  std::vector<SimGpuView> gpus;
};
[[nodiscard]] Result<SimNodeView> look_at_sim_node(const std::filesystem::path& directory);
/// Why the node's state breaks a law (a slice used twice, an instance of a GPU with MIG off, a
/// process nowhere, memory beyond an instance's); empty: it breaks none.
[[nodiscard]] Result<std::string> sim_node_flaw(const std::filesystem::path& directory);

/// A kind of fault and what it does, a row each.
struct SimFaultRow {
  std::string_view
      name;  // "lost", "slow-create", "fail-create", "fail-compute", "stuck-in-use", "none"
  std::string_view what;
};
std::vector<SimFaultRow> sim_faults();
/// From now on; `times`: for so many calls only, where the fault is one of calls. "none" mends all.
[[nodiscard]] Result<void> set_sim_fault(const std::filesystem::path& directory, int gpu,
                                         std::string_view kind,
                                         std::optional<std::uint32_t> times = {});

/// A process on a simulated GPU, as the driver sees it: from `start` until `end` or its death. The
/// object may go before: what is registered stays, also over exec.
class SimProcess {
 public:
  /// `visible` is what CUDA_VISIBLE_DEVICES holds: a MIG UUID, a GPU's UUID, or a GPU's index (with
  /// MIG on, its first compute instance, as CUDA does). Fails where no such device is, or with
  /// `infeasible` where the GPU is lost.
  [[nodiscard]] static Result<SimProcess> start(const std::filesystem::path& directory,
                                                std::string_view visible, std::uint32_t pid);
  ~SimProcess();
  SimProcess(SimProcess&&) noexcept;
  SimProcess& operator=(SimProcess&&) noexcept;

  [[nodiscard]] const GpuModel& model() const;
  /// Of the GPU instance; empty on a whole GPU.
  [[nodiscard]] const Profile* profile() const;
  /// What processes can use there in all; empty where nobody knows.
  [[nodiscard]] std::optional<MiB> capacity() const;

  /// From now on it holds so much. False: there is not so much left beside the others', and nothing
  /// changes.
  [[nodiscard]] Result<bool> hold(MiB memory);
  /// From now on it keeps its instance busy for this share of the time.
  [[nodiscard]] Result<void> keep_busy(double share);
  [[nodiscard]] Result<void> end();

 private:
  struct Inside;
  explicit SimProcess(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace cleave
