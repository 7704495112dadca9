#pragma once
// The door to GPUs: everything Cleave asks of a driver and everything it does to a GPU goes through
// this interface, one small step a call. Behind it stands NVML (nvml_door.hpp), which on a machine
// without GPUs may be Cleave's own simulated library; wrappers of the same interface inject faults,
// record and replay.
//
// Everything is read from the driver when it is asked for; nothing is remembered between calls but
// handles. What takes several steps (create an instance with what a program needs, take one away)
// is in instances.hpp, over any door.
//
// A door is used by one thread at a time. GPUs are named by NVML's index, which stays as it is
// until the driver is loaded again; to name a GPU for longer, take its UUID.

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"
#include "model/gpu_model.hpp"
#include "model/nvml_abi.hpp"

namespace cleave {

/// A GPU as NVML counts them.
enum class GpuIndex : std::uint32_t {};
/// NVML's number of a profile in the driver's header; only asking for a profile's description takes
/// it.
enum class ProfileNumber : std::uint32_t {};
/// The number under which the driver creates, lists and counts instances of a profile; what
/// nvidia-smi shows.
enum class ProfileId : std::uint32_t {};
/// Number of a GPU instance on its GPU, and of a compute instance in its GPU instance. Used again
/// after the instance is gone; the MIG UUID is not.
enum class GpuInstanceId : std::uint32_t {};
enum class ComputeInstanceId : std::uint32_t {};

/// Why the driver, or a wrapper in its place, did not do what a call asked.
struct Refusal {
  nvml::Return code = nvml::Return::unknown;
  std::string call;  // the function of NVML that refused
};
template <class T>
using DriverAnswer = std::expected<T, Refusal>;

/// "in use (19)"; numbers that nobody knows are told by number alone.
std::string text(nvml::Return code);
/// What the code means for who called this function, as a sentence without a full stop, and what to
/// do.
struct RefusalWords {
  std::string message, remedy;
};
RefusalWords explain(const Refusal& refusal);
/// As an error of Cleave's: no permission and what hardware refuses are `infeasible`, a broken
/// promise of the driver's `internal`. `place` names the GPU or instance.
Error error_of(const Refusal& refusal, std::string place);

struct DriverFacts {
  std::string library;         // the file that was opened
  std::string driver_version;  // "535.129.03"
  std::optional<std::string> nvml_version;
  std::optional<int> cuda_version;        // 12020 for CUDA 12.2
  std::vector<std::string_view> missing;  // optional functions that the library lacks
};

struct GpuFacts {
  GpuIndex index{};
  std::string uuid, name;                     // "GPU-...", "NVIDIA A100-SXM4-40GB"
  std::optional<std::uint32_t> minor;         // of /dev/nvidiaN
  std::optional<std::string> pci_bus_id;      // "00000000:07:00.0"
  std::optional<std::uint32_t> architecture;  // 7 Ampere, 9 Hopper, 10 Blackwell
};

struct MigMode {
  bool current = false,
       pending = false;  // they differ until the GPU was reset or the machine rebooted
};

struct DriverProfile {
  ProfileNumber number{};
  ProfileId id{};
  std::optional<std::string> name;  // "1g.5gb"; older drivers do not say
  std::uint32_t slices = 0;         // compute
  std::uint32_t most = 0;           // instances on an empty GPU
  Sms sms;
  Engines engines;
  MiB memory;
};

/// Memory slices of a GPU, or compute slices of a GPU instance.
struct Span {
  std::uint32_t start = 0, size = 0;
  friend bool operator==(Span, Span) = default;
};

struct LiveGpuInstance {
  GpuInstanceId id{};
  ProfileId profile{};
  Span placement;
  friend bool operator==(const LiveGpuInstance&, const LiveGpuInstance&) = default;
};

struct DriverComputeProfile {
  ProfileNumber number{};
  ProfileId id{};
  std::uint32_t slices = 0, most = 0;
  Sms sms;
};

struct LiveComputeInstance {
  ComputeInstanceId id{};
  ProfileId profile{};
  Span placement;
  std::string uuid;  // "MIG-...": what CUDA_VISIBLE_DEVICES takes; new at each creation
  friend bool operator==(const LiveComputeInstance&, const LiveComputeInstance&) = default;
};

struct LiveProcess {
  std::uint32_t pid = 0;
  std::optional<std::uint64_t>
      memory_bytes;  // what allocators hold, which is more than what is used
  std::optional<GpuInstanceId> gpu_instance;
  std::optional<ComputeInstanceId> compute_instance;
};

struct MemoryUse {
  std::uint64_t total_bytes = 0, used_bytes = 0;
};

struct GpuEvent {
  enum class Kind : std::uint8_t { xid, unavailable, other };
  Kind kind = Kind::other;
  GpuIndex gpu{};
  std::uint64_t data = 0;  // the Xid
  std::optional<GpuInstanceId> gpu_instance;
  std::optional<ComputeInstanceId> compute_instance;
};

/// A compute instance as everybody may see it, privileged or not: without its place, and a GPU
/// instance without compute instance is not among them.
struct MigDevice {
  GpuInstanceId gpu_instance{};
  ComputeInstanceId compute_instance{};
  std::string uuid;
  std::optional<MemoryUse> memory;
  std::vector<LiveProcess> processes;
};

class Door {
 public:
  virtual ~Door() = default;

