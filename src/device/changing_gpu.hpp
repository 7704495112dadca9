#pragma once
// A GPU while this program changes it: its lock is held, the ledger is written before and after
// each act, and nothing but what Cleave made is touched. Every change that Cleave makes to
// instances goes through here.
//
// One object per GPU and program; one thread.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/gpu_lock.hpp"
#include "device/gpu_view.hpp"

namespace cleave {

class ChangingGpu {
 public:
  /// Takes the lock (gpu_lock.hpp says what that waits for), reads the ledger and the GPU, and
  /// writes down what became of intents that a crash left open. The state directory is made where
  /// it is not there. `door` must live on. The geometry is read from the driver unless it is known
  /// already.
  [[nodiscard]] static Result<ChangingGpu> begin(
      Door& door, GpuIndex gpu, const std::filesystem::path& state_directory,
      const std::string& program,
      std::chrono::milliseconds lock_patience = std::chrono::seconds(10),
      std::shared_ptr<const DriverGeometry> known = {});

  /// As of the last look, owners included; every change looks again.
  [[nodiscard]] const LiveGpu& view() const { return view_; }
  [[nodiscard]] Result<void> look();
  /// Writes down what became of open intents, as far as the last look tells, and shortens a long
  /// ledger. Those that this closed are told, as they were noted.
  [[nodiscard]] Result<std::vector<LedgerLine>> settle();
  /// What `begin` closed so.
  [[nodiscard]] const std::vector<LedgerLine>& settled_at_first() const { return settled_; }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

  /// With a compute instance of all its slices. Where the driver refuses nothing has changed,
  /// unless the error says so. `patience` is for taking back what was half made.
  [[nodiscard]] Result<LiveInstance> create(const Profile& profile, int start,
                                            const Patience& patience = {});

  /// One that Cleave did not make is refused unless `adopt`. That holds for this one attempt: where
  /// the instance stays as it was, it is no more Cleave's than before.
  [[nodiscard]] Result<void> destroy(GpuInstanceId instance, bool adopt,
                                     const Patience& patience = {});
  /// One that Cleave did not make, with a compute instance, is Cleave's from now on.
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
