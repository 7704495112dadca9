// Cleave's declarations of NVML compared with the vendor's header, if a machine has one: sizes,
// offsets, numbers, and the type of every function. The header is looked for in CLEAVE_NVML_HEADER
// (a file) and among the system's; it is compiled and never copied. Declarations that an older
// header lacks are skipped and listed.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "nvmlsim/exports/unsupported.hpp"
#include "nvmlsim/monitors_abi.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

struct StructRow {
  std::string ours, theirs;
  std::vector<std::pair<std::string, std::string>> members;
};

const std::vector<std::pair<std::string, std::string>> engine_counts = {
    {"copy_engine_count", "copyEngineCount"},
    {"decoder_count", "decoderCount"},
    {"encoder_count", "encoderCount"},
    {"jpeg_count", "jpegCount"},
    {"ofa_count", "ofaCount"},
    {"multiprocessor_count", "multiprocessorCount"},
    {"slice_count", "sliceCount"},
    {"instance_count", "instanceCount"},
    {"memory_size_mb", "memorySizeMB"},
    {"id", "id"}};

std::vector<std::pair<std::string, std::string>> with(
    std::vector<std::pair<std::string, std::string>> more) {
  more.insert(more.end(), engine_counts.begin(), engine_counts.end());
  return more;
}

std::vector<StructRow> monitoring_structures() {
  return {
      {"Memory", "nvmlMemory_t", {{"total", "total"}, {"free", "free"}, {"used", "used"}}},
      {"Memory2",
       "nvmlMemory_v2_t",
       {{"version", "version"},
        {"total", "total"},
        {"reserved", "reserved"},
        {"free", "free"},
        {"used", "used"}}},
      {"ProcessInfo1", "nvmlProcessInfo_v1_t", {{"pid", "pid"}, {"used_memory", "usedGpuMemory"}}},
      {"ProcessInfo",
       "nvmlProcessInfo_t",
       {{"pid", "pid"},
        {"used_memory", "usedGpuMemory"},
        {"gpu_instance_id", "gpuInstanceId"},
        {"compute_instance_id", "computeInstanceId"}}},
      {"Utilization", "nvmlUtilization_t", {{"gpu", "gpu"}, {"memory", "memory"}}},
      {"GpmSupport",
       "nvmlGpmSupport_t",
       {{"version", "version"}, {"is_supported_device", "isSupportedDevice"}}},
      {"GpmMetric",
       "nvmlGpmMetric_t",
       {{"metric_id", "metricId"}, {"answer", "nvmlReturn"}, {"value", "value"}}},
      {"EventData",
       "nvmlEventData_t",
       {{"device", "device"},
        {"type", "eventType"},
        {"data", "eventData"},
        {"gpu_instance_id", "gpuInstanceId"},
        {"compute_instance_id", "computeInstanceId"}}},
      {"PciInfo",
       "nvmlPciInfo_t",
       {{"bus_id_legacy", "busIdLegacy"},
        {"domain", "domain"},
        {"pci_device_id", "pciDeviceId"},
        {"bus_id", "busId"}}},
  };
}

std::vector<StructRow> instance_structures() {
  const std::vector<std::pair<std::string, std::string>> compute = {
      {"info.id", "id"},
      {"info.slice_count", "sliceCount"},
      {"info.instance_count", "instanceCount"},
      {"info.multiprocessor_count", "multiprocessorCount"},
      {"info.shared_copy_engine_count", "sharedCopyEngineCount"},
      {"info.shared_ofa_count", "sharedOfaCount"},
      {"version", "version"},
      {"name", "name"}};
  return {
      {"GpuInstancePlacement",
       "nvmlGpuInstancePlacement_t",
       {{"start", "start"}, {"size", "size"}}},
      {"ComputeInstancePlacement",
       "nvmlComputeInstancePlacement_t",
       {{"start", "start"}, {"size", "size"}}},
      {"GpuInstanceProfileInfo", "nvmlGpuInstanceProfileInfo_t", with({})},
      {"GpuInstanceProfileInfo2", "nvmlGpuInstanceProfileInfo_v2_t",
       with({{"version", "version"}, {"name", "name"}})},
      {"GpuInstanceProfileInfo3", "nvmlGpuInstanceProfileInfo_v3_t",
       with({{"version", "version"}, {"name", "name"}, {"capabilities", "capabilities"}})},
      {"GpuInstanceInfo",
       "nvmlGpuInstanceInfo_t",
       {{"device", "device"},
        {"id", "id"},
        {"profile_id", "profileId"},
        {"placement", "placement"}}},
      {"ComputeInstanceProfileInfo",
       "nvmlComputeInstanceProfileInfo_t",
       {{"id", "id"}, {"slice_count", "sliceCount"}, {"shared_ofa_count", "sharedOfaCount"}}},
      {"ComputeInstanceProfileInfo2", "nvmlComputeInstanceProfileInfo_v2_t", compute},
      {"ComputeInstanceProfileInfo3", "nvmlComputeInstanceProfileInfo_v3_t", compute},
      {"ComputeInstanceInfo",
       "nvmlComputeInstanceInfo_t",
       {{"device", "device"},
        {"gpu_instance", "gpuInstance"},
        {"id", "id"},
        {"profile_id", "profileId"},
        {"placement", "placement"}}},
      {"DeviceAttributes",
       "nvmlDeviceAttributes_t",
       {{"multiprocessor_count", "multiprocessorCount"},
        {"gpu_instance_slice_count", "gpuInstanceSliceCount"},
        {"compute_instance_slice_count", "computeInstanceSliceCount"},
        {"memory_size_mb", "memorySizeMB"}}},
  };
}