  [[nodiscard]] virtual DriverFacts driver() = 0;
  [[nodiscard]] virtual DriverAnswer<std::uint32_t> gpu_count() = 0;
  [[nodiscard]] virtual DriverAnswer<GpuFacts> gpu(GpuIndex gpu) = 0;
  /// not_supported: the GPU cannot be partitioned.
  [[nodiscard]] virtual DriverAnswer<MigMode> mig_mode(GpuIndex gpu) = 0;
  /// The answer is the driver's activation status: success, or why the mode is only pending.
  [[nodiscard]] virtual DriverAnswer<nvml::Return> set_mig_mode(GpuIndex gpu, bool enabled) = 0;

  /// Every profile that the driver has for this GPU, by its number; none where the driver answers
  /// none with MIG off.
  [[nodiscard]] virtual DriverAnswer<std::vector<DriverProfile>> profiles(GpuIndex gpu) = 0;
  /// Where the profile may be, as the driver lists it.
  [[nodiscard]] virtual DriverAnswer<std::vector<Span>> placements(GpuIndex gpu,
                                                                   ProfileId profile) = 0;
  [[nodiscard]] virtual DriverAnswer<std::uint32_t> remaining(GpuIndex gpu, ProfileId profile) = 0;

  /// All of them, by id, whether they have compute instances or not.
  [[nodiscard]] virtual DriverAnswer<std::vector<LiveGpuInstance>> gpu_instances(GpuIndex gpu) = 0;
  /// By GPU instance and compute instance. Doors that only tell what the privileged may see refuse
  /// with not_supported.
  [[nodiscard]] virtual DriverAnswer<std::vector<MigDevice>> mig_devices(GpuIndex) {
    return std::unexpected(
        Refusal{nvml::Return::not_supported, "nvmlDeviceGetMigDeviceHandleByIndex"});
  }
  /// At this placement, or where the driver likes.
  [[nodiscard]] virtual DriverAnswer<LiveGpuInstance> create_gpu_instance(
      GpuIndex gpu, ProfileId profile, std::optional<Span> placement) = 0;
  [[nodiscard]] virtual DriverAnswer<void> destroy_gpu_instance(GpuIndex gpu,
                                                                GpuInstanceId instance) = 0;

  [[nodiscard]] virtual DriverAnswer<std::vector<DriverComputeProfile>> compute_profiles(
      GpuIndex gpu, GpuInstanceId instance) = 0;
  /// By id.
  [[nodiscard]] virtual DriverAnswer<std::vector<LiveComputeInstance>> compute_instances(
      GpuIndex gpu, GpuInstanceId instance) = 0;
  [[nodiscard]] virtual DriverAnswer<LiveComputeInstance> create_compute_instance(
      GpuIndex gpu, GpuInstanceId instance, ProfileId profile, std::optional<Span> placement) = 0;
  [[nodiscard]] virtual DriverAnswer<void> destroy_compute_instance(GpuIndex gpu,
                                                                    GpuInstanceId instance,
                                                                    ComputeInstanceId compute) = 0;

  /// On the whole GPU, those of its instances with their numbers; by pid.
  [[nodiscard]] virtual DriverAnswer<std::vector<LiveProcess>> processes(GpuIndex gpu) = 0;
  [[nodiscard]] virtual DriverAnswer<MemoryUse> memory(GpuIndex gpu) = 0;
  [[nodiscard]] virtual DriverAnswer<MemoryUse> memory(GpuIndex gpu, GpuInstanceId instance,
                                                       ComputeInstanceId compute) = 0;
  /// Of the whole GPU; drivers do not know those of an instance.
  [[nodiscard]] virtual DriverAnswer<std::uint32_t> power_milliwatts(GpuIndex gpu) = 0;
  [[nodiscard]] virtual DriverAnswer<std::uint32_t> power_limit_milliwatts(GpuIndex gpu) = 0;
  /// Since the driver was loaded.
  [[nodiscard]] virtual DriverAnswer<std::uint64_t> energy_millijoules(GpuIndex gpu) = 0;

  /// The next event of any GPU, or nothing when the time is up.
  [[nodiscard]] virtual DriverAnswer<std::optional<GpuEvent>> wait_event(
      std::chrono::milliseconds at_most) = 0;
};

}  // namespace cleave
