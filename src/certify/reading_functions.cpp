#include "certify/reading_functions.hpp"

namespace cleave::certify {

namespace {

constexpr auto prefixes = std::to_array<std::string_view>(
    {"nvmlDevice", "nvmlSystem", "nvmlUnit", "nvmlGpuInstance", "nvmlComputeInstance",
     "nvmlVgpuType", "nvmlVgpuInstance", "nvmlGpm", "nvml"});
constexpr auto reading_words = std::to_array<std::string_view>(
    {"Get", "Is", "Query", "OnSameBoard", "MigSampleGet", "SampleGet", "MetricsGet"});

/// Functions that read but do more, take long, or wait.
constexpr auto left_out = std::to_array<std::string_view>({
    "nvmlDeviceGetConfComputeGpuAttestationReport",  // has the GPU sign something
    "nvmlDeviceGetConfComputeGpuCertificate",
    "nvmlDeviceGetLastBBXFlushTime",  // fails on boards without the store, slowly
    "nvmlSystemGetConfComputeKeyRotationThresholdInfo",
});

}  // namespace

bool only_reads(std::string_view function) {
  if (std::ranges::find(left_out, function) != left_out.end()) return false;
  const auto* prefix = std::ranges::find_if(
      prefixes, [&](std::string_view each) { return function.starts_with(each); });
  if (prefix == prefixes.end()) return false;
  const std::string_view rest = function.substr(prefix->size());
  return std::ranges::any_of(reading_words,
                             [&](std::string_view word) { return rest.starts_with(word); });
}

std::vector<nvml::FunctionRow> reading_functions() {
  std::vector<nvml::FunctionRow> rows = nvml::function_rows();
  std::erase_if(rows, [](const nvml::FunctionRow& row) {
    return row.state == nvml::FunctionState::absent || !only_reads(row.name);
  });
  return rows;
}

bool may_be_called_blindly(const nvml::FunctionRow& row) {
  return row.name.starts_with("nvmlDeviceGet") && nvml::is_gpu(row.shape.front());
}

}  // namespace cleave::certify
