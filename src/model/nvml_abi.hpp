#pragma once
// The part of the binary interface of NVIDIA's management library, libnvidia-ml.so.1, that Cleave
// uses: numbers, structures and functions, declared here for two rooms. `device/` calls them in the
// library that the machine has, `nvmlsim/` implements them over simulated GPUs. No header of
// NVIDIA's is used. Sizes and offsets are those of 64-bit Linux and asserted below; a test compares
// them with the vendor's header where there is one.
//
// Source: NVIDIA's NVML API reference, API version 13.

#include <array>
#include <cstddef>
#include <cstdint>

namespace cleave::nvml {

inline constexpr const char* library_name = "libnvidia-ml.so.1";

/// What all functions except nvmlErrorString return. A driver may know more values.
enum class Return : std::int32_t {
  success = 0,
  uninitialized = 1,
  invalid_argument = 2,
  not_supported = 3,
  no_permission = 4,
  already_initialized = 5,
  not_found = 6,
  insufficient_size = 7,
  insufficient_power = 8,
  driver_not_loaded = 9,
  timeout = 10,
  irq_issue = 11,
  library_not_found = 12,
  function_not_found = 13,
  corrupted_inforom = 14,
  gpu_is_lost = 15,
  reset_required = 16,
  operating_system = 17,
  lib_rm_version_mismatch = 18,
  in_use = 19,
  memory = 20,
  no_data = 21,
  vgpu_ecc_not_supported = 22,
  insufficient_resources = 23,
  freq_not_supported = 24,
  argument_version_mismatch = 25,
  deprecated = 26,
  not_ready = 27,
  gpu_not_found = 28,
  invalid_state = 29,
  reset_type_not_supported = 30,
  unknown = 999,
};

// Handles: opaque, passed by value.
using Device = struct DeviceHandle*;
using GpuInstance = struct GpuInstanceHandle*;
using ComputeInstance = struct ComputeInstanceHandle*;
using EventSet = struct EventSetHandle*;
using GpmSample = struct GpmSampleHandle*;

inline constexpr std::uint32_t name_size = 96, uuid_size = 96, version_size = 80;
/// "No instance" in process and event records.
inline constexpr std::uint32_t no_instance = 0xffffffff;
/// The memory of a process, where the driver does not know it.
inline constexpr std::uint64_t no_value = 0xffffffffffffffff;

inline constexpr std::uint32_t mig_disabled = 0, mig_enabled = 1;

/// How many profiles NVML's header knows. nvmlDeviceGetGpuInstanceProfileInfo takes numbers from 0
/// until the library answers invalid_argument; all other functions take profile ids instead.
inline constexpr std::uint32_t gpu_instance_profiles = 18, compute_instance_profiles = 9;
/// The only engine profile of compute instances: engines are shared.
inline constexpr std::uint32_t engines_shared = 0;

// The versions of the structures of GPU performance monitoring (GPM), which are plain numbers, and
// the metrics that the newest header knows; each is in percent from 0 to 100.
inline constexpr std::uint32_t gpm_version = 1, gpm_metrics_most = 333;
inline constexpr std::uint32_t gpm_graphics = 1, gpm_sm_activity = 2, gpm_sm_occupancy = 3,
                               gpm_tensor = 5, gpm_dram_bandwidth = 10;

// Bits of nvmlDeviceRegisterEvents.
inline constexpr std::uint64_t event_xid = 0x8, event_gpu_unavailable = 0x4000;

// Arguments of the functions about memory errors: uncorrected ones since the driver was loaded, in
// the caches and shared memories of an instance.
inline constexpr std::uint32_t memory_error_uncorrected = 1, ecc_volatile = 0,
                               memory_location_sram = 7;

/// The field of nvmlDeviceGetFieldValues for what the driver asks to be done about a GPU.
inline constexpr std::uint32_t field_recovery_action = 230;

/// Argument of the functions about clocks.
enum class ClockType : std::uint32_t { graphics = 0, sm = 1, memory = 2, video = 3 };

/// Where a GPU instance is.
struct GpuInstancePlacement {
  std::uint32_t start, size;  // memory slices
};
static_assert(sizeof(GpuInstancePlacement) == 8);

/// Where a compute instance is in its GPU instance.
struct ComputeInstancePlacement {
  std::uint32_t start, size;  // compute slices of the GPU instance
};
static_assert(sizeof(ComputeInstancePlacement) == 8);

/// A profile of GPU instances, as nvmlDeviceGetGpuInstanceProfileInfo gives it.
struct GpuInstanceProfileInfo {
  std::uint32_t id, is_p2p_supported, slice_count, instance_count, multiprocessor_count,
      copy_engine_count, decoder_count, encoder_count, jpeg_count, ofa_count;
  std::uint64_t memory_size_mb;  // MiB
};
static_assert(sizeof(GpuInstanceProfileInfo) == 48 &&
              offsetof(GpuInstanceProfileInfo, memory_size_mb) == 40);

/// The same with a name, from the function whose name ends in V.
struct GpuInstanceProfileInfo2 {
  std::uint32_t version, id, is_p2p_supported, slice_count, instance_count, multiprocessor_count,
      copy_engine_count, decoder_count, encoder_count, jpeg_count, ofa_count;
  std::uint64_t memory_size_mb;
  std::array<char, name_size> name;
};
static_assert(sizeof(GpuInstanceProfileInfo2) == 152 &&
              offsetof(GpuInstanceProfileInfo2, memory_size_mb) == 48 &&
              offsetof(GpuInstanceProfileInfo2, name) == 56);

/// The same with capability bits in place of is_p2p_supported.
struct GpuInstanceProfileInfo3 {
  std::uint32_t version, id, slice_count, instance_count, multiprocessor_count, copy_engine_count,
      decoder_count, encoder_count, jpeg_count, ofa_count;
  std::uint64_t memory_size_mb;
  std::array<char, name_size> name;
  std::uint32_t capabilities;
};
static_assert(sizeof(GpuInstanceProfileInfo3) == 152 &&
              offsetof(GpuInstanceProfileInfo3, memory_size_mb) == 40 &&
              offsetof(GpuInstanceProfileInfo3, name) == 48 &&
              offsetof(GpuInstanceProfileInfo3, capabilities) == 144);

/// An existing GPU instance.
struct GpuInstanceInfo {
  Device device;
  std::uint32_t id, profile_id;
  GpuInstancePlacement placement;
};
static_assert(sizeof(GpuInstanceInfo) == 24 && offsetof(GpuInstanceInfo, placement) == 16);

/// A profile of compute instances.
struct ComputeInstanceProfileInfo {
  std::uint32_t id, slice_count, instance_count, multiprocessor_count, shared_copy_engine_count,
      shared_decoder_count, shared_encoder_count, shared_jpeg_count, shared_ofa_count;
};
static_assert(sizeof(ComputeInstanceProfileInfo) == 36);

/// The same with a name.
struct ComputeInstanceProfileInfo2 {
  std::uint32_t version;
  ComputeInstanceProfileInfo info;
  std::array<char, name_size> name;
};
static_assert(sizeof(ComputeInstanceProfileInfo2) == 136 &&
              offsetof(ComputeInstanceProfileInfo2, info) == 4 &&
              offsetof(ComputeInstanceProfileInfo2, name) == 40);

/// The same with a name and capability bits.
struct ComputeInstanceProfileInfo3 {
  std::uint32_t version;
  ComputeInstanceProfileInfo info;
  std::array<char, name_size> name;
  std::uint32_t capabilities;
};
static_assert(sizeof(ComputeInstanceProfileInfo3) == 140);

/// An existing compute instance.
struct ComputeInstanceInfo {
  Device device;  // of the MIG device that the compute instance is
  GpuInstance gpu_instance;
  std::uint32_t id, profile_id;
  ComputeInstancePlacement placement;
};
static_assert(sizeof(ComputeInstanceInfo) == 32 && offsetof(ComputeInstanceInfo, id) == 16);

/// The size of a MIG device.
struct DeviceAttributes {
  std::uint32_t multiprocessor_count, shared_copy_engine_count, shared_decoder_count,
      shared_encoder_count, shared_jpeg_count, shared_ofa_count, gpu_instance_slice_count,
      compute_instance_slice_count;
  std::uint64_t memory_size_mb;
};
static_assert(sizeof(DeviceAttributes) == 40);

/// Memory of a GPU or a MIG device.
struct Memory {
  std::uint64_t total, free, used;  // bytes
};
static_assert(sizeof(Memory) == 24);

/// The same with the reserved part apart.
struct Memory2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;  // bytes
};
static_assert(sizeof(Memory2) == 40 && offsetof(Memory2, total) == 8);

