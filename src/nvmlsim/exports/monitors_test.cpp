// What monitors and studies of power ask, by value: memory on the bus, topology, clocks, limits,
// samples, ECC.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "nvmlsim/child_test.hpp"
#include "nvmlsim/energy.hpp"
#include "nvmlsim/library_test.hpp"
#include "nvmlsim/uuid.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;
using nvml::ClockId;
using nvml::ClockType;
using nvml::SampleKind;

std::uint32_t own_pid() {
  return static_cast<std::uint32_t>(::getpid());
}

SimNodeSpec with_mig_off(std::string_view models) {
  SimNodeSpec spec = node_spec(models);
  spec.mig_enabled = false;
  return spec;
}

/// The number that a function gives for the GPU.
template <class Number>
Number asked(nvml::Return (*call)(nvml::Device, Number*), nvml::Device device) {
  Number number{};
  EXPECT_EQ(call(device, &number), success);
  return number;
}

TEST(Monitors, ABusIdIsFoundInEachForm) {
  const OpenNode node("A100-40GB,A100-40GB");
  const auto found = [&](const char* id) {
    nvml::Device device = nullptr;
    const nvml::Return answer = library().nvmlDeviceGetHandleByPciBusId_v2(id, &device);
    return answer == success ? (device == node.gpu(1) ? 1 : 0) : -static_cast<int>(answer);
  };
  for (const char* id : {"00000000:02:00.0", "0000:02:00.0", "0:2:0.0", "00000000:2:0.0",
                         "0000:02:00", "2:0.0", "02:00.0", "0:2:0"})
    EXPECT_EQ(found(id), 1) << id;
  EXPECT_EQ(found("00000001:02:00.0"), -6) << "another domain";
  EXPECT_EQ(found("0:2:1.0"), -6);
  EXPECT_EQ(found("0:2:0.1"), -6);
  for (const char* id : {"", "2", "2:0", "0:2:0.", "0:2:0.0 ", "x:2:0.0", "0:0:2:0.0", ":2:0.0"})
    EXPECT_EQ(found(id), -2) << id;
  nvml::PciInfoExt pci{};
  EXPECT_EQ(library().nvmlDeviceGetPciInfoExt(node.gpu(1), &pci), argument_version_mismatch);
  pci.version = nvml::version_word<nvml::PciInfoExt>(1);
  ASSERT_EQ(library().nvmlDeviceGetPciInfoExt(node.gpu(1), &pci), success);
  EXPECT_EQ(found(pci.bus_id.data()), 1);
  EXPECT_EQ(pci.base_class, 3U);
  EXPECT_NE(pci.pci_subsystem_id >> 16U, 0U);
}

TEST(Monitors, AUuidIsFoundAsTextAndAsBytes) {
  const OpenNode node("A100-40GB,A100-40GB");
  const MadeInstance made = make_instance(node.gpu(1), 0);
  const std::string gpu = look_at_sim_node(node.path())->gpus[1].uuid;
  const auto check = [&](const std::string& uuid, std::string_view prefix, nvml::Device expected) {
    nvml::UuidQuery query{};
    nvml::Device device = nullptr;
    EXPECT_EQ(library().nvmlDeviceGetHandleByUUIDV(&query, &device), argument_version_mismatch);
    query.version = nvml::version_word<nvml::UuidQuery>(1);
    EXPECT_EQ(library().nvmlDeviceGetHandleByUUIDV(&query, &device), invalid_argument);
    query.type = nvml::uuid_as_text;
    std::ranges::copy(uuid, query.value.begin());
    EXPECT_EQ(library().nvmlDeviceGetHandleByUUIDV(&query, &device), success);
    EXPECT_EQ(device, expected);
    query.type = nvml::uuid_as_bytes;
    query.value = {};
    const Uuid number = parse_uuid(prefix, uuid).value();
    for (std::size_t i = 0; i < 16; ++i)
      query.value[i] = static_cast<char>((i < 8 ? number.high : number.low) >> (56 - i % 8 * 8));
    device = nullptr;
    EXPECT_EQ(library().nvmlDeviceGetHandleByUUIDV(&query, &device), success);
    EXPECT_EQ(device, expected);
  };
  check(gpu, "GPU-", node.gpu(1));
  check(made.uuid, "MIG-", made.mig);
}

