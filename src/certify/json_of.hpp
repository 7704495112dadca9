#pragma once
// What NVML's functions write, as JSON: members by Cleave's names, units in the names. Members that
// only say how a structure is laid out are left out.

#include <span>

#include "base/json.hpp"
#include "device/nvml_call.hpp"
#include "nvmlsim/monitors_abi.hpp"

namespace cleave::certify {

template <class Number>
requires std::is_arithmetic_v<Number> Json json_of(Number value) {
  return value;
}

Json json_of(nvml::Device device);  // only whether there is one
Json json_of(const nvml::PciInfo& pci);
Json json_of(const nvml::PciInfoExt& pci);
Json json_of(const nvml::Memory& memory);
Json json_of(const nvml::Memory2& memory);
Json json_of(const nvml::Bar1Memory& memory);
Json json_of(const nvml::Utilization& rates);
Json json_of(const nvml::DeviceAttributes& attributes);
Json json_of(const nvml::GpuInstanceProfileInfo& info);
Json json_of(const nvml::GpuInstanceProfileInfo2& info);
Json json_of(const nvml::GpuInstanceProfileInfo3& info);
Json json_of(const nvml::GpuInstancePlacement& placement);
Json json_of(const nvml::ComputeInstanceProfileInfo& info);
Json json_of(const nvml::ComputeInstanceProfileInfo2& info);
Json json_of(const nvml::ComputeInstanceProfileInfo3& info);
Json json_of(const nvml::ComputeInstancePlacement& placement);
Json json_of(const nvml::RowRemapperHistogram& histogram);
Json json_of(const nvml::EccCounts& counts);
Json json_of(const nvml::TemperatureQuery& temperature);
Json json_of(const nvml::MarginTemperature& margin);
Json json_of(const nvml::AddressingMode& mode);
Json json_of(const nvml::GpmSupport& support);
Json json_of(const nvml::DriverBranch& branch);
Json json_of(const nvml::ProcessInfo& process);
Json json_of(const nvml::Sample& sample);

}  // namespace cleave::certify
