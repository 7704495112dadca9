#pragma once
// GpuExecutor for simulations of the daemon's loop: no thread, a clock that the test sets, and
// delays, refusals and silence by a seed. Each operation is done by a real GpuWorker over a GPU in
// memory, at its moment, and told later.
//
// The machine outlives the executor, as hardware outlives a program: instances, processes, the
// ledger. A program dies where `Machine::at` throws; its executor is then good for nothing but to
// be destroyed.

#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/time.hpp"
#include "control/gpu_worker.hpp"
#include "device/faulty_door_test.hpp"
#include "device/memory_door_test.hpp"

namespace cleave::trial {

class Machine {
 public:
  explicit Machine(const std::vector<const GpuModel*>& models);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] std::size_t size() const { return gpus_.size(); }
  [[nodiscard]] MemoryDoor& door(std::size_t gpu) { return gpus_[gpu]->door; }
  /// As they were found when all were well.
  [[nodiscard]] const std::vector<GpuIdentity>& managed() const { return managed_; }
  /// In memory; with ledger and locks.
  [[nodiscard]] const std::filesystem::path& state_directory() const { return state_.path(); }

  /// Called at each point where a stop could matter, "gpu 0: before create_gpu_instance": before
  /// and after each change of a GPU and each operation. May throw.
  std::function<void(std::string_view point)> at;

  /// A GPU is gone with all that is on it; the processes that ran there.
  std::vector<std::uint32_t> lose(std::size_t gpu);
  /// It is there again, empty.
  void give_back(std::size_t gpu) { gpus_[gpu]->lost = false; }
  [[nodiscard]] bool lost(std::size_t gpu) const { return gpus_[gpu]->lost; }
  /// The driver answers nothing about this GPU as long as it hangs.
  void hang(std::size_t gpu, bool hangs) { gpus_[gpu]->hangs = hangs; }
  [[nodiscard]] bool hangs(std::size_t gpu) const { return gpus_[gpu]->hangs; }

  /// The programs that have it open, as the daemon is told; they keep nothing by themselves.
  [[nodiscard]] std::vector<DeviceHolder>& holders(std::size_t gpu) { return gpus_[gpu]->holders; }

  /// A process takes an instance by its MIG UUID, or a GPU with MIG off by its own. False: there is
  /// none.
  bool start_process(const std::string& device, std::uint32_t pid);
  void end_process(std::uint32_t pid);
  /// The pids there; none where there is no such device.
  [[nodiscard]] std::vector<std::uint32_t> processes_on(const std::string& device) const;
  [[nodiscard]] bool exists(const std::string& device) const;
  /// Somebody else makes an instance, where there is room; its MIG UUID.
  std::optional<std::string> make_foreign(std::size_t gpu, std::string_view profile);
  /// And takes it away again.
  void destroy_foreign(const std::string& device);

 private:
  struct Gpu {
    explicit Gpu(const GpuModel& model) : door(model) {}
    MemoryDoor door;
    bool lost = false, hangs = false;
    std::vector<DeviceHolder> holders;
  };
  struct Where {
    std::size_t gpu;
    std::optional<GpuInstanceId> instance;
    std::optional<ComputeInstanceId> compute;
  };
  [[nodiscard]] std::optional<Where> find(const std::string& device) const;
  void reach(std::size_t gpu, std::string_view when, std::string_view what) const;
  friend class DelayedExecutor;

  TemporaryFolder state_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<GpuIdentity> managed_;
};

struct ExecutorDelays {
  std::uint64_t seed = 1;
  Duration until_done = std::chrono::milliseconds(300);  // at most, from when its turn came
  Duration until_told = std::chrono::milliseconds(50);   // at most, from then
  double never =
      0;  // chance that an operation, done or not, is never told of, and no other of its GPU begun
  DoorFaults faults;  // of each GPU's driver, by seeds of their own
  bool may_switch_mig = true;
};

class DelayedExecutor final : public GpuExecutor {
 public:
  /// As of `now`. `machine` must live on.
  DelayedExecutor(Machine& machine, ExecutorDelays delays, Duration now = {});

  [[nodiscard]] const std::vector<GpuIdentity>& gpus() const override {
    return machine_->managed();
  }
  void ask(NumberedOperation operation) override;
  [[nodiscard]] std::vector<GpuNews> poll() override;
  [[nodiscard]] int wake_fd() const override { return -1; }

  /// Does what happens until then, in order of time. Throws what Machine::at throws.
  void advance_to(Duration now);
  /// When something happens next; never before the time that it is.
  [[nodiscard]] std::optional<Duration> next() const;
  /// From now on drivers refuse nothing and answer everything they are asked.
  void mend();
  /// Acts that were asked for and not told of.
  [[nodiscard]] std::size_t open_operations() const;

 private:
  struct Lane {
    std::unique_ptr<FaultyDoor> door;
    std::unique_ptr<GpuWorker> worker;
    std::deque<NumberedOperation> operations;  // the first is under way
    Duration begun_at{}, done_at{}, told_at{};
    std::optional<GpuNews> news;  // done, and not told
    bool never = false, stuck = false;
  };
  void begin(Lane& lane);
  void do_next(std::size_t gpu);
  [[nodiscard]] std::optional<Duration> next(std::size_t gpu) const;

  Machine* machine_;
  ExecutorDelays delays_;
  Random random_;
  Duration now_;
  std::vector<Lane> lanes_;
  std::vector<GpuNews> told_;
};

}  // namespace cleave::trial
