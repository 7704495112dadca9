#pragma once
// What monitors and studies of power call beside the interface that Cleave itself uses
// (model/nvml_abi.hpp): structures and functions that only the simulated library has. Sizes and
// offsets are those of 64-bit Linux; a test compares them with the vendor's header where there is
// one.
//
// Source: NVIDIA's NVML API reference, API version 13.

#include "model/nvml_abi.hpp"

namespace cleave::nvml {

/// Where a GPU is on the PCI bus, and of which class it is.
struct PciInfoExt {
  std::uint32_t version, domain, bus, device, pci_device_id, pci_subsystem_id, base_class,
      sub_class;
  std::array<char, 32> bus_id;
};
static_assert(sizeof(PciInfoExt) == 64 && offsetof(PciInfoExt, bus_id) == 32);

/// A UUID as text or as bytes.
struct UuidQuery {
  std::uint32_t version, type;
  std::array<char, 41> value;
};
static_assert(sizeof(UuidQuery) == 52 && offsetof(UuidQuery, value) == 8);
inline constexpr std::uint32_t uuid_as_text = 1, uuid_as_bytes = 2;

/// The memory that a GPU shows on the bus.
struct Bar1Memory {
  std::uint64_t total, free, used;  // bytes
};
static_assert(sizeof(Bar1Memory) == 24);

/// A temperature and its sensor.
struct TemperatureQuery {
  std::uint32_t version, sensor;
  std::int32_t celsius;
};
static_assert(sizeof(TemperatureQuery) == 12);

/// How far a GPU is from slowing down.
struct MarginTemperature {
  std::uint32_t version;
  std::int32_t celsius;
};
static_assert(sizeof(MarginTemperature) == 8);

/// How a GPU addresses the host's memory.
struct AddressingMode {
  std::uint32_t version, mode;
};
static_assert(sizeof(AddressingMode) == 8);

/// A process of a ProcessDetailList.
struct ProcessDetail {
  std::uint32_t pid;
  std::uint64_t used_memory;  // bytes
  std::uint32_t gpu_instance_id, compute_instance_id;
  std::uint64_t protected_memory;
};
static_assert(sizeof(ProcessDetail) == 32 && offsetof(ProcessDetail, protected_memory) == 24);

/// The processes of one kind.
struct ProcessDetailList {
  std::uint32_t version, mode, count;
  ProcessDetail* processes;
};
static_assert(sizeof(ProcessDetailList) == 24 && offsetof(ProcessDetailList, processes) == 16);
inline constexpr std::uint32_t processes_compute = 0, processes_all = 3;

/// How much of a GPU a process used.
struct ProcessUtilization {
  std::uint32_t pid;
  std::uint64_t time_us;
  std::uint32_t sm, memory, encoder, decoder;  // percent
};
static_assert(sizeof(ProcessUtilization) == 32 && offsetof(ProcessUtilization, time_us) == 8);

/// The same in the newer form.
struct ProcessUtilizationInfo {
  std::uint64_t time_us;
  std::uint32_t pid, sm, memory, encoder, decoder, jpeg, ofa;
};
static_assert(sizeof(ProcessUtilizationInfo) == 40);

/// All of them.
struct ProcessesUtilization {
  std::uint32_t version, count;
  std::uint64_t last_seen_us;
  ProcessUtilizationInfo* processes;
};
static_assert(sizeof(ProcessesUtilization) == 24);

/// One of the driver's samples; the value is an unsigned 32-bit number.
struct Sample {
  std::uint64_t time_us, value;
};
static_assert(sizeof(Sample) == 16);

/// Kinds of sample.
enum class SampleKind : std::uint32_t {
  power = 0,
  gpu = 1,
  memory = 2,
  encoder = 3,
  decoder = 4,
  sm_clock = 5,
  memory_clock = 6,
  module_power = 7,
  jpeg = 8,
  ofa = 9
};
inline constexpr std::uint32_t value_is_u32 = 1;

/// A power limit to be set.
struct PowerValue {
  std::uint32_t version, scope, milliwatts;
};
static_assert(sizeof(PowerValue) == 12);

/// How many banks of memory have how many spare rows left.
struct RowRemapperHistogram {
  std::uint32_t all, high, partial, low, none;
};
static_assert(sizeof(RowRemapperHistogram) == 20);

/// Memory errors by where they were.
struct EccCounts {
  std::uint64_t l1, l2, device_memory, registers;
};
static_assert(sizeof(EccCounts) == 32);

/// The branch of a driver.
struct DriverBranch {
  std::uint32_t version;
  std::array<char, version_size> branch;
};
static_assert(sizeof(DriverBranch) == 84);

/// Kinds of clock: the actual one, what applications asked for, its default, the highest.
enum class ClockId : std::uint32_t { current = 0, target = 1, target_default = 2, boost_most = 3 };

/// Who may use a GPU with MIG off: everybody (0), or as these.
inline constexpr std::uint32_t compute_exclusive_thread = 1, compute_prohibited = 2,
                               compute_exclusive_process = 3;

/// How two GPUs are connected.
inline constexpr std::uint32_t topology_internal = 0, topology_one_switch = 10, topology_node = 40,
                               topology_system = 50;
inline constexpr std::uint32_t peers_ok = 0, peers_not_supported = 5;
/// What NVML knows of peers: read, write, NVLink, atomics, PCIe; then "unknown".
inline constexpr std::uint32_t peer_nvlink = 2, peer_kinds = 5;

// Why clocks are not the highest: bits of nvmlDeviceGetCurrentClocksEventReasons.
inline constexpr std::uint64_t clocks_idle = 0x1, clocks_set = 0x2, clocks_power_cap = 0x4;

// Further bits of nvmlDeviceRegisterEvents.
inline constexpr std::uint64_t event_corrected_error = 0x1, event_uncorrected_error = 0x2,
                               event_mig_config = 0x100;

inline constexpr std::uint32_t affinity_node = 0, affinity_socket = 1;
inline constexpr std::uint32_t memory_error_corrected = 0, ecc_aggregate = 1,
                               memory_location_dram = 2, memory_locations = 8;

}  // namespace cleave::nvml

