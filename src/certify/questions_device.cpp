// What identifies a GPU, its memory, power and clocks.

#include "base/format.hpp"
#include "certify/questions.hpp"

namespace cleave::certify {

using nvml::version_word;

namespace {

struct ClockRow {
  nvml::ClockType type;
  const char* name;
};
constexpr ClockRow clocks[] = {{nvml::ClockType::graphics, "graphics"},
                               {nvml::ClockType::sm, "SM"},
                               {nvml::ClockType::memory, "memory"},
                               {nvml::ClockType::video, "video"}};

constexpr std::uint32_t temperature_thresholds = 8;
constexpr std::uint32_t clock_list_room = 512;

}  // namespace

void ask_driver(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  constexpr auto topic = Topic::driver;
  asking.text(topic, CLEAVE_NAMED(f, nvmlSystemGetDriverVersion));
  asking.text(topic, CLEAVE_NAMED(f, nvmlSystemGetNVMLVersion));
  asking.one(topic, CLEAVE_NAMED(f, nvmlSystemGetCudaDriverVersion), "");
  asking.one(topic, CLEAVE_NAMED(f, nvmlSystemGetCudaDriverVersion_v2), "");
  asking.ask(topic, "nvmlSystemGetDriverBranch", f.nvmlSystemGetDriverBranch != nullptr, "", [&] {
    nvml::DriverBranch branch{version_word<nvml::DriverBranch>(1), {}};
    const nvml::Return code = f.nvmlSystemGetDriverBranch(&branch, nvml::version_size);
    return Told{code, json_of(branch)};
  });
  asking.one(topic, CLEAVE_NAMED(f, nvmlUnitGetCount), "");
  asking.one(topic, CLEAVE_NAMED(f, nvmlGetExcludedDeviceCount), "");
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetHandleByIndex_v2), "GPU 99", 99U);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetHandleByUUID), "one that is nowhere", "GPU-0");
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetHandleByPciBusId_v2), "one that is nowhere",
             "0000:FF:1F.0");
}

void ask_identity(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  const nvml::Device gpu = subject.device;
  constexpr auto topic = Topic::identity;
  asking.text(topic, CLEAVE_NAMED(f, nvmlDeviceGetName), gpu);
  asking.text(topic, CLEAVE_NAMED(f, nvmlDeviceGetUUID), gpu);
  asking.text(topic, CLEAVE_NAMED(f, nvmlDeviceGetSerial), gpu);
  asking.text(topic, CLEAVE_NAMED(f, nvmlDeviceGetBoardPartNumber), gpu);
  asking.text(topic, CLEAVE_NAMED(f, nvmlDeviceGetVbiosVersion), gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetMinorNumber), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetBrand), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetArchitecture), "", gpu);
  asking.two<int>(topic, CLEAVE_NAMED(f, nvmlDeviceGetCudaComputeCapability), "major", "minor",
                  gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetNumGpuCores), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetMemoryBusWidth), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetBoardId), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetMultiGpuBoard), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetModuleId), "", gpu);
  asking.two<std::uint32_t>(topic, CLEAVE_NAMED(f, nvmlDeviceGetGspFirmwareMode), "enabled",
                            "by_default", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetVirtualizationMode), "", gpu);
  asking.versioned<nvml::AddressingMode>(topic, CLEAVE_NAMED(f, nvmlDeviceGetAddressingMode), "",
                                         version_word<nvml::AddressingMode>(1), gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPersistenceMode), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetComputeMode), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetDisplayActive), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetDisplayMode), "", gpu);
  asking.two<std::uint32_t>(topic, CLEAVE_NAMED(f, nvmlDeviceGetMigMode), "current", "pending",
                            gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceIsMigDeviceHandle), "", gpu);
}

