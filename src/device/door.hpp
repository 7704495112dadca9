#pragma once
// The door to GPUs: the interface through which Cleave asks the driver anything and changes GPUs,
// one small step per call. Behind it is NVML (nvml_door.hpp), which on a machine without GPUs may
// be Cleave's simulated library; wrappers of the interface (wrapped_door.hpp) inject faults, record
// and replay.
//
// Every call asks the driver; only handles are kept between calls. Operations of several steps
// (create an instance that programs can use, destroy one) are in live_instances.hpp, over any door.
//
// A door is used by one thread at a time. GPUs are named by NVML's index, which does not change
// until the driver is loaded again; use the UUID to name a GPU for longer.

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

/// A GPU by NVML's index.
enum class GpuIndex : std::uint32_t {};
/// NVML's number of a profile in its header; only asking for a profile's description takes it.
enum class ProfileNumber : std::uint32_t {};
/// The id by which the driver creates, lists and counts instances of a profile; shown by
/// nvidia-smi.
enum class ProfileId : std::uint32_t {};
/// Number of a GPU instance on its GPU. Reused after the instance is destroyed; MIG UUIDs are not.
enum class GpuInstanceId : std::uint32_t {};
/// Number of a compute instance in its GPU instance; reused likewise.
enum class ComputeInstanceId : std::uint32_t {};

/// Why the driver, or a wrapper in its place, refused a call.
struct Refusal {
  nvml::Return code = nvml::Return::unknown;
  std::string call;  // the function of NVML that refused
};
/// What a call returns.
template <class T>
using DriverAnswer = std::expected<T, Refusal>;

/// "in use (19)"; for an unknown code only the number.
std::string text(nvml::Return code);
/// What a refusal means, as a sentence without a full stop, and what to do about it.
struct RefusalWords {
  std::string message, remedy;
};
RefusalWords explain(const Refusal& refusal);
/// The refusal as an Error: `infeasible` for missing permission and what hardware refuses,
/// `internal` if the driver breaks its own rules. `place` names the GPU or instance.
Error error_of(const Refusal& refusal, std::string place);

/// The driver and its library.
struct DriverFacts {
  std::string library;         // the file that was opened
  std::string driver_version;  // "535.129.03"
  std::optional<std::string> nvml_version;
  std::optional<int> cuda_version;        // 12020 for CUDA 12.2
  std::vector<std::string_view> missing;  // optional functions that the library lacks
};

/// What identifies a GPU.
struct GpuFacts {
  GpuIndex index{};
  std::string uuid, name;                     // "GPU-...", "NVIDIA A100-SXM4-40GB"
  std::optional<std::uint32_t> minor;         // of /dev/nvidiaN
  std::optional<std::string> pci_bus_id;      // "00000000:07:00.0"
  std::optional<std::uint32_t> architecture;  // 7 Ampere, 9 Hopper, 10 Blackwell
};

/// Whether a GPU is partitioned. The two differ until the GPU is reset or the machine rebooted.
struct MigMode {
  bool current = false, pending = false;
};

/// A profile of GPU instances as the driver describes it.
struct DriverProfile {
  ProfileNumber number{};
  ProfileId id{};
  std::optional<std::string> name;  // "1g.5gb"; older drivers do not give it
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

/// A GPU instance that exists.
struct LiveGpuInstance {
  GpuInstanceId id{};
  ProfileId profile{};
  Span placement;
  friend bool operator==(const LiveGpuInstance&, const LiveGpuInstance&) = default;
};

/// A profile of compute instances as the driver describes it.
struct DriverComputeProfile {
  ProfileNumber number{};
  ProfileId id{};
  std::uint32_t slices = 0, most = 0;
  Sms sms;
};

/// A compute instance that exists.
struct LiveComputeInstance {
  ComputeInstanceId id{};
  ProfileId profile{};
  Span placement;
  std::string uuid;  // "MIG-...": what CUDA_VISIBLE_DEVICES takes; new at each creation
  friend bool operator==(const LiveComputeInstance&, const LiveComputeInstance&) = default;
};

/// A process that uses a GPU.
struct LiveProcess {
  std::uint32_t pid = 0;
  std::optional<std::uint64_t> memory_bytes;  // held by its allocators, more than it uses
  std::optional<GpuInstanceId> gpu_instance;
  std::optional<ComputeInstanceId> compute_instance;
};

/// Memory of a GPU or an instance.
struct MemoryUse {
  std::uint64_t total_bytes = 0, used_bytes = 0;
};

/// What GPU performance monitoring (GPM) counted of a GPU instance or a GPU: means over a time, as
/// shares of it from 0 to 1. What the driver does not count is empty.
struct BusyShares {
  std::optional<double> sm_activity;      // processors with work
  std::optional<double> sm_occupancy;     // warps there, of those that fit
  std::optional<double> tensor_activity;  // tensor cores at work
  std::optional<double> dram_activity;    // of the memory's bandwidth
};

/// Where a count of GPM begins: with this call, or where the last one ended.
enum class Counting : std::uint8_t { anew, on };

/// What the driver says about a GPU's health; empty where this driver does not.
struct GpuHealth {
  std::optional<std::uint32_t> recovery_action;   // that it asks for, by NVML's number; 0: none
  std::optional<bool> rows_pending, rows_failed;  // remapping of rows of memory
  /// Uncorrected memory errors since the driver was loaded. With MIG on drivers count them for
  /// instances only.
  std::optional<std::uint64_t> uncorrected;
  friend bool operator==(const GpuHealth&, const GpuHealth&) = default;
};

/// Something that the driver reports on its own.
struct GpuEvent {
  enum class Kind : std::uint8_t { xid, unavailable, other };
  Kind kind = Kind::other;
  GpuIndex gpu{};
  std::uint64_t data = 0;  // the Xid
  std::optional<GpuInstanceId> gpu_instance;
  std::optional<ComputeInstanceId> compute_instance;
};

/// A compute instance as any user may see it: without its placement. GPU instances without compute
/// instances are not visible this way.
struct MigDevice {
  GpuInstanceId gpu_instance{};
  ComputeInstanceId compute_instance{};
  std::string uuid;
  std::optional<MemoryUse> memory;
  std::vector<LiveProcess> processes;
};

/// The interface to a driver and its GPUs.
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