std::vector<StructRow> monitors_structures() {
  return {
      {"PciInfoExt",
       "nvmlPciInfoExt_v1_t",
       {{"version", "version"},
        {"pci_device_id", "pciDeviceId"},
        {"pci_subsystem_id", "pciSubSystemId"},
        {"sub_class", "subClass"},
        {"bus_id", "busId"}}},
      {"UuidQuery", "nvmlUUID_v1_t", {{"type", "type"}, {"value", "value"}}},
      {"Bar1Memory",
       "nvmlBAR1Memory_t",
       {{"total", "bar1Total"}, {"free", "bar1Free"}, {"used", "bar1Used"}}},
      {"TemperatureQuery",
       "nvmlTemperature_v1_t",
       {{"sensor", "sensorType"}, {"celsius", "temperature"}}},
      {"MarginTemperature", "nvmlMarginTemperature_v1_t", {{"celsius", "marginTemperature"}}},
      {"AddressingMode", "nvmlDeviceAddressingMode_v1_t", {{"mode", "value"}}},
      {"ProcessDetail",
       "nvmlProcessDetail_v1_t",
       {{"used_memory", "usedGpuMemory"},
        {"compute_instance_id", "computeInstanceId"},
        {"protected_memory", "usedGpuCcProtectedMemory"}}},
      {"ProcessDetailList",
       "nvmlProcessDetailList_v1_t",
       {{"mode", "mode"}, {"count", "numProcArrayEntries"}, {"processes", "procArray"}}},
      {"ProcessUtilization",
       "nvmlProcessUtilizationSample_t",
       {{"time_us", "timeStamp"}, {"sm", "smUtil"}, {"decoder", "decUtil"}}},
      {"ProcessUtilizationInfo",
       "nvmlProcessUtilizationInfo_v1_t",
       {{"pid", "pid"}, {"sm", "smUtil"}, {"ofa", "ofaUtil"}}},
      {"ProcessesUtilization",
       "nvmlProcessesUtilizationInfo_v1_t",
       {{"count", "processSamplesCount"},
        {"last_seen_us", "lastSeenTimeStamp"},
        {"processes", "procUtilArray"}}},
      {"Sample", "nvmlSample_t", {{"time_us", "timeStamp"}, {"value", "sampleValue"}}},
      {"PowerValue",
       "nvmlPowerValue_v2_t",
       {{"scope", "powerScope"}, {"milliwatts", "powerValueMw"}}},
      {"RowRemapperHistogram",
       "nvmlRowRemapperHistogramValues_t",
       {{"all", "max"}, {"none", "none"}}},
      {"EccCounts",
       "nvmlEccErrorCounts_t",
       {{"device_memory", "deviceMemory"}, {"registers", "registerFile"}}},
      {"DriverBranch", "nvmlSystemDriverBranchInfo_v1_t", {{"branch", "branch"}}},
  };
}

