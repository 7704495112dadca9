#pragma once
// A simulated node as one program sees it: its state file, mapped, and the boards of its GPUs. All
// programs map the same bytes.
//
// A GPU's record is read and changed through GpuAccess, which holds the GPU's state lock and never
// waits for simulated time. Code that creates or destroys also holds the GPU's change lock around
// that.

#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "model/nvml_abi.hpp"
#include "nvmlsim/board.hpp"
#include "nvmlsim/command_time.hpp"
#include "nvmlsim/mig_indices.hpp"
#include "nvmlsim/state.hpp"

namespace cleave::sim {

inline constexpr const char* state_file_name = "state";
inline constexpr const char* description_file_name = "node.json";

/// The beginning of the names of files that a killed `write_state` leaves.
inline constexpr const char* unfinished_prefix = "state.new.";

/// Writes the state file of a new node, whole or not at all. Fails if there is one.
[[nodiscard]] Result<void> write_state(const std::filesystem::path& directory,
                                       const SimNodeSpec& spec);

/// An open node.
class Node {
 public:
  /// Fails if there is no node, or its state file is unusable or of another version.
  [[nodiscard]] static Result<std::unique_ptr<Node>> open(const std::filesystem::path& directory);
  /// A node without GPUs and without a file.
  static std::unique_ptr<Node> without_gpus();
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] std::uint32_t gpus() const { return static_cast<std::uint32_t>(boards_.size()); }
  [[nodiscard]] const Board& board(std::uint32_t gpu) const { return *boards_[gpu]; }
  [[nodiscard]] bool instant() const { return header_->instant != 0; }
  /// Whether this program may make the calls that need root: changes, remaining capacity, and
  /// lists.
  [[nodiscard]] bool privileged() const;
  [[nodiscard]] InstanceNumbering numbering() const;
  /// Whether the node was destroyed after this program opened it.
  [[nodiscard]] bool gone() const { return header_->alive.load(std::memory_order_relaxed) == 0; }

  // These need a node with GPUs.
  NodeHeader& header() { return *header_; }
  GpuCell& cell(std::uint32_t gpu) { return *cells_[gpu]; }
  /// The timing of this program's calls; for the holder of the GPU's `change` lock.
  CommandTime& command(std::uint32_t gpu) { return commands_[gpu]; }
  [[nodiscard]] const Presence& presence() const { return presence_; }
  /// The indices of the GPU's MIG devices, in step with its record; needs the GPU's state lock.
  const MigIndices& mig_indices(std::uint32_t gpu, const GpuRecord& record);
  std::uint64_t next_serial() {
    return header_->serials.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  /// An event, of the whole GPU or of an instance by NVML's numbers.
  struct NewEvent {
    std::uint64_t type = 0, data = 0;
    std::uint32_t gpu_instance = nvml::no_instance, compute_instance = nvml::no_instance;
  };
  /// Appends an event and wakes all programs that wait for one.
  void report_event(std::uint32_t gpu, const NewEvent& event);

  /// Records that this program holds the MIG device handle of the compute instance in this slot,
  /// until the Node is destroyed. These three need the GPU's state lock.
  void hold(std::uint32_t gpu, std::size_t slot);
  /// Whether a program in another live process holds it.
  bool held_by_others(std::uint32_t gpu, std::size_t slot);
  void forget_holders(std::uint32_t gpu, std::size_t slot);

 private:
  explicit Node(int file) : presence_(file) {}
  /// This program's index in the table of clients, taken on first use; most_clients if the table is
  /// full of live clients.
  std::uint32_t client();
  [[nodiscard]] bool is_mine(std::uint32_t client) const;
  [[nodiscard]] Result<void> adopt(const std::filesystem::path& file, void* bytes,
                                   std::size_t size);

  Presence presence_;
  std::atomic<std::uint32_t> client_{most_clients};
  void* mapping_ = nullptr;
  std::size_t size_ = 0;
  NodeHeader* header_ = nullptr;
  std::unique_ptr<NodeHeader> own_header_;  // of a node without file
  std::vector<GpuCell*> cells_;
  std::vector<const Board*> boards_;
  std::vector<CommandTime> commands_;
  std::vector<MigIndices> mig_indices_;
};

/// Access to a GPU's record, to read or change it once.
class GpuAccess {
 public:
  GpuAccess(Node& node, std::uint32_t gpu);
  ~GpuAccess() { cell_->state.unlock(); }
  GpuAccess(const GpuAccess&) = delete;
  GpuAccess& operator=(const GpuAccess&) = delete;

  /// success; unknown if the record is damaged; gpu_is_lost if the GPU or the node is lost.
  [[nodiscard]] nvml::Return status() const { return status_; }
  [[nodiscard]] const GpuRecord& record() const { return cell_->records[active_]; }
  [[nodiscard]] const Board& board() const { return *board_; }
  [[nodiscard]] GpuCell& cell() const { return *cell_; }

  /// A copy of the record for changes, with the energy counted until now.
  GpuRecord& draft();
  /// Makes the draft the record, atomically.
  void commit();

 private:
  GpuCell* cell_;
  const Board* board_;
  std::uint32_t active_;
  nvml::Return status_;
};

/// Removes dead processes from a GPU's record, at most once a millisecond unless urgent. Which ones
/// are dead is determined without the GPU's state lock, which the caller must not hold.
void reap(Node& node, std::uint32_t gpu, bool urgent);

}  // namespace cleave::sim