/// A process, as functions without a version suffix give it.
struct ProcessInfo1 {
  std::uint32_t pid;
  std::uint64_t used_memory;  // bytes
};
static_assert(sizeof(ProcessInfo1) == 16);

/// A process, as functions with _v2 and _v3 give it.
struct ProcessInfo {
  std::uint32_t pid;
  std::uint64_t used_memory;  // bytes
  std::uint32_t gpu_instance_id, compute_instance_id;
};
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, gpu_instance_id) == 16);

/// How busy a GPU is.
struct Utilization {
  std::uint32_t gpu, memory;  // percent
};
static_assert(sizeof(Utilization) == 8);

/// Whether a GPU counts for GPM.
struct GpmSupport {
  std::uint32_t version, is_supported_device;
};
static_assert(sizeof(GpmSupport) == 8);

/// One metric of GPM; the texts may be null.
struct GpmMetric {
  std::uint32_t metric_id;
  Return answer;
  double value;
  const char *short_name, *long_name, *unit;
};
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetric, value) == 8);

/// Metrics between two samples. Headers differ in the room for metrics: only the first
/// `metrics_count` are there.
struct GpmMetricsGet {
  std::uint32_t version, metrics_count;
  GpmSample sample1, sample2;
  std::array<GpmMetric, gpm_metrics_most> metrics;
};
static_assert(sizeof(GpmMetricsGet) == 13344 && offsetof(GpmMetricsGet, metrics) == 24);