/// Ours, theirs.
const std::vector<std::pair<std::string, std::string>> numbers = {
    {"Return::success", "NVML_SUCCESS"},
    {"Return::unknown", "NVML_ERROR_UNKNOWN"},
    {"name_size", "NVML_DEVICE_NAME_V2_BUFFER_SIZE"},
    {"uuid_size", "NVML_DEVICE_UUID_V2_BUFFER_SIZE"},
    {"version_size", "NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE"},
    {"version_size", "NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE"},
    {"mig_disabled", "NVML_DEVICE_MIG_DISABLE"},
    {"mig_enabled", "NVML_DEVICE_MIG_ENABLE"},
    {"engines_shared", "NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED"},
    {"event_xid", "nvmlEventTypeXidCriticalError"},
    {"event_gpu_unavailable", "nvmlEventTypeGpuUnavailableError"},
    {"gpm_version", "NVML_GPM_SUPPORT_VERSION"},
    {"gpm_version", "NVML_GPM_METRICS_GET_VERSION"},
    {"gpm_graphics", "NVML_GPM_METRIC_GRAPHICS_UTIL"},
    {"gpm_sm_activity", "NVML_GPM_METRIC_SM_UTIL"},
    {"gpm_sm_occupancy", "NVML_GPM_METRIC_SM_OCCUPANCY"},
    {"gpm_tensor", "NVML_GPM_METRIC_ANY_TENSOR_UTIL"},
    {"gpm_dram_bandwidth", "NVML_GPM_METRIC_DRAM_BW_UTIL"},
    {"ClockType::graphics", "NVML_CLOCK_GRAPHICS"},
    {"ClockType::sm", "NVML_CLOCK_SM"},
    {"ClockType::memory", "NVML_CLOCK_MEM"},
    {"ClockType::video", "NVML_CLOCK_VIDEO"},
    {"version_word<GpuInstanceProfileInfo2>(2)", "nvmlGpuInstanceProfileInfo_v2"},
    {"version_word<GpuInstanceProfileInfo3>(3)", "nvmlGpuInstanceProfileInfo_v3"},
    {"version_word<ComputeInstanceProfileInfo2>(2)", "nvmlComputeInstanceProfileInfo_v2"},
    {"version_word<ComputeInstanceProfileInfo3>(3)", "nvmlComputeInstanceProfileInfo_v3"},
    {"version_word<Memory2>(2)", "nvmlMemory_v2"},
    {"version_word<PciInfoExt>(1)", "nvmlPciInfoExt_v1"},
    {"version_word<UuidQuery>(1)", "nvmlUUID_v1"},
    {"version_word<TemperatureQuery>(1)", "nvmlTemperature_v1"},
    {"version_word<MarginTemperature>(1)", "nvmlMarginTemperature_v1"},
    {"version_word<AddressingMode>(1)", "nvmlDeviceAddressingMode_v1"},
    {"version_word<ProcessDetailList>(1)", "nvmlProcessDetailList_v1"},
    {"version_word<ProcessesUtilization>(1)", "nvmlProcessesUtilizationInfo_v1"},
    {"version_word<PowerValue>(2)", "nvmlPowerValue_v2"},
    {"version_word<DriverBranch>(1)", "nvmlSystemDriverBranchInfo_v1"},
    {"event_corrected_error", "nvmlEventTypeSingleBitEccError"},
    {"event_uncorrected_error", "nvmlEventTypeDoubleBitEccError"},
    {"event_mig_config", "nvmlEventMigConfigChange"},
    {"clocks_idle", "nvmlClocksEventReasonGpuIdle"},
    {"clocks_set", "nvmlClocksEventReasonApplicationsClocksSetting"},
    {"clocks_power_cap", "nvmlClocksEventReasonSwPowerCap"},
    {"uuid_as_text", "NVML_UUID_TYPE_ASCII"},
    {"uuid_as_bytes", "NVML_UUID_TYPE_BINARY"},
    {"processes_all", "NVML_PROCESS_MODE_ALL"},
    {"topology_one_switch", "NVML_TOPOLOGY_SINGLE"},
    {"topology_node", "NVML_TOPOLOGY_NODE"},
    {"topology_system", "NVML_TOPOLOGY_SYSTEM"},
    {"peers_not_supported", "NVML_P2P_STATUS_NOT_SUPPORTED"},
    {"peer_nvlink", "NVML_P2P_CAPS_INDEX_NVLINK"},
    {"peer_kinds", "NVML_P2P_CAPS_INDEX_UNKNOWN"},
    {"SampleKind::power", "NVML_TOTAL_POWER_SAMPLES"},
    {"SampleKind::ofa", "NVML_OFA_UTILIZATION_SAMPLES"},
    {"ClockId::boost_most", "NVML_CLOCK_ID_CUSTOMER_BOOST_MAX"},
    {"memory_locations", "NVML_MEMORY_LOCATION_COUNT"},
    {"compute_prohibited", "NVML_COMPUTEMODE_PROHIBITED"},
    {"compute_exclusive_process", "NVML_COMPUTEMODE_EXCLUSIVE_PROCESS"},
    {"affinity_socket", "NVML_AFFINITY_SCOPE_SOCKET"},
    {"value_is_u32", "NVML_VALUE_TYPE_UNSIGNED_INT"},
};

