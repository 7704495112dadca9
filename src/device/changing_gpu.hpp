#pragma once
// A GPU while this program changes it: the program holds its lock, writes the ledger before and
// after each operation, and touches only what Cleave made. Every change that Cleave makes to
// instances goes through here.
//
// Use one object per GPU and program, from one thread.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/gpu_lock.hpp"
#include "device/gpu_view.hpp"

namespace cleave {

/// A locked GPU, its ledger, and the last view of it.
class ChangingGpu {
 public:
  /// Takes the lock (gpu_lock.hpp says when that waits), reads the ledger and the GPU, and records
  /// the outcome of intents that a crash left open. Makes the state directory if it is missing.
  /// `door` must outlive the object. The geometry is read from the driver unless `known`.
  [[nodiscard]] static Result<ChangingGpu> begin(
      Door& door, GpuIndex gpu, const std::filesystem::path& state_directory,
      const std::string& program,
      std::chrono::milliseconds lock_patience = std::chrono::seconds(10),
      std::shared_ptr<const DriverGeometry> known = {});

  /// The GPU at the last look, with the owners of its instances; every change looks again.
  [[nodiscard]] const LiveGpu& view() const { return view_; }
  [[nodiscard]] Result<void> look();
  /// Records the outcome of open intents, as far as the last look shows it, and shortens a long
  /// ledger. Returns the intents that this closed.
  [[nodiscard]] Result<std::vector<LedgerLine>> settle();
  /// The intents that `begin` closed.
  [[nodiscard]] const std::vector<LedgerLine>& settled_at_first() const { return settled_; }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  /// As Ledger::take_rewritten.
  [[nodiscard]] bool take_rewritten() { return ledger_.take_rewritten(); }

  /// Creates a GPU instance and a compute instance of all its slices, or several equal ones, at
  /// most one for each slice. If the driver refuses, nothing has changed unless the error says so.
  /// `patience` applies to undoing what was half made.
  [[nodiscard]] Result<LiveInstance> create(const Profile& profile, int start,
                                            const Patience& patience = {},
                                            std::uint32_t compute_instances = 1);

  /// Refuses an instance that Cleave did not make unless `adopt`, which applies to this attempt
  /// only: if the instance stays, it does not become Cleave's.
  [[nodiscard]] Result<void> destroy(GpuInstanceId instance, bool adopt,
                                     const Patience& patience = {});
  /// Makes an instance with a compute instance Cleave's, though Cleave did not make it.
  [[nodiscard]] Result<void> adopt(GpuInstanceId instance);

 private:
  ChangingGpu(Door& door, GpuIndex gpu, GpuLock lock, Ledger ledger)
      : door_(&door), gpu_(gpu), lock_(std::move(lock)), ledger_(std::move(ledger)) {}
  [[nodiscard]] Result<DriverProfile> driver_profile(const Profile& profile);

  Door* door_;
  GpuIndex gpu_;
  GpuLock lock_;
  Ledger ledger_;
  LiveGpu view_;
  std::vector<LedgerLine> settled_;
};

}  // namespace cleave
