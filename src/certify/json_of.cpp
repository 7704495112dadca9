#include "certify/json_of.hpp"

namespace cleave::certify {

namespace {

/// The members that all forms of a profile of GPU instances have.
template <class Info>
Json gpu_profile(const Info& info) {
  return {{"id", info.id},
          {"slices", info.slice_count},
          {"most", info.instance_count},
          {"sms", info.multiprocessor_count},
          {"copy", info.copy_engine_count},
          {"decode", info.decoder_count},
          {"encode", info.encoder_count},
          {"jpeg", info.jpeg_count},
          {"flow", info.ofa_count},
          {"memory_mib", info.memory_size_mb}};
}

template <class Info>
Json named_compute_profile(const Info& info) {
  Json json = json_of(info.info);
  json["name"] = nvml_text(info.name);
  return json;
}

}  // namespace

Json json_of(nvml::Device device) {
  return device != nullptr;
}

Json json_of(const nvml::PciInfo& pci) {
  return {{"domain", pci.domain},
          {"bus", pci.bus},
          {"device", pci.device},
          {"pci_device", pci.pci_device_id},
          {"pci_subsystem", pci.pci_subsystem_id},
          {"bus_id", nvml_text(pci.bus_id)},
          {"bus_id_legacy", nvml_text(pci.bus_id_legacy)}};
}

Json json_of(const nvml::PciInfoExt& pci) {
  return {{"domain", pci.domain},
          {"bus", pci.bus},
          {"device", pci.device},
          {"pci_device", pci.pci_device_id},
          {"pci_subsystem", pci.pci_subsystem_id},
          {"base_class", pci.base_class},
          {"sub_class", pci.sub_class},
          {"bus_id", nvml_text(pci.bus_id)}};
}

Json json_of(const nvml::Memory& memory) {
  return {{"total", memory.total}, {"free", memory.free}, {"used", memory.used}};
}

Json json_of(const nvml::Memory2& memory) {
  return {{"total", memory.total},
          {"reserved", memory.reserved},
          {"free", memory.free},
          {"used", memory.used}};
}

Json json_of(const nvml::Bar1Memory& memory) {
  return {{"total", memory.total}, {"free", memory.free}, {"used", memory.used}};
}

Json json_of(const nvml::Utilization& rates) {
  return {{"gpu", rates.gpu}, {"memory", rates.memory}};
}

Json json_of(const nvml::DeviceAttributes& attributes) {
  return {{"sms", attributes.multiprocessor_count},
          {"copy", attributes.shared_copy_engine_count},
          {"decode", attributes.shared_decoder_count},
          {"encode", attributes.shared_encoder_count},
          {"jpeg", attributes.shared_jpeg_count},
          {"flow", attributes.shared_ofa_count},
          {"gpu_slices", attributes.gpu_instance_slice_count},
          {"compute_slices", attributes.compute_instance_slice_count},
          {"memory_mib", attributes.memory_size_mb}};
}

Json json_of(const nvml::GpuInstanceProfileInfo& info) {
  Json json = gpu_profile(info);
  json["p2p"] = info.is_p2p_supported;
  return json;
}

Json json_of(const nvml::GpuInstanceProfileInfo2& info) {
  Json json = gpu_profile(info);
  json["p2p"] = info.is_p2p_supported;
  json["name"] = nvml_text(info.name);
  return json;
}

Json json_of(const nvml::GpuInstanceProfileInfo3& info) {
  Json json = gpu_profile(info);
  json["name"] = nvml_text(info.name);
  json["capabilities"] = info.capabilities;
  return json;
}

Json json_of(const nvml::GpuInstancePlacement& placement) {
  return {{"start", placement.start}, {"size", placement.size}};
}

Json json_of(const nvml::ComputeInstanceProfileInfo& info) {
  return {{"id", info.id},
          {"slices", info.slice_count},
          {"most", info.instance_count},
          {"sms", info.multiprocessor_count},
          {"copy", info.shared_copy_engine_count},
          {"decode", info.shared_decoder_count},
          {"encode", info.shared_encoder_count},
          {"jpeg", info.shared_jpeg_count},
          {"flow", info.shared_ofa_count}};
}

Json json_of(const nvml::ComputeInstanceProfileInfo2& info) {
  return named_compute_profile(info);
}

Json json_of(const nvml::ComputeInstanceProfileInfo3& info) {
  Json json = named_compute_profile(info);
  json["capabilities"] = info.capabilities;
  return json;
}

Json json_of(const nvml::ComputeInstancePlacement& placement) {
  return {{"start", placement.start}, {"size", placement.size}};
}

Json json_of(const nvml::RowRemapperHistogram& histogram) {
  return {{"all", histogram.all},
          {"high", histogram.high},
          {"partial", histogram.partial},
          {"low", histogram.low},
          {"none", histogram.none}};
}

Json json_of(const nvml::EccCounts& counts) {
  return {{"l1", counts.l1},
          {"l2", counts.l2},
          {"device_memory", counts.device_memory},
          {"registers", counts.registers}};
}

Json json_of(const nvml::TemperatureQuery& temperature) {
  return {{"celsius", temperature.celsius}};
}

Json json_of(const nvml::MarginTemperature& margin) {
  return {{"celsius", margin.celsius}};
}

Json json_of(const nvml::AddressingMode& mode) {
  return {{"mode", mode.mode}};
}

Json json_of(const nvml::GpmSupport& support) {
  return {{"supported", support.is_supported_device}};
}

Json json_of(const nvml::DriverBranch& branch) {
  return {{"branch", nvml_text(branch.branch)}};
}

Json json_of(const nvml::ProcessInfo& process) {
  return {{"pid", process.pid},
          {"used_memory", process.used_memory},
          {"gpu_instance", process.gpu_instance_id},
          {"compute_instance", process.compute_instance_id}};
}

Json json_of(const nvml::Sample& sample) {
  return {{"time_us", sample.time_us}, {"value", sample.value}};
}

}  // namespace cleave::certify