const std::vector<std::string> errors = {"uninitialized",
                                         "invalid_argument",
                                         "not_supported",
                                         "no_permission",
                                         "not_found",
                                         "insufficient_size",
                                         "already_initialized",
                                         "insufficient_power",
                                         "driver_not_loaded",
                                         "timeout",
                                         "irq_issue",
                                         "library_not_found",
                                         "gpu_is_lost",
                                         "reset_required",
                                         "function_not_found",
                                         "corrupted_inforom",
                                         "operating_system",
                                         "in_use",
                                         "lib_rm_version_mismatch",
                                         "memory",
                                         "no_data",
                                         "deprecated",
                                         "vgpu_ecc_not_supported",
                                         "insufficient_resources",
                                         "not_ready",
                                         "gpu_not_found",
                                         "freq_not_supported",
                                         "argument_version_mismatch",
                                         "invalid_state",
                                         "reset_type_not_supported"};

const std::vector<std::string>& functions() {
#define CLEAVE_ABI_NAME(name, parameters) #name,
  static const std::vector<std::string> names = {
      CLEAVE_NVML_NEEDED(CLEAVE_ABI_NAME) CLEAVE_NVML_OPTIONAL(CLEAVE_ABI_NAME)
          CLEAVE_NVML_OTHERS(CLEAVE_ABI_NAME) CLEAVE_NVML_MONITORS(CLEAVE_ABI_NAME)};
#undef CLEAVE_ABI_NAME
  return names;
}

/// The functions that the simulated library only refuses, and the kinds of their arguments.
const std::vector<std::pair<std::string, std::string>> shapes = {
#define CLEAVE_ABI_SHAPE(name, shape) {#name, shape},
    CLEAVE_NVML_UNSUPPORTED(CLEAVE_ABI_SHAPE)
#undef CLEAVE_ABI_SHAPE
};

// Two functions have the same shape if their parameters have the same sizes, and point to objects
// of the same size as far as that is known.
constexpr const char* preamble = R"(
#include <type_traits>
#include "nvmlsim/monitors_abi.hpp"
namespace cleave::nvml {
namespace ours {
#define CLEAVE_ABI_TYPE(name, parameters) using name = Return parameters;
CLEAVE_NVML_NEEDED(CLEAVE_ABI_TYPE)
CLEAVE_NVML_OPTIONAL(CLEAVE_ABI_TYPE)
CLEAVE_NVML_OTHERS(CLEAVE_ABI_TYPE)
CLEAVE_NVML_MONITORS(CLEAVE_ABI_TYPE)
}  // namespace ours
template <class T> concept Sized = !std::is_void_v<T> && requires { sizeof(T); };
template <class A, class B> constexpr bool alike() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using P = std::remove_pointer_t<A>; using Q = std::remove_pointer_t<B>;
    if constexpr (Sized<P> && Sized<Q>)
      return sizeof(P) == sizeof(Q) && std::is_const_v<P> == std::is_const_v<Q>;
    return true;
  }
  return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
}
template <class T> constexpr bool is_of(char letter) {
  if (letter == 'D' || letter == 'd') return std::is_same_v<T, ::nvmlDevice_t>;
  if (letter == 'G') return std::is_same_v<T, ::nvmlGpuInstance_t>;
  if (letter == '#') return !std::is_pointer_v<T> || !Sized<std::remove_pointer_t<T>>;
  return std::is_pointer_v<T> && !std::is_same_v<T, ::nvmlDevice_t>;
}
template <class R, class... A> constexpr bool has_shape(R (*)(A...), const char* shape) {
  return ((*shape != 0 && is_of<A>(*shape++)) && ...) && *shape == 0;
}
template <class F, class G> struct Same : std::false_type {};
template <class R, class S, class... A, class... B> requires(sizeof...(A) == sizeof...(B))
struct Same<R(A...), S(B...)>
    : std::bool_constant<sizeof(R) == sizeof(S) && (alike<A, B>() && ...)> {};
)";

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

