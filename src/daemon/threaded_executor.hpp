#pragma once
// GpuExecutor over real drivers: a thread and a door of its own for each GPU, so that a driver that
// takes its time, or hangs over one GPU, holds up no other. News make wake_fd() readable.
//
// A door is opened by its thread with the first operation, and again after its GPU was lost: NVML
// starts over only where all have closed it, as after the driver was loaded again.
//
// Operations that were not begun when the executor goes are dropped. One that is under way is
// waited for for a while, for what it does is written down then; a thread that hangs in the driver
// is left behind, with the GPU's lock, until the process ends.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/gpu_worker.hpp"

namespace cleave {

/// Called by several threads at once.
using OpenDoor = std::function<Result<std::unique_ptr<Door>>()>;

struct ThreadedExecutorSettings {
  GpuWorkerSettings worker;
  std::chrono::milliseconds farewell{
      5000};           // for operations that are under way when the executor goes, all together
  OpenDoor open_door;  // for the threads, in the place of the library's own; empty: those
};

class ThreadedExecutor final : public GpuExecutor {
 public:
  /// Finds the GPUs through an NVML library (find_managed_gpus) and begins; nothing is changed
  /// before the first operation.
  [[nodiscard]] static Result<std::unique_ptr<ThreadedExecutor>> open(
      const std::string& library, const std::vector<std::string>& wanted,
      ThreadedExecutorSettings settings, std::vector<std::string>* remarks = nullptr);
  /// Over these GPUs and any doors. Fails where the system gives no eventfd or no thread.
  [[nodiscard]] static Result<std::unique_ptr<ThreadedExecutor>> begin(
      std::vector<GpuIdentity> gpus, OpenDoor open_door, ThreadedExecutorSettings settings);
  ~ThreadedExecutor() override;
  ThreadedExecutor(const ThreadedExecutor&) = delete;
  ThreadedExecutor& operator=(const ThreadedExecutor&) = delete;

  [[nodiscard]] const std::vector<GpuIdentity>& gpus() const override { return gpus_; }
  void ask(NumberedOperation operation) override;
  [[nodiscard]] std::vector<GpuNews> poll() override;
  [[nodiscard]] int wake_fd() const override;

 private:
  struct Outbox;
  class Lane;
  ThreadedExecutor(std::vector<GpuIdentity> gpus, std::shared_ptr<Outbox> outbox,
                   std::chrono::milliseconds farewell);

  std::vector<GpuIdentity> gpus_;
  std::shared_ptr<Outbox> outbox_;
  std::vector<std::shared_ptr<Lane>> lanes_;  // by GpuId; threads hold them too
  std::chrono::milliseconds farewell_;
};

}  // namespace cleave
