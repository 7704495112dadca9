#pragma once
// The door to the GPUs that the loop manages: it asks for one operation after the other and hears
// later what came of each, since a driver takes its time and may never answer. The operations of
// one GPU are done in the order in which they were asked for, those of several side by side. Each
// answer comes with the GPU as it stood after the operation.
//
// Behind it: a thread for each GPU (daemon/threaded_executor.hpp), or a test that answers when a
// seed says so. Both let gpu_worker.hpp do the work.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "device/gpu_view.hpp"
#include "model/ids.hpp"
#include "runner/device_rules.hpp"

namespace cleave {

/// A GPU that the daemon manages, as it was found at the beginning. GpuId counts these, in this
/// order.
struct GpuIdentity {
  std::string uuid;
  std::uint32_t index = 0;             // NVML's, for people
  std::string driver_name;             // "NVIDIA A100-SXM4-40GB"
  std::optional<std::uint32_t> minor;  // N of /dev/nvidiaN
  std::shared_ptr<const DriverGeometry> geometry;
};

/// Takes the GPU's lock if it is not held yet, and looks. Settles what a crash left open: a
/// half-made instance of ours is adopted where a program could use it and none does, and taken away
/// where it lacks its compute instance.
struct LookAtGpu {
  /// What to count of how busy instances of ours are: each by its MIG UUID, or the GPU with MIG off
  /// by an empty text.
  struct Count {
    std::string device;
    Counting counting = Counting::anew;
  };
  std::vector<Count> counts;
};
struct CreateOnGpu {
  PlacementId placement = 0;  // in the GPU's geometry, of all profiles
};
/// An instance of ours, by its MIG UUID. Where it is in use it is tried again for a while, unless
/// that is pointless.
struct DestroyOnGpu {
  std::string device;
  bool once = false;
};
/// MIG mode off, where the GPU has no instances, or on. Fails where the driver only takes note of
/// it until a reset, or where changing it is not allowed.
struct SwitchMig {
  bool on = true;
};
using GpuOperation = std::variant<LookAtGpu, CreateOnGpu, DestroyOnGpu, SwitchMig>;

struct NumberedOperation {
  std::uint64_t number = 0;  // the asker's own, to know the answer by
  GpuId gpu{};
  GpuOperation operation;
};

/// An instance as the GPU shows it.
struct ObservedInstance {
  std::string device;                    // MIG UUID; empty without compute instance
  JobDevice::Instance numbers;           // the driver's, where there is a compute instance
  std::optional<PlacementId> placement;  // empty where the geometry does not know it
  Ownership owner = Ownership::unknown;
  std::vector<LiveProcess> processes;
  std::optional<MemoryUse> memory;
  std::optional<std::uint64_t> uncorrected = {};  // memory errors; by LookAtGpu, where it is told
};

/// The GPU as it stood after an operation.
struct GpuObservation {
  bool lost = false;                        // gone, with all that was on it; the rest is empty then
  bool mig = true;                          // MIG mode is on
  std::vector<ObservedInstance> instances;  // by start
  std::vector<LiveProcess> processes;       // on the GPU with MIG off
  std::optional<std::uint32_t> power_mw;
  std::optional<std::uint64_t> energy_mj = {};  // what its counter shows
  GpuHealth health = {};                        // by LookAtGpu
};

/// What was counted of a device; empty where a count has begun.
struct CountedDevice {
  std::string device;
  std::optional<BusyShares> shares;
};

struct GpuNews {
  std::uint64_t number = 0;
  GpuId gpu{};
  Result<void>
      done;  // why it could not be done; then nothing has changed, unless `observation` says so
  std::optional<GpuObservation>
      observation;   // empty where the driver could not be asked, which is not a lost GPU
  std::string made;  // by CreateOnGpu: the instance's MIG UUID
  std::vector<std::string> remarks;         // what was settled or adopted, one line each
  std::vector<CountedDevice> counted = {};  // by LookAtGpu; without those that the driver refuses
  std::vector<GpuEvent> events = {};        // of the GPU, since the operation before
  Duration took{};  // from its turn to its answer; zero where that was not measured
};

class GpuExecutor {
 public:
  virtual ~GpuExecutor() = default;

  [[nodiscard]] virtual const std::vector<GpuIdentity>& gpus() const = 0;
  /// Never waits.
  virtual void ask(NumberedOperation operation) = 0;
  /// What has come since; never waits.
  [[nodiscard]] virtual std::vector<GpuNews> poll() = 0;
  /// Readable when poll() has something; -1 where there is none.
  [[nodiscard]] virtual int wake_fd() const = 0;
};

}  // namespace cleave