// Declared as in model/nvml_abi.hpp.
// clang-format off
#define CLEAVE_NVML_MONITORS(X) \
  X(nvmlSystemGetHicVersion, (std::uint32_t* count, void* entries)) \
  X(nvmlSystemGetDriverBranch, (DriverBranch* branch, std::uint32_t size)) \
  X(nvmlSystemGetTopologyGpuSet, \
    (std::uint32_t cpu, std::uint32_t* count, Device* devices)) \
  X(nvmlUnitGetCount, (std::uint32_t* count)) \
  X(nvmlGetExcludedDeviceCount, (std::uint32_t* count)) \
  X(nvmlDeviceGetHandleByUUIDV, (const UuidQuery* uuid, Device* device)) \
  X(nvmlDeviceGetPciInfoExt, (Device device, PciInfoExt* pci)) \
  X(nvmlDeviceGetVirtualizationMode, (Device device, std::uint32_t* mode)) \
  X(nvmlDeviceGetAddressingMode, (Device device, AddressingMode* mode)) \
  X(nvmlDeviceGetTopologyCommonAncestor, \
    (Device device, Device other, std::uint32_t* level)) \
  X(nvmlDeviceGetTopologyNearestGpus, \
    (Device device, std::uint32_t level, std::uint32_t* count, Device* devices)) \
  X(nvmlDeviceGetP2PStatus, \
    (Device device, Device other, std::uint32_t kind, std::uint32_t* status)) \
  X(nvmlDeviceOnSameBoard, (Device device, Device other, int* same)) \
  X(nvmlDeviceGetBoardId, (Device device, std::uint32_t* id)) \
  X(nvmlDeviceGetMultiGpuBoard, (Device device, std::uint32_t* several)) \
  X(nvmlDeviceGetModuleId, (Device device, std::uint32_t* id)) \
  X(nvmlDeviceGetBoardPartNumber, (Device device, char* number, std::uint32_t size)) \
  X(nvmlDeviceGetVbiosVersion, (Device device, char* version, std::uint32_t size)) \
  X(nvmlDeviceGetGspFirmwareVersion, (Device device, char* version)) \
  X(nvmlDeviceGetGspFirmwareMode, \
    (Device device, std::uint32_t* enabled, std::uint32_t* by_default)) \
  X(nvmlDeviceGetNumGpuCores, (Device device, std::uint32_t* cores)) \
  X(nvmlDeviceGetMemoryBusWidth, (Device device, std::uint32_t* bits)) \
  X(nvmlDeviceGetBusType, (Device device, std::uint32_t* type)) \
  X(nvmlDeviceGetGpuMaxPcieLinkGeneration, (Device device, std::uint32_t* generation)) \
  X(nvmlDeviceGetPcieSpeed, (Device device, std::uint32_t* megabits_per_s)) \
  X(nvmlDeviceGetPcieLinkMaxSpeed, (Device device, std::uint32_t* code)) \
  X(nvmlDeviceGetPcieReplayCounter, (Device device, std::uint32_t* count)) \
  X(nvmlDeviceGetMemoryAffinity, \
    (Device device, std::uint32_t size, std::uint64_t* set, std::uint32_t scope)) \
  X(nvmlDeviceGetCpuAffinityWithinScope, \
    (Device device, std::uint32_t size, std::uint64_t* set, std::uint32_t scope)) \
  X(nvmlDeviceGetBAR1MemoryInfo, (Device device, Bar1Memory* memory)) \
  X(nvmlDeviceGetTemperatureV, (Device device, TemperatureQuery* temperature)) \
  X(nvmlDeviceGetMarginTemperature, (Device device, MarginTemperature* margin)) \
  X(nvmlDeviceGetRunningProcessDetailList, (Device device, ProcessDetailList* list)) \
  X(nvmlDeviceGetProcessUtilization, \
    (Device device, ProcessUtilization* samples, std::uint32_t* count, \
     std::uint64_t last_seen_us)) \
  X(nvmlDeviceGetProcessesUtilizationInfo, (Device device, ProcessesUtilization* info)) \
  X(nvmlDeviceGetSamples, \
    (Device device, SampleKind kind, std::uint64_t last_seen_us, std::uint32_t* type, \
     std::uint32_t* count, Sample* samples)) \
  X(nvmlDeviceGetEncoderUtilization, \
    (Device device, std::uint32_t* percent, std::uint32_t* period_us)) \
  X(nvmlDeviceGetDecoderUtilization, \
    (Device device, std::uint32_t* percent, std::uint32_t* period_us)) \
  X(nvmlDeviceGetJpgUtilization, \
    (Device device, std::uint32_t* percent, std::uint32_t* period_us)) \
  X(nvmlDeviceGetOfaUtilization, \
    (Device device, std::uint32_t* percent, std::uint32_t* period_us)) \
  X(nvmlDeviceGetEncoderStats, \
    (Device device, std::uint32_t* sessions, std::uint32_t* fps, std::uint32_t* latency_us)) \
  X(nvmlDeviceGetEccMode, (Device device, std::uint32_t* current, std::uint32_t* pending)) \
  X(nvmlDeviceGetDefaultEccMode, (Device device, std::uint32_t* mode)) \
  X(nvmlDeviceGetDetailedEccErrors, \
    (Device device, std::uint32_t error_type, std::uint32_t counter_type, EccCounts* counts)) \
  X(nvmlDeviceClearEccErrorCounts, (Device device, std::uint32_t counter_type)) \
  X(nvmlDeviceGetRowRemapperHistogram, (Device device, RowRemapperHistogram* histogram)) \
  X(nvmlDeviceGetSupportedMemoryClocks, \
    (Device device, std::uint32_t* count, std::uint32_t* mhz)) \
  X(nvmlDeviceGetSupportedGraphicsClocks, \
    (Device device, std::uint32_t memory_mhz, std::uint32_t* count, std::uint32_t* mhz)) \
  X(nvmlDeviceGetClock, (Device device, ClockType type, ClockId id, std::uint32_t* mhz)) \
  X(nvmlDeviceGetApplicationsClock, (Device device, ClockType type, std::uint32_t* mhz)) \
  X(nvmlDeviceGetDefaultApplicationsClock, (Device device, ClockType type, std::uint32_t* mhz)) \
  X(nvmlDeviceGetMaxCustomerBoostClock, (Device device, ClockType type, std::uint32_t* mhz)) \
  X(nvmlDeviceGetMinMaxClockOfPState, \
    (Device device, ClockType type, std::uint32_t state, std::uint32_t* least, \
     std::uint32_t* most)) \
  X(nvmlDeviceGetCurrentClocksEventReasons, (Device device, std::uint64_t* reasons)) \
  X(nvmlDeviceGetCurrentClocksThrottleReasons, (Device device, std::uint64_t* reasons)) \
  X(nvmlDeviceGetSupportedClocksEventReasons, (Device device, std::uint64_t* reasons)) \
  X(nvmlDeviceGetSupportedClocksThrottleReasons, (Device device, std::uint64_t* reasons)) \
  X(nvmlDeviceGetPowerState, (Device device, std::uint32_t* state)) \
  X(nvmlDeviceGetSupportedPerformanceStates, \
    (Device device, std::uint32_t* states, std::uint32_t size)) \
  X(nvmlDeviceGetPowerManagementMode, (Device device, std::uint32_t* mode)) \
  X(nvmlDeviceSetPowerManagementLimit, (Device device, std::uint32_t milliwatts)) \
  X(nvmlDeviceSetPowerManagementLimit_v2, (Device device, PowerValue* power)) \
  X(nvmlDeviceSetPersistenceMode, (Device device, std::uint32_t mode)) \
  X(nvmlDeviceSetComputeMode, (Device device, std::uint32_t mode)) \
  X(nvmlDeviceSetGpuLockedClocks, (Device device, std::uint32_t least, std::uint32_t most)) \
  X(nvmlDeviceResetGpuLockedClocks, (Device device)) \
  X(nvmlDeviceSetMemoryLockedClocks, (Device device, std::uint32_t least, std::uint32_t most)) \
  X(nvmlDeviceResetMemoryLockedClocks, (Device device)) \
  X(nvmlDeviceSetApplicationsClocks, \
    (Device device, std::uint32_t memory_mhz, std::uint32_t graphics_mhz)) \
  X(nvmlDeviceResetApplicationsClocks, (Device device))
// clang-format on
