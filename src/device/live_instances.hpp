#pragma once
// Operations on a GPU that take several steps, over any door. An instance that programs can use is
// a GPU instance with a compute instance in it, which has the UUID by which programs name it;
// destroying it takes the same steps in reverse.
//
// Nothing is left half done silently: if the second step of a creation fails, the first is undone,
// and the error names what could not be undone. Temporary refusals (something still uses the
// instance) are retried for a time. Whether this program may change the GPU is not decided here.
//
// Recipes: NVML API reference; kubernetes-sigs/dra-driver-nvidia-gpu issue 1452 (a GPU instance
// without a compute instance has no MIG device handle).

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/door.hpp"

namespace cleave {

/// A GPU instance that exists, with its compute instances.
struct LiveInstance {
  GpuIndex gpu{};
  GpuInstanceId id{};
  ProfileId profile_id{};
  std::string profile;                        // its name: the driver's, or by nvidia-smi's rule
  Span placement;                             // memory slices
  std::vector<LiveComputeInstance> computes;  // by id; if empty, no program can use it
};

/// "GPU 0, GPU instance 3"
std::string place_of(GpuIndex gpu, GpuInstanceId instance);

/// All instances of a GPU, by start; none with MIG off.
[[nodiscard]] Result<std::vector<LiveInstance>> live_instances(Door& door, GpuIndex gpu);

/// A program that has device files of NVIDIA's driver open.
struct DeviceHolder {
  std::uint32_t pid = 0;
  std::string program;
  friend bool operator==(const DeviceHolder&, const DeviceHolder&) = default;
};
/// The programs that have /dev/nvidiaN of this GPU (of any, if its number is unknown) or a file of
/// an instance open, by pid, without this process. Only those that this user may see; root sees
/// all.
std::vector<DeviceHolder> device_holders(std::optional<std::uint32_t> minor,
                                         const std::filesystem::path& proc = "/proc");

/// How long to retry temporary refusals, and how.
struct Patience {
  std::chrono::milliseconds at_most{5000};               // for all waits of one call together
  std::chrono::milliseconds first{10};                   // each wait is twice as long as the last,
  std::chrono::milliseconds longest{500};                // up to this
  std::function<void(std::chrono::milliseconds)> sleep;  // empty: this thread sleeps
  std::function<bool()> enough;                          // asked before each wait; true: give up
  /// Empty: device_holders.
  std::function<std::vector<DeviceHolder>(std::optional<std::uint32_t> minor)> holders;
};

/// Creates an instance at this placement, or where the driver likes, with a compute instance of all
/// its slices. Fails with `infeasible` and the reason if the driver refuses; what was made by then
/// is removed, or named in the error.
[[nodiscard]] Result<LiveInstance> create_instance(Door& door, GpuIndex gpu,
                                                   const DriverProfile& profile,
                                                   std::optional<Span> placement,
                                                   const Patience& patience = {});

/// Why a creation failed, and how far it got.
struct FailedCreation {
  Error error;
  bool gpu_instance_made = false;  // it was removed, or is named in the error
};
/// The same, for callers that need to know which step failed. Instead of one compute instance of
/// all slices there may be several: equal ones, as large as that number of them can be.
[[nodiscard]] std::expected<LiveInstance, FailedCreation> attempt_instance(
    Door& door, GpuIndex gpu, const DriverProfile& profile, std::optional<Span> placement,
    const Patience& patience = {}, std::uint32_t compute_instances = 1);

/// Destroys an instance with all its compute instances. Fails with `infeasible` if it is still in
/// use after waiting (the error lists the processes on it, or the programs that may hold it), if
/// there is no such instance, and if the driver refuses. Compute instances destroyed by then stay
/// destroyed; another call continues from there.
[[nodiscard]] Result<void> destroy_instance(Door& door, GpuIndex gpu, GpuInstanceId instance,
                                            const Patience& patience = {});

/// The compute profile that fills a GPU instance with this many slices: the one with the same
/// number in NVML's lists, since there may be others of that size (one for several GPUs that work
/// as one, one with more processors). Null if the driver has none.
const DriverComputeProfile* whole_instance_profile(
    const std::vector<DriverComputeProfile>& profiles, std::uint32_t slices);

/// The driver's profile with this name, as in live_instances; the error lists the known names.
[[nodiscard]] Result<DriverProfile> find_driver_profile(Door& door, GpuIndex gpu,
                                                        std::string_view name);

}  // namespace cleave