/// One event of an event set.
struct EventData {
  Device device;
  std::uint64_t type, data;
  std::uint32_t gpu_instance_id, compute_instance_id;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, gpu_instance_id) == 24);

/// The value of a field.
struct FieldValue {
  std::uint32_t field, scope;
  std::int64_t timestamp_us, latency_us;
  std::uint32_t value_type;
  Return answer;
  std::uint64_t value;  // or anything else of up to eight bytes
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

/// Where a GPU is on the PCI bus.
struct PciInfo {
  std::array<char, 16> bus_id_legacy;
  std::uint32_t domain, bus, device, pci_device_id, pci_subsystem_id;
  std::array<char, 32> bus_id;
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);

/// The version word of a structure, which the caller writes into its first four bytes.
template <class T>
constexpr std::uint32_t version_word(std::uint32_t version) {
  return static_cast<std::uint32_t>(sizeof(T)) | version << 24;
}

}  // namespace cleave::nvml

// The functions that `device/` calls, by exported name: X(name, (parameters)), each returning
// Return. The library must have those of CLEAVE_NVML_NEEDED; without one of CLEAVE_NVML_OPTIONAL
// only a feature is missing.
// clang-format off
#define CLEAVE_NVML_NEEDED(X) \
  X(nvmlInit_v2, ()) \
  X(nvmlShutdown, ()) \
  X(nvmlSystemGetDriverVersion, (char* version, std::uint32_t size)) \
  X(nvmlDeviceGetCount_v2, (std::uint32_t* count)) \
  X(nvmlDeviceGetHandleByIndex_v2, (std::uint32_t index, Device* device)) \
  X(nvmlDeviceGetName, (Device device, char* name, std::uint32_t size)) \
  X(nvmlDeviceGetUUID, (Device device, char* uuid, std::uint32_t size))

