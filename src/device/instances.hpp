#pragma once
// What takes several steps on a GPU, over any door: an instance that a program can use is a GPU
// instance, a compute instance in it, and the UUID by which programs name it; taking it away goes
// the other way round.
//
// No step is left half done without being said: where the second step of a creation fails the first
// is taken back, and what could not be taken back is in the error. Refusals that pass (something
// still uses it) are tried again for a time. Who may change a GPU at all is not decided here.
//
// Recipes: NVML API reference; kubernetes-sigs/dra-driver-nvidia-gpu issue 1452 (GPU instances that
// are left behind without compute instance are seen by no MIG device handle).

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/door.hpp"

namespace cleave {

struct LiveInstance {
  GpuIndex gpu{};
  GpuInstanceId id{};
  ProfileId profile_id{};
  std::string profile;  // its name: the driver's, or by the rule of nvidia-smi
  Span placement;       // memory slices
  std::vector<LiveComputeInstance> computes;  // by id; none: no program can use the instance
};

/// "GPU 0, GPU instance 3"
std::string place_of(GpuIndex gpu, GpuInstanceId instance);

/// All of a GPU, by start. None where MIG is off.
[[nodiscard]] Result<std::vector<LiveInstance>> live_instances(Door& door, GpuIndex gpu);

/// A program that has files of NVIDIA's driver open.
struct DeviceHolder {
  std::uint32_t pid = 0;
  std::string program;
  friend bool operator==(const DeviceHolder&, const DeviceHolder&) = default;
};
/// Who has /dev/nvidiaN of this GPU (of any, where its number is not known) or a file of an
/// instance open, by pid, this process left out. Only what this user may see: root sees all.
std::vector<DeviceHolder> device_holders(std::optional<std::uint32_t> minor,
                                         const std::filesystem::path& proc = "/proc");

/// How long, and how, to wait for what passes.
struct Patience {
  std::chrono::milliseconds at_most{5000};               // all waits of one call together
  std::chrono::milliseconds first{10};                   // each wait is twice the one before,
  std::chrono::milliseconds longest{500};                // up to this
  std::function<void(std::chrono::milliseconds)> sleep;  // empty: this thread sleeps
  std::function<bool()> enough;                          // asked before each wait; true: no longer
  std::function<std::vector<DeviceHolder>(std::optional<std::uint32_t> minor)>
      holders;  // empty: the above
};

/// At this start, or where the driver likes; with a compute instance of all its slices.
/// `infeasible` when the driver refuses, with what is in the way; what was made by then is gone
/// again, or named in the error.
[[nodiscard]] Result<LiveInstance> create_instance(Door& door, GpuIndex gpu,
                                                   const DriverProfile& profile,
                                                   std::optional<Span> placement,
                                                   const Patience& patience = {});

/// Why there is no new instance, and how far it had come.
struct FailedCreation {
  Error error;
  bool gpu_instance_made = false;  // it is gone again, or named in the error
};
/// The same, for who must know which step failed.
[[nodiscard]] std::expected<LiveInstance, FailedCreation> attempt_instance(
    Door& door, GpuIndex gpu, const DriverProfile& profile, std::optional<Span> placement,
    const Patience& patience = {});

/// With all its compute instances. `infeasible` where it is in use after all waiting, with the
/// processes on it or else the programs that may hold it; where there is no such instance; and
/// where the driver refuses. Compute instances that are gone by then stay gone; calling again goes
/// on from there.
[[nodiscard]] Result<void> destroy_instance(Door& door, GpuIndex gpu, GpuInstanceId instance,
                                            const Patience& patience = {});

/// The compute profile that is a whole GPU instance with so many slices: the one with the same
/// number in NVML's lists, for there may be others of that size (one for several GPUs that work as
/// one, one with more processors). Empty: the driver has none.
const DriverComputeProfile* whole_instance_profile(
    const std::vector<DriverComputeProfile>& profiles, std::uint32_t slices);

/// The driver's profile of this name, in the words of live_instances; the error names those there
/// are.
[[nodiscard]] Result<DriverProfile> find_driver_profile(Door& door, GpuIndex gpu,
                                                        std::string_view name);

}  // namespace cleave
