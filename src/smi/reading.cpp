#include "smi/reading.hpp"

#include <sys/time.h>
#include <time.h>

#include <algorithm>

#include "base/format.hpp"

namespace cleave::smi {

namespace {

using nvml::ClockType;
using nvml::Device;
using nvml::EveryFunction;
using Number = std::uint32_t;

std::string now_text() {
  timeval now{};
  gettimeofday(&now, nullptr);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  return fmt::format("{}/{:02}/{:02} {:02}:{:02}:{:02}.{:03}", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     now.tv_usec / 1000);
}

std::optional<bool> on(std::optional<Number> mode) {
  if (!mode) return {};
  return *mode != 0;
}

/// What a function says that writes two values.
template <class Function>
std::optional<std::pair<Number, Number>> pair_of(Function function, Device device) {
  Number first = 0, second = 0;
  if (function == nullptr || function(device, &first, &second) != nvml::Return::success) return {};
  return std::pair(first, second);
}

std::optional<Number> first_of(std::optional<std::pair<Number, Number>> both) {
  if (!both) return {};
  return both->first;
}

std::optional<ModeReading> mode_of(std::optional<std::pair<Number, Number>> both) {
  if (!both) return {};
  return ModeReading{both->first != 0, both->second != 0};
}

std::optional<MemoryReading> memory_of(const EveryFunction& nvml, Device device) {
  if (const auto told = ask_version<nvml::Memory2>(2, nvml.nvmlDeviceGetMemoryInfo_v2, device))
    return MemoryReading{told->total, told->reserved, told->used, told->free};
  const auto told = ask<nvml::Memory>(nvml.nvmlDeviceGetMemoryInfo, device);
  if (!told) return {};
  return MemoryReading{told->total, 0, told->used, told->free};
}

std::optional<MemoryReading> bar1_of(const EveryFunction& nvml, Device device) {
  const auto told = ask<nvml::Bar1Memory>(nvml.nvmlDeviceGetBAR1MemoryInfo, device);
  if (!told) return {};
  return MemoryReading{told->total, 0, told->used, told->free};
}

std::optional<MigReading> mig_of(const EveryFunction& nvml, Device gpu, Number index) {
  const auto device = ask<Device>(nvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu, index);
  if (!device) return {};
  MigReading mig;
  mig.index = index;
  mig.gpu_instance = ask<Number>(nvml.nvmlDeviceGetGpuInstanceId, *device).value_or(0);
  mig.compute_instance = ask<Number>(nvml.nvmlDeviceGetComputeInstanceId, *device).value_or(0);
  mig.uuid = ask_text<nvml::uuid_size>(nvml.nvmlDeviceGetUUID, *device).value_or("");
  const std::string name = ask_text<nvml::name_size>(nvml.nvmlDeviceGetName, *device).value_or("");
  const std::size_t at = name.rfind("MIG ");
  mig.profile = at == std::string::npos ? name : name.substr(at + 4);
  mig.attributes = ask<nvml::DeviceAttributes>(nvml.nvmlDeviceGetAttributes_v2, *device);
  mig.memory = memory_of(nvml, *device);
  mig.bar1 = bar1_of(nvml, *device);
  mig.uncorrected = ask<std::uint64_t>(nvml.nvmlDeviceGetMemoryErrorCounter, *device,
                                       nvml::memory_error_uncorrected, nvml::ecc_volatile,
                                       nvml::memory_location_sram);
  return mig;
}

std::vector<MigReading> migs_of(const EveryFunction& nvml, Device gpu) {
  std::vector<MigReading> list;
  const Number most = ask<Number>(nvml.nvmlDeviceGetMaxMigDeviceCount, gpu).value_or(0);
  for (Number index = 0; index < std::min(most, Number{256}); ++index)
    if (auto mig = mig_of(nvml, gpu, index)) list.push_back(std::move(*mig));
  return list;
}

std::vector<ProcessReading> processes_of(Door& door, const EveryFunction& nvml, Number index) {
  std::vector<ProcessReading> list;
  const auto running = door.processes(GpuIndex{index});
  if (!running) return list;
  for (const LiveProcess& each : *running) {
    ProcessReading process{each.pid, each.memory_bytes, {}, {}, {}};
    if (each.gpu_instance) process.gpu_instance = static_cast<Number>(*each.gpu_instance);
    if (each.compute_instance)
      process.compute_instance = static_cast<Number>(*each.compute_instance);
    process.name = ask_text<1024>(nvml.nvmlSystemGetProcessName, each.pid);
    list.push_back(std::move(process));
  }
  return list;
}

ErrorsReading errors_of(const EveryFunction& nvml, Device device, Number kind) {
  const auto counted = [&](Number counter) {
    return ask<std::uint64_t>(nvml.nvmlDeviceGetTotalEccErrors, device, kind, counter);
  };
  return {counted(nvml::ecc_volatile), counted(nvml::ecc_aggregate)};
}

std::optional<RowsReading> rows_of(const EveryFunction& nvml, Device device) {
  Number corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (nvml.nvmlDeviceGetRemappedRows == nullptr ||
      nvml.nvmlDeviceGetRemappedRows(device, &corrected, &uncorrected, &pending, &failed) !=
          nvml::Return::success)
    return {};
  return RowsReading{corrected, uncorrected, pending != 0, failed != 0};
}

ClockReading clock_of(const EveryFunction& nvml, Device device, ClockType type) {
  return {ask<Number>(nvml.nvmlDeviceGetClockInfo, device, type),
          ask<Number>(nvml.nvmlDeviceGetApplicationsClock, device, type),
          ask<Number>(nvml.nvmlDeviceGetMaxClockInfo, device, type)};
}

PowerReading power_of(const EveryFunction& nvml, Device device) {
  const auto range = pair_of(nvml.nvmlDeviceGetPowerManagementLimitConstraints, device);
  PowerReading power{ask<Number>(nvml.nvmlDeviceGetPowerUsage, device),
                     ask<Number>(nvml.nvmlDeviceGetPowerManagementLimit, device),
                     ask<Number>(nvml.nvmlDeviceGetEnforcedPowerLimit, device),
                     ask<Number>(nvml.nvmlDeviceGetPowerManagementDefaultLimit, device),
                     first_of(range),
                     {}};
  if (range) power.most = range->second;
  return power;
}

void read_identity(const EveryFunction& nvml, Device device, GpuReading& gpu) {
  gpu.uuid = ask_text<nvml::uuid_size>(nvml.nvmlDeviceGetUUID, device).value_or("");
  gpu.name = ask_text<nvml::name_size>(nvml.nvmlDeviceGetName, device).value_or("");
  gpu.serial = ask_text<32>(nvml.nvmlDeviceGetSerial, device);
  gpu.vbios = ask_text<32>(nvml.nvmlDeviceGetVbiosVersion, device);
  gpu.board_part = ask_text<80>(nvml.nvmlDeviceGetBoardPartNumber, device);
  std::array<char, 80> firmware{};
  if (nvml.nvmlDeviceGetGspFirmwareVersion != nullptr &&
      nvml.nvmlDeviceGetGspFirmwareVersion(device, firmware.data()) == nvml::Return::success)
    gpu.gsp_firmware = firmware.data();
  gpu.minor = ask<Number>(nvml.nvmlDeviceGetMinorNumber, device);
  gpu.brand = ask<Number>(nvml.nvmlDeviceGetBrand, device);
  gpu.architecture = ask<Number>(nvml.nvmlDeviceGetArchitecture, device);
  gpu.board_id = ask<Number>(nvml.nvmlDeviceGetBoardId, device);
  gpu.module_id = ask<Number>(nvml.nvmlDeviceGetModuleId, device);
  int major = 0, minor = 0;
  if (nvml.nvmlDeviceGetCudaComputeCapability != nullptr &&
      nvml.nvmlDeviceGetCudaComputeCapability(device, &major, &minor) == nvml::Return::success)
    gpu.capability = std::pair(major, minor);
  gpu.pci = ask<nvml::PciInfo>(nvml.nvmlDeviceGetPciInfo_v3, device);
}

void read_modes(const EveryFunction& nvml, Device device, GpuReading& gpu) {
  gpu.pcie_generation = ask<Number>(nvml.nvmlDeviceGetCurrPcieLinkGeneration, device);
  gpu.pcie_generation_most = ask<Number>(nvml.nvmlDeviceGetMaxPcieLinkGeneration, device);
  gpu.pcie_width = ask<Number>(nvml.nvmlDeviceGetCurrPcieLinkWidth, device);
  gpu.pcie_width_most = ask<Number>(nvml.nvmlDeviceGetMaxPcieLinkWidth, device);
  gpu.pcie_sent = ask<Number>(nvml.nvmlDeviceGetPcieThroughput, device, 0U);
  gpu.pcie_received = ask<Number>(nvml.nvmlDeviceGetPcieThroughput, device, 1U);
  gpu.replays = ask<Number>(nvml.nvmlDeviceGetPcieReplayCounter, device);
  gpu.display_active = on(ask<Number>(nvml.nvmlDeviceGetDisplayActive, device));
  gpu.display_mode = on(ask<Number>(nvml.nvmlDeviceGetDisplayMode, device));
  gpu.persistence = on(ask<Number>(nvml.nvmlDeviceGetPersistenceMode, device));
  gpu.compute_mode = ask<Number>(nvml.nvmlDeviceGetComputeMode, device);
  gpu.performance_state = ask<Number>(nvml.nvmlDeviceGetPerformanceState, device);
  gpu.mig = mode_of(pair_of(nvml.nvmlDeviceGetMigMode, device));
  gpu.ecc = mode_of(pair_of(nvml.nvmlDeviceGetEccMode, device));
  if (const auto told =
          ask_version<nvml::AddressingMode>(1, nvml.nvmlDeviceGetAddressingMode, device))
    gpu.addressing = told->mode;
}

void read_work(const EveryFunction& nvml, Device device, GpuReading& gpu) {
  gpu.memory = memory_of(nvml, device);
  gpu.bar1 = bar1_of(nvml, device);
  if (const auto rates = ask<nvml::Utilization>(nvml.nvmlDeviceGetUtilizationRates, device)) {
    gpu.busy = rates->gpu;
    gpu.memory_busy = rates->memory;
  }
  gpu.encoder = first_of(pair_of(nvml.nvmlDeviceGetEncoderUtilization, device));
  gpu.decoder = first_of(pair_of(nvml.nvmlDeviceGetDecoderUtilization, device));
  gpu.jpeg = first_of(pair_of(nvml.nvmlDeviceGetJpgUtilization, device));
  gpu.ofa = first_of(pair_of(nvml.nvmlDeviceGetOfaUtilization, device));
  gpu.corrected = errors_of(nvml, device, nvml::memory_error_corrected);
  gpu.uncorrected = errors_of(nvml, device, nvml::memory_error_uncorrected);
  gpu.rows = rows_of(nvml, device);
  gpu.celsius = ask<Number>(nvml.nvmlDeviceGetTemperature, device, 0U);
  gpu.celsius_shutdown = ask<Number>(nvml.nvmlDeviceGetTemperatureThreshold, device, 0U);
  gpu.celsius_slow = ask<Number>(nvml.nvmlDeviceGetTemperatureThreshold, device, 1U);
  gpu.power = power_of(nvml, device);
  gpu.energy_millijoules = ask<std::uint64_t>(nvml.nvmlDeviceGetTotalEnergyConsumption, device);
  gpu.graphics = clock_of(nvml, device, ClockType::graphics);
  gpu.sm = clock_of(nvml, device, ClockType::sm);
  gpu.memory_clock = clock_of(nvml, device, ClockType::memory);
  gpu.video = clock_of(nvml, device, ClockType::video);
  gpu.clock_reasons = ask<std::uint64_t>(nvml.nvmlDeviceGetCurrentClocksEventReasons, device);
}

}  // namespace

NodeReading read_node(Door& door, const EveryFunction& nvml, const std::vector<Number>& gpus) {
  const DriverFacts driver = door.driver();
  NodeReading node{
      driver.driver_version, now_text(), driver.cuda_version, {}, door.gpu_count().value_or(0)};
  for (const Number index : gpus) {
    GpuReading gpu;
    gpu.index = index;
    if (const auto device = ask<Device>(nvml.nvmlDeviceGetHandleByIndex_v2, index)) {
      read_identity(nvml, *device, gpu);
      read_modes(nvml, *device, gpu);
      read_work(nvml, *device, gpu);
      gpu.migs = migs_of(nvml, *device);
      gpu.processes = processes_of(door, nvml, index);
    }
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

std::string version_text(std::optional<int> cuda_version) {
  if (!cuda_version) return "N/A";
  return fmt::format("{}.{}", *cuda_version / 1000, *cuda_version % 1000 / 10);
}

}  // namespace cleave::smi
