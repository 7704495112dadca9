#pragma once
// The door to NVML: each call is one question to the driver, or several where NVML needs several.
//
// What the driver writes is checked: texts end with their buffer, counts are compared with the room
// given, and lists that grow between two calls are requested again.
//
// Recipes and numbers: NVIDIA's NVML API reference, "Multi Instance GPU Management".

#include <map>
#include <memory>

#include "device/door.hpp"
#include "device/nvml_library.hpp"

namespace cleave {

/// The GPUs of this machine through NVML.
class NvmlDoor : public Door {
 public:
  /// Opens the library and initialises it; errors as NvmlLibrary::open.
  [[nodiscard]] static Result<std::unique_ptr<NvmlDoor>> open(
      const std::string& file = nvml::library_name);
  explicit NvmlDoor(std::unique_ptr<NvmlLibrary> library);
  /// Over the caller's functions, for tests of what old drivers lack.
  explicit NvmlDoor(const nvml::Functions& functions);
  ~NvmlDoor() override;
  NvmlDoor(const NvmlDoor&) = delete;
  NvmlDoor& operator=(const NvmlDoor&) = delete;

  DriverFacts driver() override;
  DriverAnswer<std::uint32_t> gpu_count() override;
  DriverAnswer<GpuFacts> gpu(GpuIndex gpu) override;
  DriverAnswer<MigMode> mig_mode(GpuIndex gpu) override;
  DriverAnswer<nvml::Return> set_mig_mode(GpuIndex gpu, bool enabled) override;

  DriverAnswer<std::vector<DriverProfile>> profiles(GpuIndex gpu) override;
  DriverAnswer<std::vector<Span>> placements(GpuIndex gpu, ProfileId profile) override;
  DriverAnswer<std::uint32_t> remaining(GpuIndex gpu, ProfileId profile) override;

  DriverAnswer<std::vector<LiveGpuInstance>> gpu_instances(GpuIndex gpu) override;
  DriverAnswer<std::vector<MigDevice>> mig_devices(GpuIndex gpu) override;
  /// Destroys the instance again if the driver made it but does not describe it.
  DriverAnswer<LiveGpuInstance> create_gpu_instance(GpuIndex gpu, ProfileId profile,
                                                    std::optional<Span> placement) override;
  DriverAnswer<void> destroy_gpu_instance(GpuIndex gpu, GpuInstanceId instance) override;

  DriverAnswer<std::vector<DriverComputeProfile>> compute_profiles(GpuIndex gpu,
                                                                   GpuInstanceId instance) override;
  DriverAnswer<std::vector<LiveComputeInstance>> compute_instances(GpuIndex gpu,
                                                                   GpuInstanceId instance) override;
  DriverAnswer<LiveComputeInstance> create_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                                            ProfileId profile,
                                                            std::optional<Span> placement) override;
  DriverAnswer<void> destroy_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                              ComputeInstanceId compute) override;

  DriverAnswer<std::vector<LiveProcess>> processes(GpuIndex gpu) override;
  DriverAnswer<MemoryUse> memory(GpuIndex gpu) override;
  DriverAnswer<MemoryUse> memory(GpuIndex gpu, GpuInstanceId instance,
                                 ComputeInstanceId compute) override;
  DriverAnswer<std::uint32_t> power_milliwatts(GpuIndex gpu) override;
  DriverAnswer<std::uint32_t> power_limit_milliwatts(GpuIndex gpu) override;
  DriverAnswer<std::uint64_t> energy_millijoules(GpuIndex gpu) override;
  DriverAnswer<std::optional<BusyShares>> busy_shares(GpuIndex gpu,
                                                      std::optional<GpuInstanceId> instance,
                                                      Counting counting) override;
  DriverAnswer<GpuHealth> health(GpuIndex gpu) override;
  DriverAnswer<std::uint64_t> uncorrected_errors(GpuIndex gpu, GpuInstanceId instance,
                                                 ComputeInstanceId compute) override;
  DriverAnswer<std::optional<GpuEvent>> wait_event(std::chrono::milliseconds at_most) override;

 private:
  DriverAnswer<nvml::Device> device(GpuIndex gpu);
  DriverAnswer<nvml::GpuInstance> instance_handle(GpuIndex gpu, GpuInstanceId instance);
  DriverAnswer<nvml::ComputeInstance> compute_handle(GpuIndex gpu, GpuInstanceId instance,
                                                     ComputeInstanceId compute);
  DriverAnswer<DriverProfile> profile(nvml::Device device, std::uint32_t number);
  DriverAnswer<DriverComputeProfile> compute_profile(nvml::GpuInstance instance,
                                                     std::uint32_t number);
  DriverAnswer<LiveGpuInstance> described(nvml::GpuInstance instance);
  DriverAnswer<LiveComputeInstance> described(nvml::ComputeInstance compute);
  DriverAnswer<std::string> uuid(nvml::Device device);
  DriverAnswer<MemoryUse> memory_of(nvml::Device device);
  DriverAnswer<std::vector<LiveProcess>> processes_of(nvml::Device device);
  DriverAnswer<MigDevice> described_mig_device(nvml::Device device);
  DriverAnswer<nvml::EventSet> listening();
  void stop_listening();
  std::optional<GpuIndex> index_of(nvml::Device device);
  DriverAnswer<void> may_count(GpuIndex gpu, nvml::Device device);
  DriverAnswer<nvml::GpmSample> new_sample(nvml::Device device,
                                           std::optional<GpuInstanceId> instance);
  /// Forgets the handles of the GPU, all of which may be invalid.
  void forget(GpuIndex gpu);
  void stop_counting(GpuIndex gpu, std::optional<GpuInstanceId> instance);
  void stop_all_counting();
  /// Passes a refusal on. Forgets a device handle that may be invalid, so that the next call asks
  /// for it again.
  std::unexpected<Refusal> gave_up(GpuIndex gpu, Refusal refusal);

  std::unique_ptr<NvmlLibrary> library_;  // empty over functions of a test
  const nvml::Functions* nvml_;
  std::map<GpuIndex, nvml::Device> devices_;
  /// The last sample of each count of GPM.
  std::map<std::pair<GpuIndex, std::optional<GpuInstanceId>>, nvml::GpmSample> samples_;
  /// Why a GPU does not count, as far as it was asked; until its handle is forgotten.
  std::map<GpuIndex, DriverAnswer<void>> may_count_;
  nvml::EventSet events_ = nullptr;
};

}  // namespace cleave
