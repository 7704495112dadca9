#include "physics/memory_bandwidth.hpp"

#include <algorithm>

namespace cleave {

namespace {

constexpr std::string_view taming = "Taming GPU Underutilization, table II";
constexpr std::string_view gpuless = "gpuless-thesis, STREAM copy, medians of 1,000 runs";

constexpr MeasuredBandwidth bandwidth_rows[] = {
    // 1378.4, 693.2, 682.2, 347.3 and 174.2 GB/s of 10^9 bytes.
    {GpuModelId::a100_40gb, "7g.40gb", 1283.7, gpuless},
    {GpuModelId::a100_40gb, "4g.20gb", 645.6, gpuless},
    {GpuModelId::a100_40gb, "3g.20gb", 635.3, gpuless},
    {GpuModelId::a100_40gb, "2g.10gb", 323.4, gpuless},
    {GpuModelId::a100_40gb, "1g.5gb", 162.2, gpuless},
    {GpuModelId::h100_96gb_gh200, "7g.96gb", 3175, taming},
    {GpuModelId::h100_96gb_gh200, "4g.48gb", 1635, taming},
    {GpuModelId::h100_96gb_gh200, "3g.48gb", 1611, taming},
    {GpuModelId::h100_96gb_gh200, "2g.24gb", 812, taming},
    {GpuModelId::h100_96gb_gh200, "1g.24gb", 812, taming},
    {GpuModelId::h100_96gb_gh200, "1g.12gb", 406, taming},
};

}  // namespace

const MeasuredBandwidth* measured_bandwidth(const GpuModel& model, std::string_view profile) {
  const auto* const found = std::ranges::find_if(bandwidth_rows, [&](const MeasuredBandwidth& row) {
    return row.model == model.id && row.profile == profile;
  });
  return found == std::end(bandwidth_rows) ? nullptr : found;
}

}  // namespace cleave