TEST(Monitors, GpusAreConnectedInPairs) {
  const OpenNode node("A100-40GB,A100-40GB,A100-40GB");
  const Functions& nvml = library();
  const auto level = [&](std::uint32_t a, std::uint32_t b) {
    std::uint32_t found = 99;
    EXPECT_EQ(nvml.nvmlDeviceGetTopologyCommonAncestor(node.gpu(a), node.gpu(b), &found), success);
    return found;
  };
  std::uint32_t itself = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetTopologyCommonAncestor(node.gpu(), node.gpu(), &itself),
            not_supported);
  EXPECT_EQ(level(0, 1), nvml::topology_one_switch);
  EXPECT_EQ(level(1, 2), nvml::topology_node);
  std::array<nvml::Device, 3> devices{};
  std::uint32_t count = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetTopologyNearestGpus(node.gpu(), 40, &count, nullptr), success);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(nvml.nvmlDeviceGetTopologyNearestGpus(node.gpu(), 40, &count, devices.data()), success);
  EXPECT_EQ(devices[0], node.gpu(2));
  EXPECT_EQ(nvml.nvmlDeviceGetTopologyNearestGpus(node.gpu(), 41, &count, devices.data()),
            invalid_argument);
  count = 0;
  EXPECT_EQ(nvml.nvmlSystemGetTopologyGpuSet(0, &count, nullptr), success);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(nvml.nvmlSystemGetTopologyGpuSet(100'000, &count, devices.data()), invalid_argument);
}

TEST(Monitors, PeersNeedMigOff) {
  const OpenNode node(with_mig_off("A100-40GB,A100-40GB"));
  const auto status = [&](std::uint32_t kind) {
    std::uint32_t found = 99;
    EXPECT_EQ(library().nvmlDeviceGetP2PStatus(node.gpu(0), node.gpu(1), kind, &found), success);
    return found;
  };
  EXPECT_EQ(status(0), nvml::peers_ok);
  EXPECT_EQ(status(nvml::peer_nvlink), nvml::peers_not_supported);
  nvml::Return activation = success;
  ASSERT_EQ(library().nvmlDeviceSetMigMode(node.gpu(1), 1, &activation), success);
  EXPECT_EQ(status(0), nvml::peers_not_supported);
}

TEST(Monitors, MemoryOnTheBusIsDividedAsTheMemoryIs) {
  const OpenNode node("A100-40GB");
  const MadeInstance made = make_instance(node.gpu(), 0);
  nvml::Bar1Memory whole{}, part{};
  ASSERT_EQ(library().nvmlDeviceGetBAR1MemoryInfo(node.gpu(), &whole), success);
  ASSERT_EQ(library().nvmlDeviceGetBAR1MemoryInfo(made.mig, &part), success);
  EXPECT_EQ(whole.total >> 20, 65536U);
  EXPECT_EQ(part.total >> 20, 8191U);  // as nvidia-smi shows it for 1g.5gb
  EXPECT_EQ(part.free + part.used, part.total);
}

TEST(Monitors, BoardsAreDescribed) {
  const OpenNode node("A100-40GB,H100-80GB-SXM5");
  const Functions& nvml = library();
  EXPECT_EQ(asked(nvml.nvmlDeviceGetNumGpuCores, node.gpu(0)), 6912U);
  EXPECT_EQ(asked(nvml.nvmlDeviceGetNumGpuCores, node.gpu(1)), 16896U);
  EXPECT_EQ(asked(nvml.nvmlDeviceGetMemoryBusWidth, node.gpu(1)), 5120U);
  EXPECT_EQ(asked(nvml.nvmlDeviceGetPcieSpeed, node.gpu(0)), 16000U);
  EXPECT_EQ(asked(nvml.nvmlDeviceGetPcieLinkMaxSpeed, node.gpu(1)), 5U);
  EXPECT_EQ(asked(nvml.nvmlDeviceGetVirtualizationMode, node.gpu(0)), 0U);
  EXPECT_EQ(asked(nvml.nvmlDeviceGetPowerState, node.gpu(0)), 0U);
  nvml::AddressingMode mode{nvml::version_word<nvml::AddressingMode>(1), 9};
  EXPECT_EQ(nvml.nvmlDeviceGetAddressingMode(node.gpu(0), &mode), success);
  EXPECT_EQ(mode.mode, 0U);
  std::array<char, 64> text{};
  EXPECT_EQ(nvml.nvmlDeviceGetVbiosVersion(node.gpu(0), text.data(), 64), success);
  EXPECT_GT(std::strlen(text.data()), 8U);
  EXPECT_EQ(nvml.nvmlDeviceGetVbiosVersion(node.gpu(0), text.data(), 3), insufficient_size);
  EXPECT_EQ(nvml.nvmlDeviceGetGspFirmwareVersion(node.gpu(0), text.data()), success);
  EXPECT_STREQ(text.data(), "580.65.06");
  std::uint64_t set = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryAffinity(node.gpu(0), 1, &set, 0), success);
  EXPECT_EQ(set, 1U);
}