  /// Every profile that the driver has for this GPU, by number; some drivers give none with MIG
  /// off.
  [[nodiscard]] virtual DriverAnswer<std::vector<DriverProfile>> profiles(GpuIndex gpu) = 0;
  /// The placements of the profile, as the driver lists them.
  [[nodiscard]] virtual DriverAnswer<std::vector<Span>> placements(GpuIndex gpu,
                                                                   ProfileId profile) = 0;
  [[nodiscard]] virtual DriverAnswer<std::uint32_t> remaining(GpuIndex gpu, ProfileId profile) = 0;

  /// All GPU instances by id, with or without compute instances.
  [[nodiscard]] virtual DriverAnswer<std::vector<LiveGpuInstance>> gpu_instances(GpuIndex gpu) = 0;
  /// By GPU instance and compute instance. Refused with not_supported by doors that only serve
  /// privileged callers.
  [[nodiscard]] virtual DriverAnswer<std::vector<MigDevice>> mig_devices(GpuIndex) {
    return std::unexpected(
        Refusal{nvml::Return::not_supported, "nvmlDeviceGetMigDeviceHandleByIndex"});
  }
  /// At this placement, or where the driver prefers.
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

  /// All on the GPU, by pid; those on instances with the instances' numbers.
  [[nodiscard]] virtual DriverAnswer<std::vector<LiveProcess>> processes(GpuIndex gpu) = 0;
  [[nodiscard]] virtual DriverAnswer<MemoryUse> memory(GpuIndex gpu) = 0;
  [[nodiscard]] virtual DriverAnswer<MemoryUse> memory(GpuIndex gpu, GpuInstanceId instance,
                                                       ComputeInstanceId compute) = 0;
  /// Of the whole GPU; drivers do not measure instances.
  [[nodiscard]] virtual DriverAnswer<std::uint32_t> power_milliwatts(GpuIndex gpu) = 0;
  [[nodiscard]] virtual DriverAnswer<std::uint32_t> power_limit_milliwatts(GpuIndex gpu) = 0;
  /// Since the driver was loaded.
  [[nodiscard]] virtual DriverAnswer<std::uint64_t> energy_millijoules(GpuIndex gpu) = 0;

  /// How busy the GPU instance, or else the whole GPU, was since the last call about it. Empty
  /// where the count begins with this call. Calls about one must be 100 ms apart or more.
  /// not_supported: the GPU or its driver does not count; doors need not.
  [[nodiscard]] virtual DriverAnswer<std::optional<BusyShares>> busy_shares(
      GpuIndex, std::optional<GpuInstanceId>, Counting) {
    return std::unexpected(Refusal{nvml::Return::not_supported, "nvmlGpmQueryDeviceSupport"});
  }

  /// Refused with not_supported by doors that do not tell.
  [[nodiscard]] virtual DriverAnswer<GpuHealth> health(GpuIndex) {
    return std::unexpected(Refusal{nvml::Return::not_supported, "nvmlDeviceGetFieldValues"});
  }
  /// Uncorrected errors in the caches and shared memories of an instance, since the driver was
  /// loaded; not_supported likewise.
  [[nodiscard]] virtual DriverAnswer<std::uint64_t> uncorrected_errors(GpuIndex, GpuInstanceId,
                                                                       ComputeInstanceId) {
    return std::unexpected(Refusal{nvml::Return::not_supported, "nvmlDeviceGetMemoryErrorCounter"});
  }

  /// The next event of any GPU; empty when the time is up.
  [[nodiscard]] virtual DriverAnswer<std::optional<GpuEvent>> wait_event(
      std::chrono::milliseconds at_most) = 0;
};

}  // namespace cleave
