#pragma once
// The work behind GpuExecutor, without threads and queues: one managed GPU, one operation after the
// other, each done when the call returns. Changes go through ChangingGpu: under the GPU's lock,
// which is taken with the first look and held as long as the worker lives or the GPU is there, and
// with a line in the ledger before and after each.
//
// The GPU is known by its UUID, which is asked for before every operation: after the driver was
// loaded again another GPU may have its index. One that is lost loses lock and view with it; the
// first look at which it is back starts over.
//
// One thread at a time.

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/gpu_executor.hpp"
#include "device/changing_gpu.hpp"

namespace cleave {

/// 2 seconds: programs that only look are done by then.
Patience short_patience();

struct GpuWorkerSettings {
  std::filesystem::path state_directory;
  std::string program = "cleaved";       // in the lock and the ledger
  bool may_switch_mig = false;           // else SwitchMig fails
  Patience patience = short_patience();  // with instances that are still in use
  std::chrono::milliseconds lock_patience{
      0};  // with a command that holds the GPU's lock; the next look tries again
};

class GpuWorker {
 public:
  /// Does nothing yet. `door` must live on.
  GpuWorker(Door& door, GpuIdentity gpu, GpuWorkerSettings settings);

  /// Fails as gpu_executor.hpp says; the news has an observation unless the driver did not tell all
  /// of it.
  [[nodiscard]] GpuNews carry_out(const NumberedOperation& operation);

 private:
  struct Absence {
    Error error;
    bool lost = false;  // not only silent
  };
  [[nodiscard]] std::expected<GpuIndex, Absence> find() const;
  [[nodiscard]] std::expected<void, Absence> find_by_uuid();
  [[nodiscard]] Result<void> begin(GpuNews& news);
  [[nodiscard]] Result<void> look(GpuNews& news);
  void tidy(GpuNews& news);
  void count(const LookAtGpu& operation, GpuNews& news);
  void hear_events(GpuNews& news);
  void ask_health();
  void take_away(const InstanceView& instance, GpuNews& news);
  [[nodiscard]] Patience single_try() const;
  void remark_once(const InstanceView& instance, std::string text, GpuNews& news);

  [[nodiscard]] Result<void> carry_out(const LookAtGpu& operation, GpuNews& news);
  [[nodiscard]] Result<void> carry_out(const CreateOnGpu& operation, GpuNews& news);
  [[nodiscard]] Result<void> carry_out(const DestroyOnGpu& operation, GpuNews& news);
  [[nodiscard]] Result<void> carry_out(const SwitchMig& operation, GpuNews& news);
  [[nodiscard]] Result<void> may_switch_off() const;

  [[nodiscard]] std::optional<PlacementId> placement_of(const InstanceView& instance) const;
  [[nodiscard]] bool is_whole(const InstanceView& instance) const;
  [[nodiscard]] std::optional<GpuObservation> observation() const;
  [[nodiscard]] std::string place() const;

  Door* door_;
  GpuIdentity gpu_;
  GpuWorkerSettings settings_;
  GpuIndex index_{};                               // where it was last found
  std::optional<ChangingGpu> changing_;            // while the lock is held
  bool fresh_ = false;                             // the view is of this operation
  GpuHealth health_;                               // told in this operation
  std::map<GpuInstanceId, std::uint64_t> errors_;  // of instances, likewise
  std::set<std::string> remarked_;                 // what need not be said again
};

/// The GPUs of these names: indices, UUIDs, or "all"; by index, each once. Only looks. Fails where
/// one is not there, does not answer or cannot be partitioned, and says which there are; "all"
/// leaves such out with a line in `remarks`, and fails where none is left. Where MIG is off, the
/// geometry may be the tables'.
[[nodiscard]] Result<std::vector<GpuIdentity>> find_managed_gpus(
    Door& door, const std::vector<std::string>& wanted,
    std::vector<std::string>* remarks = nullptr);

}  // namespace cleave