TEST(Monitors, BothTemperaturesAgree) {
  const OpenNode node("A100-40GB");
  nvml::TemperatureQuery query{nvml::version_word<nvml::TemperatureQuery>(1), 0, 0};
  std::uint32_t celsius = 0;
  EXPECT_EQ(library().nvmlDeviceGetTemperatureV(node.gpu(), &query), success);
  EXPECT_EQ(library().nvmlDeviceGetTemperature(node.gpu(), 0, &celsius), success);
  EXPECT_EQ(static_cast<std::uint32_t>(query.celsius), celsius);
  nvml::MarginTemperature margin{nvml::version_word<nvml::MarginTemperature>(1), 0};
  EXPECT_EQ(library().nvmlDeviceGetMarginTemperature(node.gpu(), &margin), success);
  std::uint32_t slowdown = 0;
  EXPECT_EQ(library().nvmlDeviceGetTemperatureThreshold(node.gpu(), 1, &slowdown), success);
  EXPECT_EQ(query.celsius + margin.celsius, static_cast<int>(slowdown));
  query.sensor = 1;
  EXPECT_EQ(library().nvmlDeviceGetTemperatureV(node.gpu(), &query), invalid_argument);
}

/// The mean power and the clock of the only GPU, which a process keeps busy.
struct Running {
  double watts;
  std::uint32_t mhz;
  std::uint64_t reasons;
};
Running running(const OpenNode& node) {
  Running now{look_at_sim_node(node.path())->gpus[0].power_w, 0, 0};
  EXPECT_EQ(library().nvmlDeviceGetClockInfo(node.gpu(), ClockType::sm, &now.mhz), success);
  now.reasons = asked(library().nvmlDeviceGetCurrentClocksEventReasons, node.gpu());
  return now;
}