#define CLEAVE_NVML_OPTIONAL(X) \
  X(nvmlSystemGetNVMLVersion, (char* version, std::uint32_t size)) \
  X(nvmlSystemGetCudaDriverVersion_v2, (int* version)) \
  X(nvmlDeviceGetHandleByUUID, (const char* uuid, Device* device)) \
  X(nvmlDeviceGetMinorNumber, (Device device, std::uint32_t* minor)) \
  X(nvmlDeviceGetPciInfo_v3, (Device device, PciInfo* pci)) \
  X(nvmlDeviceGetArchitecture, (Device device, std::uint32_t* architecture)) \
  X(nvmlDeviceGetCudaComputeCapability, (Device device, int* major, int* minor)) \
  X(nvmlDeviceSetMigMode, (Device device, std::uint32_t mode, Return* activation)) \
  X(nvmlDeviceGetMigMode, (Device device, std::uint32_t* current, std::uint32_t* pending)) \
  X(nvmlDeviceGetGpuInstanceProfileInfo, \
    (Device device, std::uint32_t profile, GpuInstanceProfileInfo* info)) \
  X(nvmlDeviceGetGpuInstanceProfileInfoV, \
    (Device device, std::uint32_t profile, GpuInstanceProfileInfo2* info)) \
  X(nvmlDeviceGetGpuInstancePossiblePlacements_v2, \
    (Device device, std::uint32_t profile_id, GpuInstancePlacement* placements, \
     std::uint32_t* count)) \
  X(nvmlDeviceGetGpuInstanceRemainingCapacity, \
    (Device device, std::uint32_t profile_id, std::uint32_t* count)) \
  X(nvmlDeviceCreateGpuInstance, (Device device, std::uint32_t profile_id, GpuInstance* instance)) \
  X(nvmlDeviceCreateGpuInstanceWithPlacement, \
    (Device device, std::uint32_t profile_id, const GpuInstancePlacement* placement, \
     GpuInstance* instance)) \
  X(nvmlGpuInstanceDestroy, (GpuInstance instance)) \
  X(nvmlDeviceGetGpuInstances, \
    (Device device, std::uint32_t profile_id, GpuInstance* instances, std::uint32_t* count)) \
  X(nvmlDeviceGetGpuInstanceById, (Device device, std::uint32_t id, GpuInstance* instance)) \
  X(nvmlGpuInstanceGetInfo, (GpuInstance instance, GpuInstanceInfo* info)) \
  X(nvmlGpuInstanceGetComputeInstanceProfileInfo, \
    (GpuInstance instance, std::uint32_t profile, std::uint32_t engine_profile, \
     ComputeInstanceProfileInfo* info)) \
  X(nvmlGpuInstanceGetComputeInstanceProfileInfoV, \
    (GpuInstance instance, std::uint32_t profile, std::uint32_t engine_profile, \
     ComputeInstanceProfileInfo2* info)) \
  X(nvmlGpuInstanceGetComputeInstanceRemainingCapacity, \
    (GpuInstance instance, std::uint32_t profile_id, std::uint32_t* count)) \
  X(nvmlGpuInstanceGetComputeInstancePossiblePlacements, \
    (GpuInstance instance, std::uint32_t profile_id, ComputeInstancePlacement* placements, \
     std::uint32_t* count)) \
  X(nvmlGpuInstanceCreateComputeInstance, \
    (GpuInstance instance, std::uint32_t profile_id, ComputeInstance* compute)) \
  X(nvmlGpuInstanceCreateComputeInstanceWithPlacement, \
    (GpuInstance instance, std::uint32_t profile_id, const ComputeInstancePlacement* placement, \
     ComputeInstance* compute)) \
  X(nvmlComputeInstanceDestroy, (ComputeInstance compute)) \
  X(nvmlGpuInstanceGetComputeInstances, \
    (GpuInstance instance, std::uint32_t profile_id, ComputeInstance* computes, \
     std::uint32_t* count)) \
  X(nvmlGpuInstanceGetComputeInstanceById, \
    (GpuInstance instance, std::uint32_t id, ComputeInstance* compute)) \
  X(nvmlComputeInstanceGetInfo_v2, (ComputeInstance compute, ComputeInstanceInfo* info)) \
  X(nvmlDeviceIsMigDeviceHandle, (Device device, std::uint32_t* is)) \
  X(nvmlDeviceGetGpuInstanceId, (Device device, std::uint32_t* id)) \
  X(nvmlDeviceGetComputeInstanceId, (Device device, std::uint32_t* id)) \
  X(nvmlDeviceGetMaxMigDeviceCount, (Device device, std::uint32_t* count)) \
  X(nvmlDeviceGetMigDeviceHandleByIndex, (Device device, std::uint32_t index, Device* mig)) \
  X(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (Device mig, Device* device)) \
  X(nvmlDeviceGetAttributes_v2, (Device mig, DeviceAttributes* attributes)) \
  X(nvmlDeviceGetMemoryInfo, (Device device, Memory* memory)) \
  X(nvmlDeviceGetMemoryInfo_v2, (Device device, Memory2* memory)) \
  X(nvmlDeviceGetComputeRunningProcesses_v3, \
    (Device device, std::uint32_t* count, ProcessInfo* processes)) \
  X(nvmlDeviceGetMPSComputeRunningProcesses_v3, \
    (Device device, std::uint32_t* count, ProcessInfo* processes)) \
  X(nvmlDeviceGetPowerUsage, (Device device, std::uint32_t* milliwatts)) \
  X(nvmlDeviceGetEnforcedPowerLimit, (Device device, std::uint32_t* milliwatts)) \
  X(nvmlDeviceGetTotalEnergyConsumption, (Device device, std::uint64_t* millijoules)) \
  X(nvmlDeviceGetSupportedEventTypes, (Device device, std::uint64_t* types)) \
  X(nvmlEventSetCreate, (EventSet* set)) \
  X(nvmlDeviceRegisterEvents, (Device device, std::uint64_t types, EventSet set)) \
  X(nvmlEventSetWait_v2, (EventSet set, EventData* data, std::uint32_t timeout_ms)) \
  X(nvmlEventSetFree, (EventSet set)) \
  X(nvmlDeviceGetFieldValues, (Device device, int count, FieldValue* values)) \
  X(nvmlDeviceGetRemappedRows, \
    (Device device, std::uint32_t* corrected, std::uint32_t* uncorrected, std::uint32_t* pending, \
     std::uint32_t* failed)) \
  X(nvmlDeviceGetTotalEccErrors, \
    (Device device, std::uint32_t error_type, std::uint32_t counter_type, std::uint64_t* count)) \
  X(nvmlDeviceGetMemoryErrorCounter, \
    (Device device, std::uint32_t error_type, std::uint32_t counter_type, \
     std::uint32_t location, std::uint64_t* count)) \
  X(nvmlGpmQueryDeviceSupport, (Device device, GpmSupport* support)) \
  X(nvmlGpmSampleAlloc, (GpmSample* sample)) \
  X(nvmlGpmSampleFree, (GpmSample sample)) \
  X(nvmlGpmSampleGet, (Device device, GpmSample sample)) \
  X(nvmlGpmMigSampleGet, (Device device, std::uint32_t instance_id, GpmSample sample)) \
  X(nvmlGpmMetricsGet, (void* metrics)) /* GpmMetricsGet, whose length headers disagree on */