void ask_bus(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  const nvml::Device gpu = subject.device;
  constexpr auto topic = Topic::identity;
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPciInfo_v3), "", gpu);
  asking.versioned<nvml::PciInfoExt>(topic, CLEAVE_NAMED(f, nvmlDeviceGetPciInfoExt), "",
                                     version_word<nvml::PciInfoExt>(1), gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetBusType), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetMaxPcieLinkGeneration), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetGpuMaxPcieLinkGeneration), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetMaxPcieLinkWidth), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetCurrPcieLinkGeneration), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetCurrPcieLinkWidth), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPcieSpeed), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPcieLinkMaxSpeed), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPcieReplayCounter), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetTopologyCommonAncestor), "with itself", gpu, gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceOnSameBoard), "with itself", gpu, gpu);
  for (std::uint32_t kind = 0; kind <= nvml::peer_kinds; ++kind)
    asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetP2PStatus),
               fmt::format("with itself, kind {}", kind), gpu, gpu, kind);
}

void ask_memory(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  const nvml::Device gpu = subject.device;
  asking.one(Topic::memory, CLEAVE_NAMED(f, nvmlDeviceGetMemoryInfo), "", gpu);
  asking.versioned<nvml::Memory2>(Topic::memory, CLEAVE_NAMED(f, nvmlDeviceGetMemoryInfo_v2), "",
                                  version_word<nvml::Memory2>(2), gpu);
  asking.one(Topic::memory, CLEAVE_NAMED(f, nvmlDeviceGetBAR1MemoryInfo), "", gpu);
}

void ask_power(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  const nvml::Device gpu = subject.device;
  constexpr auto topic = Topic::power;
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPowerManagementMode), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPowerManagementDefaultLimit), "", gpu);
  asking.two<std::uint32_t>(topic, CLEAVE_NAMED(f, nvmlDeviceGetPowerManagementLimitConstraints),
                            "least", "most", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPowerManagementLimit), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetEnforcedPowerLimit), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPowerUsage), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetTotalEnergyConsumption), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetTemperature), "of the GPU", gpu, 0U);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetTemperature), "sensor 1", gpu, 1U);
  asking.versioned<nvml::TemperatureQuery>(topic, CLEAVE_NAMED(f, nvmlDeviceGetTemperatureV),
                                           "of the GPU", version_word<nvml::TemperatureQuery>(1),
                                           gpu);
  asking.versioned<nvml::MarginTemperature>(topic, CLEAVE_NAMED(f, nvmlDeviceGetMarginTemperature),
                                            "", version_word<nvml::MarginTemperature>(1), gpu);
  for (std::uint32_t kind = 0; kind < temperature_thresholds; ++kind)
    asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetTemperatureThreshold),
               fmt::format("threshold {}", kind), gpu, kind);
}

void ask_clocks(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  const nvml::Device gpu = subject.device;
  constexpr auto topic = Topic::clocks;
  for (const ClockRow& clock : clocks) {
    const nvml::ClockType type = clock.type;
    asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetMaxClockInfo), clock.name, gpu, type);
    asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetMaxCustomerBoostClock), clock.name, gpu, type);
    asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetDefaultApplicationsClock), clock.name, gpu,
               type);
    asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetApplicationsClock), clock.name, gpu, type);
    asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetClockInfo), clock.name, gpu, type);
    for (std::uint32_t id = 0; id < 4; ++id)
      asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetClock),
                 fmt::format("{}, kind {}", clock.name, id), gpu, type, nvml::ClockId{id});
  }
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetSupportedClocksEventReasons), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetCurrentClocksEventReasons), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPerformanceState), "", gpu);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetPowerState), "", gpu);
  const auto memory = asking.list<std::uint32_t>(
      topic, "nvmlDeviceGetSupportedMemoryClocks", f.nvmlDeviceGetSupportedMemoryClocks != nullptr,
      "", clock_list_room, [&](std::uint32_t* mhz, std::uint32_t* count) {
        return f.nvmlDeviceGetSupportedMemoryClocks(gpu, count, mhz);
      });
  for (const Json& each : memory.value_or(Json::array())) {
    const auto mhz = each.get<std::uint32_t>();
    asking.list<std::uint32_t>(
        topic, "nvmlDeviceGetSupportedGraphicsClocks",
        f.nvmlDeviceGetSupportedGraphicsClocks != nullptr, fmt::format("memory at {} MHz", mhz),
        clock_list_room, [&](std::uint32_t* clock, std::uint32_t* count) {
          return f.nvmlDeviceGetSupportedGraphicsClocks(gpu, mhz, count, clock);
        });
  }
}

}  // namespace cleave::certify