TEST(Settings, APowerLimitLowersPowerAndClock) {
  const OpenNode node(with_mig_off("A100-40GB"));
  const Functions& nvml = library();
  EXPECT_EQ(running(node).reasons, nvml::clocks_idle);
  auto process = SimProcess::start(node.path(), "0", own_pid()).value();
  ASSERT_TRUE(process.keep_busy(1));
  const Running free = running(node);
  EXPECT_DOUBLE_EQ(free.watts, 400);
  EXPECT_EQ(free.mhz, 1410U);
  EXPECT_EQ(free.reasons, 0U);
  EXPECT_EQ(nvml.nvmlDeviceSetPowerManagementLimit(node.gpu(), 99'999), invalid_argument);
  EXPECT_EQ(nvml.nvmlDeviceSetPowerManagementLimit(node.gpu(), 400'001), invalid_argument);
  ASSERT_EQ(nvml.nvmlDeviceSetPowerManagementLimit(node.gpu(), 225'000), success);
  EXPECT_EQ(asked(nvml.nvmlDeviceGetEnforcedPowerLimit, node.gpu()), 225'000U);
  EXPECT_EQ(asked(nvml.nvmlDeviceGetPowerManagementDefaultLimit, node.gpu()), 400'000U);
  const Running capped = running(node);
  EXPECT_DOUBLE_EQ(capped.watts, 225);
  EXPECT_LT(capped.mhz, 1410U);
  EXPECT_EQ(capped.reasons, nvml::clocks_power_cap);
  nvml::PowerValue power{nvml::version_word<nvml::PowerValue>(2), 2, 400'000};
  EXPECT_EQ(nvml.nvmlDeviceSetPowerManagementLimit_v2(node.gpu(), &power), not_supported);
  power.scope = 0;
  EXPECT_EQ(nvml.nvmlDeviceSetPowerManagementLimit_v2(node.gpu(), &power), success);
  EXPECT_DOUBLE_EQ(running(node).watts, 400);
  EXPECT_EQ(node.flaw(), "");
}

TEST(Settings, LockedClocksLowerPower) {
  const OpenNode node(with_mig_off("A100-40GB"));
  const Functions& nvml = library();
  const double idle = running(node).watts;
  auto process = SimProcess::start(node.path(), "0", own_pid()).value();
  ASSERT_TRUE(process.keep_busy(1));
  EXPECT_EQ(nvml.nvmlDeviceSetGpuLockedClocks(node.gpu(), 900, 800), invalid_argument);
  EXPECT_EQ(nvml.nvmlDeviceSetGpuLockedClocks(node.gpu(), 900, 0xffffff01), invalid_argument);
  ASSERT_EQ(nvml.nvmlDeviceSetGpuLockedClocks(node.gpu(), 705, 705), success);
  const Running half = running(node);
  EXPECT_EQ(half.mhz, 705U);
  EXPECT_EQ(half.reasons, nvml::clocks_set);
  EXPECT_NEAR(half.watts, idle + (400 - idle) / 2, 0.01);
  ASSERT_EQ(nvml.nvmlDeviceResetGpuLockedClocks(node.gpu()), success);
  EXPECT_DOUBLE_EQ(running(node).watts, 400);
  EXPECT_EQ(nvml.nvmlDeviceSetApplicationsClocks(node.gpu(), 1, 705), invalid_argument);
  ASSERT_EQ(nvml.nvmlDeviceSetApplicationsClocks(node.gpu(), 1215, 705), success);
  std::uint32_t mhz = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetClock(node.gpu(), ClockType::sm, ClockId::target, &mhz), success);
  EXPECT_EQ(mhz, 705U);
  EXPECT_EQ(nvml.nvmlDeviceGetClock(node.gpu(), ClockType::sm, ClockId::target_default, &mhz),
            success);
  EXPECT_EQ(mhz, 1410U);
  EXPECT_EQ(running(node).mhz, 705U);
}

/// Measured on an H100 80GB HBM3, driver 580.159.04, MIG off; documented otherwise.
TEST(Measured, SomeFunctionsTakeLessThanDocumented) {
  const OpenNode node("H100-80GB-SXM5");
  std::uint32_t most = 0;
  EXPECT_EQ(
      library().nvmlDeviceGetMinMaxClockOfPState(node.gpu(), ClockType::video, 0, nullptr, &most),
      success);
  EXPECT_EQ(most, 1545U);
  EXPECT_EQ(
      library().nvmlDeviceGetMinMaxClockOfPState(node.gpu(), ClockType::sm, 0, &most, nullptr),
      success);
  EXPECT_EQ(most, 345U);
  nvml::Device mig = nullptr;
  EXPECT_EQ(library().nvmlDeviceGetMigDeviceHandleByIndex(node.gpu(), 99, &mig), not_found);
}

TEST(Settings, ClocksAreListedFromTheHighest) {
  const OpenNode node("A100-40GB");
  std::uint32_t count = 0, memory = 0;
  EXPECT_EQ(library().nvmlDeviceGetSupportedMemoryClocks(node.gpu(), &count, nullptr),
            insufficient_size);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(library().nvmlDeviceGetSupportedMemoryClocks(node.gpu(), &count, &memory), success);
  EXPECT_EQ(memory, 1215U);
  count = 0;
  EXPECT_EQ(library().nvmlDeviceGetSupportedGraphicsClocks(node.gpu(), memory, &count, nullptr),
            insufficient_size);
  std::vector<std::uint32_t> clocks(count);
  ASSERT_EQ(
      library().nvmlDeviceGetSupportedGraphicsClocks(node.gpu(), memory, &count, clocks.data()),
      success);
  EXPECT_EQ(clocks.front(), 1410U);
  EXPECT_EQ(clocks.back(), 210U);
  EXPECT_TRUE(std::ranges::is_sorted(clocks, std::greater{}));
  EXPECT_EQ(library().nvmlDeviceGetSupportedGraphicsClocks(node.gpu(), 1, &count, clocks.data()),
            not_found);
}

TEST(Settings, AComputeModeKeepsProcessesOff) {
  const OpenNode node(with_mig_off("A100-40GB"));
  const Functions& nvml = library();
  EXPECT_EQ(asked(nvml.nvmlDeviceGetComputeMode, node.gpu()), 0U);
  EXPECT_EQ(nvml.nvmlDeviceSetComputeMode(node.gpu(), 4), invalid_argument);
  EXPECT_EQ(nvml.nvmlDeviceSetComputeMode(node.gpu(), 1), not_supported);
  ASSERT_EQ(nvml.nvmlDeviceSetComputeMode(node.gpu(), nvml::compute_prohibited), success);
  EXPECT_EQ(asked(nvml.nvmlDeviceGetComputeMode, node.gpu()), 2U);
  EXPECT_FALSE(SimProcess::start(node.path(), "0", own_pid()));
  ASSERT_EQ(nvml.nvmlDeviceSetComputeMode(node.gpu(), nvml::compute_exclusive_process), success);
  auto first = SimProcess::start(node.path(), "0", own_pid());
  ASSERT_TRUE(first);
  EXPECT_FALSE(SimProcess::start(node.path(), "0", static_cast<std::uint32_t>(::getppid())));
  EXPECT_EQ(asked(nvml.nvmlDeviceGetPersistenceMode, node.gpu()), 1U);
  ASSERT_EQ(nvml.nvmlDeviceSetPersistenceMode(node.gpu(), 0), success);
  EXPECT_EQ(asked(nvml.nvmlDeviceGetPersistenceMode, node.gpu()), 0U);
}

TEST(Power, IsJitteredAroundTheMeanThatEnergyCounts) {
  GpuRecord record{};
  record.power_w = 400;
  double sum = 0;
  std::set<double> shown;
  for (std::int64_t window = 0; window < 200; ++window) {
    const double watts = shown_watts(record, {1, 2}, window * jitter_ns + 5);
    EXPECT_NEAR(watts, 400, 2);
    EXPECT_EQ(watts, shown_watts(record, {1, 2}, (window + 1) * jitter_ns - 1));
    shown.insert(watts);
    sum += watts;
  }
  EXPECT_NEAR(sum / 200, 400, 1e-9);
  EXPECT_GT(shown.size(), 150U);
  EXPECT_NE(shown_watts(record, {1, 2}, 0), shown_watts(record, {1, 3}, 0));
}

TEST(Samples, ArePowerAndClocksEvenWithMigOn) {
  const OpenNode node("A100-40GB");
  const Functions& nvml = library();
  std::uint32_t type = 9, count = 0;
  std::array<nvml::Sample, 200> samples{};
  const auto ask = [&](SampleKind kind, std::uint64_t since) {
    count = 200;
    return nvml.nvmlDeviceGetSamples(node.gpu(), kind, since, &type, &count, samples.data());
  };
  ASSERT_EQ(ask(SampleKind::power, 0), success);
  EXPECT_EQ(type, nvml::value_is_u32);
  ASSERT_GE(count, 1U);
  const double mean = look_at_sim_node(node.path())->gpus[0].power_w * 1000;
  for (std::uint32_t i = 0; i < count; ++i)
    EXPECT_NEAR(static_cast<double>(samples[i].value), mean, mean / 200 + 1);
  EXPECT_EQ(ask(SampleKind::power, samples[count - 1].time_us + 10'000'000), not_found);
  EXPECT_EQ(ask(SampleKind::sm_clock, 0), success);
  EXPECT_EQ(ask(SampleKind::gpu, 0), not_supported) << "with MIG on";
  EXPECT_EQ(ask(static_cast<SampleKind>(10), 0), invalid_argument);
  EXPECT_EQ(nvml.nvmlDeviceGetSamples(node.gpu(), SampleKind::power, 0, &type, &count, nullptr),
            success);
  EXPECT_GE(count, 1U);
}

TEST(Samples, ProcessesAreToldWithMigOff) {
  const OpenNode node(with_mig_off("A100-40GB"));
  const Functions& nvml = library();
  std::uint32_t count = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetProcessUtilization(node.gpu(), nullptr, &count, 0), not_found);
  auto process = SimProcess::start(node.path(), "0", own_pid()).value();
  ASSERT_TRUE(process.keep_busy(0.8));
  ASSERT_TRUE(process.hold(MiB{100}).value());
  EXPECT_EQ(nvml.nvmlDeviceGetProcessUtilization(node.gpu(), nullptr, &count, 0),
            insufficient_size);
  ASSERT_EQ(count, 1U);
  nvml::ProcessUtilization one{};
  ASSERT_EQ(nvml.nvmlDeviceGetProcessUtilization(node.gpu(), &one, &count, 0), success);
  EXPECT_EQ(one.pid, own_pid());
  EXPECT_EQ(one.sm, 80U);
  nvml::ProcessUtilizationInfo info{};
  nvml::ProcessesUtilization all{nvml::version_word<nvml::ProcessesUtilization>(1), 1, 0, &info};
  ASSERT_EQ(nvml.nvmlDeviceGetProcessesUtilizationInfo(node.gpu(), &all), success);
  EXPECT_EQ(info.sm, 80U);
  nvml::ProcessDetail detail{};
  nvml::ProcessDetailList list{nvml::version_word<nvml::ProcessDetailList>(1), 0, 1, &detail};
  ASSERT_EQ(nvml.nvmlDeviceGetRunningProcessDetailList(node.gpu(), &list), success);
  EXPECT_EQ(list.count, 1U);
  EXPECT_EQ(detail.pid, own_pid());
  EXPECT_EQ(detail.used_memory >> 20, 100U);
  list.mode = 1;
  EXPECT_EQ(nvml.nvmlDeviceGetRunningProcessDetailList(node.gpu(), &list), success);
  EXPECT_EQ(list.count, 0U) << "of graphics";
  std::uint32_t percent = 9, period = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetEncoderUtilization(node.gpu(), &percent, &period), success);
  EXPECT_EQ(percent, 0U);
  count = 1;
  EXPECT_EQ(nvml.nvmlDeviceGetComputeRunningProcesses_v3(node.gpu(), &count, nullptr),
            invalid_argument)
      << "room for one, and nowhere";
}

TEST(Fields, HaveScopes) {
  const OpenNode node("A100-40GB");
  const auto answer = [&](std::uint32_t field, std::uint32_t scope) {
    nvml::FieldValue value{};
    value.field = field;
    value.scope = scope;
    EXPECT_EQ(library().nvmlDeviceGetFieldValues(node.gpu(), 1, &value), success);
    return value.answer;
  };
  for (const std::uint32_t power : {185U, 186U, 187U, 190U}) {
    EXPECT_EQ(answer(power, 0), success) << power;
    EXPECT_EQ(answer(power, 1), not_supported) << power;
    EXPECT_EQ(answer(power, 2), not_supported) << power;
  }
  EXPECT_EQ(answer(199, 0), success);
  EXPECT_EQ(answer(82, 0), not_supported);
}

TEST(Events, OfMemoryAndOfMigAreReported) {
  const OpenNode node("A100-40GB");
  const Functions& nvml = library();
  std::uint64_t types = asked(nvml.nvmlDeviceGetSupportedEventTypes, node.gpu());
  EXPECT_EQ(types, 0x1U | 0x2U | 0x8U | 0x100U | 0x4000U);
  nvml::EventSet set = nullptr;
  ASSERT_EQ(nvml.nvmlEventSetCreate(&set), success);
  ASSERT_EQ(nvml.nvmlDeviceRegisterEvents(node.gpu(), types, set), success);
  const auto next = [&] {
    nvml::EventData event{};
    return nvml.nvmlEventSetWait_v2(set, &event, 0) == success ? event.type : 0;
  };
  const MadeInstance made = make_instance(node.gpu(), 0);
  EXPECT_EQ(next(), nvml::event_mig_config) << "the GPU instance";
  EXPECT_EQ(next(), nvml::event_mig_config) << "the compute instance";
  EXPECT_EQ(next(), 0U);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "memory-errors"));
  EXPECT_EQ(next(), nvml::event_uncorrected_error);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "corrected-errors"));
  EXPECT_EQ(next(), nvml::event_corrected_error);
  EXPECT_EQ(nvml.nvmlEventSetFree(set), success);
}

TEST(Ecc, CountsAreByKindAndSinceWhen) {
  const OpenNode node(with_mig_off("A100-40GB"));
  const Functions& nvml = library();
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "corrected-errors"));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(set_sim_fault(node.path(), 0, "memory-errors"));
  const auto total = [&](std::uint32_t error, std::uint32_t counter) {
    std::uint64_t count = 99;
    EXPECT_EQ(nvml.nvmlDeviceGetTotalEccErrors(node.gpu(), error, counter, &count), success);
    nvml::EccCounts parts{};
    EXPECT_EQ(nvml.nvmlDeviceGetDetailedEccErrors(node.gpu(), error, counter, &parts), success);
    EXPECT_EQ(parts.device_memory, count);
    return count;
  };
  EXPECT_EQ(total(0, 0), 1U);
  EXPECT_EQ(total(1, 0), 2U);
  EXPECT_EQ(nvml.nvmlDeviceClearEccErrorCounts(node.gpu(), 0), success);
  EXPECT_EQ(total(1, 0), 0U);
  EXPECT_EQ(total(1, 1), 2U) << "ever";
  EXPECT_EQ(nvml.nvmlDeviceClearEccErrorCounts(node.gpu(), 1), success);
  EXPECT_EQ(total(1, 1), 0U);
  std::uint32_t current = 0, pending = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetEccMode(node.gpu(), &current, &pending), success);
  EXPECT_EQ(current, 1U);
  nvml::RowRemapperHistogram rows{};
  EXPECT_EQ(nvml.nvmlDeviceGetRowRemapperHistogram(node.gpu(), &rows), success);
  EXPECT_EQ(rows.none, 0U);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "rows-failed"));
  EXPECT_EQ(nvml.nvmlDeviceGetRowRemapperHistogram(node.gpu(), &rows), success);
  EXPECT_EQ(rows.none, 1U);
}

TEST(Setters, AreForRootWhereThatIsChecked) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  SimNodeSpec spec = with_mig_off("A100-40GB");
  spec.administrator = Administrator::root;
  const OpenNode node(spec);
  std::filesystem::permissions(node.path(), std::filesystem::perms{0755});
  Child child([&] {
    constexpr uid_t nobody = 65534;
    if (::setuid(nobody) != 0) return 1;
    const Functions& nvml = library();
    const nvml::Device gpu = node.gpu();
    if (nvml.nvmlDeviceSetPowerManagementLimit(gpu, 1) != invalid_argument) return 2;
    if (nvml.nvmlDeviceSetPowerManagementLimit(gpu, 200'000) != no_permission) return 3;
    if (nvml.nvmlDeviceSetGpuLockedClocks(gpu, 705, 705) != no_permission) return 4;
    if (nvml.nvmlDeviceSetPersistenceMode(gpu, 0) != no_permission) return 5;
    if (nvml.nvmlDeviceClearEccErrorCounts(gpu, 0) != no_permission) return 6;
    return nvml.nvmlDeviceResetApplicationsClocks(gpu) == no_permission ? 0 : 7;
  });
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace cleave::sim