// Further functions that other programs (nvtop, gpustat, hwloc, Slurm, pynvml) call; only the
// simulated library has these.
#define CLEAVE_NVML_OTHERS(X) \
  X(nvmlInit, ()) \
  X(nvmlInitWithFlags, (std::uint32_t flags)) \
  X(nvmlSystemGetCudaDriverVersion, (int* version)) \
  X(nvmlSystemGetProcessName, (std::uint32_t pid, char* name, std::uint32_t size)) \
  X(nvmlDeviceGetCount, (std::uint32_t* count)) \
  X(nvmlDeviceGetHandleByIndex, (std::uint32_t index, Device* device)) \
  X(nvmlDeviceGetHandleByPciBusId, (const char* bus_id, Device* device)) \
  X(nvmlDeviceGetHandleByPciBusId_v2, (const char* bus_id, Device* device)) \
  X(nvmlDeviceGetHandleBySerial, (const char* serial, Device* device)) \
  X(nvmlDeviceGetSerial, (Device device, char* serial, std::uint32_t size)) \
  X(nvmlDeviceGetIndex, (Device device, std::uint32_t* index)) \
  X(nvmlDeviceGetBrand, (Device device, std::uint32_t* brand)) \
  X(nvmlDeviceGetPciInfo, (Device device, void* pci)) \
  X(nvmlDeviceGetPciInfo_v2, (Device device, void* pci)) \
  X(nvmlDeviceGetAttributes, (Device mig, DeviceAttributes* attributes)) \
  X(nvmlDeviceGetGpuInstancePossiblePlacements, \
    (Device device, std::uint32_t profile_id, GpuInstancePlacement* placements, \
     std::uint32_t* count)) \
  X(nvmlDeviceGetGpuInstanceProfileInfoByIdV, \
    (Device device, std::uint32_t profile_id, GpuInstanceProfileInfo2* info)) \
  X(nvmlComputeInstanceGetInfo, (ComputeInstance compute, ComputeInstanceInfo* info)) \
  X(nvmlEventSetWait, (EventSet set, EventData* data, std::uint32_t timeout_ms)) \
  X(nvmlDeviceGetComputeRunningProcesses, \
    (Device device, std::uint32_t* count, ProcessInfo1* processes)) \
  X(nvmlDeviceGetComputeRunningProcesses_v2, \
    (Device device, std::uint32_t* count, ProcessInfo* processes)) \
  X(nvmlDeviceGetGraphicsRunningProcesses, \
    (Device device, std::uint32_t* count, ProcessInfo1* processes)) \
  X(nvmlDeviceGetGraphicsRunningProcesses_v2, \
    (Device device, std::uint32_t* count, ProcessInfo* processes)) \
  X(nvmlDeviceGetGraphicsRunningProcesses_v3, \
    (Device device, std::uint32_t* count, ProcessInfo* processes)) \
  X(nvmlDeviceGetMPSComputeRunningProcesses, \
    (Device device, std::uint32_t* count, ProcessInfo1* processes)) \
  X(nvmlDeviceGetMPSComputeRunningProcesses_v2, \
    (Device device, std::uint32_t* count, ProcessInfo* processes)) \
  X(nvmlDeviceGetUtilizationRates, (Device device, Utilization* rates)) \
  X(nvmlDeviceGetPowerManagementLimit, (Device device, std::uint32_t* milliwatts)) \
  X(nvmlDeviceGetPowerManagementDefaultLimit, (Device device, std::uint32_t* milliwatts)) \
  X(nvmlDeviceGetPowerManagementLimitConstraints, \
    (Device device, std::uint32_t* least, std::uint32_t* most)) \
  X(nvmlDeviceGetTemperature, (Device device, std::uint32_t sensor, std::uint32_t* celsius)) \
  X(nvmlDeviceGetTemperatureThreshold, \
    (Device device, std::uint32_t threshold, std::uint32_t* celsius)) \
  X(nvmlDeviceGetClockInfo, (Device device, ClockType type, std::uint32_t* mhz)) \
  X(nvmlDeviceGetMaxClockInfo, (Device device, ClockType type, std::uint32_t* mhz)) \
  X(nvmlDeviceGetPerformanceState, (Device device, std::uint32_t* state)) \
  X(nvmlDeviceGetPersistenceMode, (Device device, std::uint32_t* mode)) \
  X(nvmlDeviceGetComputeMode, (Device device, std::uint32_t* mode)) \
  X(nvmlDeviceGetDisplayActive, (Device device, std::uint32_t* mode)) \
  X(nvmlDeviceGetDisplayMode, (Device device, std::uint32_t* mode)) \
  X(nvmlDeviceGetMaxPcieLinkGeneration, (Device device, std::uint32_t* generation)) \
  X(nvmlDeviceGetMaxPcieLinkWidth, (Device device, std::uint32_t* width)) \
  X(nvmlDeviceGetCurrPcieLinkGeneration, (Device device, std::uint32_t* generation)) \
  X(nvmlDeviceGetCurrPcieLinkWidth, (Device device, std::uint32_t* width)) \
  X(nvmlDeviceGetPcieThroughput, \
    (Device device, std::uint32_t counter, std::uint32_t* kilobytes_per_s)) \
  X(nvmlDeviceGetCpuAffinity, (Device device, std::uint32_t size, std::uint64_t* set))
// clang-format on