/// The words of a text that are names.
std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  static const std::regex word("[A-Za-z_][A-Za-z_0-9]*");
  for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at)
    words.insert(at->str());
  return words;
}

struct Checks {
  std::string program;
  std::size_t made = 0;
  std::vector<std::string> left_out;  // the header does not have them
};

Checks checks_of(const std::string& header, const std::string& text) {
  const std::set<std::string> known = words_of(text);
  Checks checks;
  std::ostringstream out;
  // With this the plain names are the old functions and not macros for the newest.
  out << "#define NVML_NO_UNVERSIONED_FUNC_DEFS\n#include \"" << header << "\"\n" << preamble;
  const auto hold = [&](const std::string& name, const std::string& condition) {
    if (!known.contains(name)) return checks.left_out.push_back(name);
    out << "static_assert(" << condition << ");\n";
    ++checks.made;
  };
  std::vector<StructRow> structures = instance_structures();
  std::ranges::move(monitoring_structures(), std::back_inserter(structures));
  std::ranges::move(monitors_structures(), std::back_inserter(structures));
  for (const auto& [ours, theirs, members] : structures) {
    hold(theirs, fmt::format("sizeof({}) == sizeof(::{})", ours, theirs));
    for (const auto& [mine, its] : members)
      hold(theirs, fmt::format("offsetof({}, {}) == offsetof(::{}, {})", ours, mine, theirs, its));
  }
  const auto equal = [&](const std::string& ours, const std::string& theirs) {
    hold(theirs,
         fmt::format("static_cast<unsigned long long>({}) == static_cast<unsigned long long>({})",
                     ours, theirs));
  };
  for (const auto& [ours, theirs] : numbers) equal(ours, theirs);
  for (const std::string& name : errors)
    equal(fmt::format("Return::{}", name), fmt::format("NVML_ERROR_{}", upper(name)));
  for (const std::string& name : functions())
    hold(name,
         fmt::format("Same<ours::{0}, std::remove_pointer_t<decltype(&::{0})>>::value, \"{0}\"",
                     name));
  for (const auto& [name, shape] : shapes)
    if (!name.contains("Blacklist"))  // macros by now
      hold(name, fmt::format("has_shape(&::{0}, \"{1}\"), \"{0}\"", name, shape));
  out << "}  // namespace cleave::nvml\n";
  checks.program = out.str();
  return checks;
}

std::string find_header() {
  const char* named = std::getenv("CLEAVE_NVML_HEADER");
  if (named != nullptr) return named;
  for (const char* each : {"/usr/include/nvml.h", "/usr/local/cuda/include/nvml.h"})
    if (fs::exists(each)) return each;
  return {};
}

TEST(NvmlAbi, IsTheVendorsWhereItsHeaderIsAtHand) {
  const std::string header = find_header();
  if (header.empty()) GTEST_SKIP() << "no nvml.h on this machine; CLEAVE_NVML_HEADER may name one";
  if (header.find_first_of("'\"\\") != std::string::npos)
    GTEST_SKIP() << "its path has quotes in it";
  if (std::system("g++ --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no g++ to compile it with";
  std::ifstream file(header);
  ASSERT_TRUE(file) << header;
  std::stringstream text;
  text << file.rdbuf();
  const Checks checks = checks_of(fs::absolute(header).string(), text.str());
  const fs::path source = fs::temp_directory_path() / fmt::format("cleave-abi-{}.cpp", getpid());
  std::ofstream(source) << checks.program;
  const std::string command = fmt::format(
      "g++ -std=c++23 -fsyntax-only -Wno-invalid-offsetof -Wno-deprecated-declarations -I '{}/src' "
      "'{}'",
      source_dir(), source.string());
  EXPECT_EQ(std::system(command.c_str()), 0) << "what differs stands above";
  fs::remove(source);
  EXPECT_GT(checks.made, 150U);
  std::set<std::string> left_out(checks.left_out.begin(), checks.left_out.end());
  std::cout << fmt::format(
      "{} checks against {}; not in it: {}\n", checks.made, header,
      left_out.empty() ? "nothing" : fmt::format("{}", fmt::join(left_out, ", ")));
}

}  // namespace
}  // namespace cleave
