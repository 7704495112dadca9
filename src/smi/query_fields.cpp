#include "smi/query_fields.hpp"

#include "base/format.hpp"

namespace cleave::smi {

namespace {

Text pci_text(const GpuReading& gpu) {
  if (!gpu.pci) return {};
  return std::string(gpu.pci->bus_id.data());
}

/// A member of a structure that may have been refused.
template <class Record, class Member>
std::optional<Member> part(const std::optional<Record>& record, Member Record::*member) {
  if (!record) return {};
  return (*record).*member;
}

std::optional<std::uint32_t> pci_number(const GpuReading& gpu,
                                        std::uint32_t nvml::PciInfo::*member) {
  return part(gpu.pci, member);
}

template <class Member>
std::optional<Member> row(const GpuReading& gpu, Member RowsReading::*member) {
  return part(gpu.rows, member);
}

std::optional<bool> now(const std::optional<ModeReading>& mode) {
  return part(mode, &ModeReading::current);
}
std::optional<bool> pending(const std::optional<ModeReading>& mode) {
  return part(mode, &ModeReading::pending);
}

Text pstate(const GpuReading& gpu) {
  if (!gpu.performance_state) return {};
  return fmt::format("P{}", *gpu.performance_state);
}

Text capability(const GpuReading& gpu) {
  if (!gpu.capability) return {};
  return fmt::format("{}.{}", gpu.capability->first, gpu.capability->second);
}

Text reason_bits(const GpuReading& gpu) {
  if (!gpu.clock_reasons) return {};
  return fmt::format("0x{:016X}", *gpu.clock_reasons);
}
Text reason(const GpuReading& gpu, std::uint64_t bit) {
  if (!gpu.clock_reasons) return {};
  return active((*gpu.clock_reasons & bit) != 0);
}

using Node = NodeReading;
using Gpu = GpuReading;
using Process = ProcessReading;

constexpr GpuField of_gpus[] = {
    {"timestamp", "", "", "When the node was read",
     [](const Node& node, const Gpu&) { return Text(node.timestamp); }},
    {"driver_version", "", "", "Version of the driver",
     [](const Node& node, const Gpu&) { return Text(node.driver_version); }},
    {"count", "", "", "How many GPUs the node has",
     [](const Node& node, const Gpu&) { return text(std::optional(node.attached)); }},
    {"name", "gpu_name", "", "Product name",
     [](const Node&, const Gpu& gpu) { return Text(gpu.name); }},
    {"serial", "gpu_serial", "", "Serial number of the board",
     [](const Node&, const Gpu& gpu) { return gpu.serial; }},
    {"uuid", "gpu_uuid", "", "UUID", [](const Node&, const Gpu& gpu) { return Text(gpu.uuid); }},
    {"index", "", "", "Index by NVML",
     [](const Node&, const Gpu& gpu) { return text(std::optional(gpu.index)); }},
    {"pci.bus_id", "gpu_bus_id", "", "Address on the PCI bus",
     [](const Node&, const Gpu& gpu) { return pci_text(gpu); }},
    {"pci.domain", "", "", "PCI domain",
     [](const Node&, const Gpu& gpu) {
       return hexadecimal(pci_number(gpu, &nvml::PciInfo::domain), 4);
     }},
    {"pci.bus", "", "", "PCI bus",
     [](const Node&, const Gpu& gpu) {
       return hexadecimal(pci_number(gpu, &nvml::PciInfo::bus), 2);
     }},
    {"pci.device", "", "", "PCI device",
     [](const Node&, const Gpu& gpu) {
       return hexadecimal(pci_number(gpu, &nvml::PciInfo::device), 2);
     }},
    {"pci.device_id", "", "", "Number of the PCI device and its maker",
     [](const Node&, const Gpu& gpu) {
       return hexadecimal(pci_number(gpu, &nvml::PciInfo::pci_device_id), 8);
     }},
    {"pci.sub_device_id", "", "", "Number of the PCI subsystem",
     [](const Node&, const Gpu& gpu) {
       return hexadecimal(pci_number(gpu, &nvml::PciInfo::pci_subsystem_id), 8);
     }},
    {"pcie.link.gen.current", "pcie.link.gen.gpucurrent", "", "Generation of the PCIe link",
     [](const Node&, const Gpu& gpu) { return text(gpu.pcie_generation); }},
    {"pcie.link.gen.max", "pcie.link.gen.gpumax", "", "Highest generation of the PCIe link",
     [](const Node&, const Gpu& gpu) { return text(gpu.pcie_generation_most); }},
    {"pcie.link.width.current", "", "", "Lanes of the PCIe link",
     [](const Node&, const Gpu& gpu) { return text(gpu.pcie_width); }},
    {"pcie.link.width.max", "", "", "Most lanes of the PCIe link",
     [](const Node&, const Gpu& gpu) { return text(gpu.pcie_width_most); }},
    {"display_mode", "display_attached", "", "Whether a display is attached",
     [](const Node&, const Gpu& gpu) { return enabled(gpu.display_mode); }},
    {"display_active", "", "", "Whether a display is in use",
     [](const Node&, const Gpu& gpu) { return enabled(gpu.display_active); }},
    {"persistence_mode", "", "", "Whether the driver stays loaded without clients",
     [](const Node&, const Gpu& gpu) { return enabled(gpu.persistence); }},
    {"addressing_mode", "", "", "How the GPU addresses the host's memory",
     [](const Node&, const Gpu& gpu) { return addressing_mode(gpu); }},
    {"accounting.mode", "", "", "Accounting of processes; not simulated",
     [](const Node&, const Gpu&) { return Text{}; }},
    {"vbios_version", "", "", "Version of the board's VBIOS",
     [](const Node&, const Gpu& gpu) { return gpu.vbios; }},
    {"inforom.img", "inforom.image", "", "Version of the board's inforom; not simulated",
     [](const Node&, const Gpu&) { return Text{}; }},
    {"gpu_operation_mode.current", "gom.current", "", "Operation mode; not of these GPUs",
     [](const Node&, const Gpu&) { return Text{}; }},
    {"fan.speed", "", "%", "Speed of the fan; these boards have none",
     [](const Node&, const Gpu&) { return Text{}; }},
    {"pstate", "", "", "Performance state",
     [](const Node&, const Gpu& gpu) { return pstate(gpu); }},
    {"clocks_event_reasons.active", "clocks_throttle_reasons.active", "",
     "Bits of the reasons why clocks are not the highest",
     [](const Node&, const Gpu& gpu) { return reason_bits(gpu); }},
    {"clocks_event_reasons.gpu_idle", "clocks_throttle_reasons.gpu_idle", "",
     "One of these reasons", [](const Node&, const Gpu& gpu) { return reason(gpu, 0x1); }},
    {"clocks_event_reasons.applications_clocks_setting",
     "clocks_throttle_reasons.applications_clocks_setting", "", "One of these reasons",
     [](const Node&, const Gpu& gpu) { return reason(gpu, 0x2); }},
    {"clocks_event_reasons.sw_power_cap", "clocks_throttle_reasons.sw_power_cap", "",
     "One of these reasons", [](const Node&, const Gpu& gpu) { return reason(gpu, 0x4); }},
    {"clocks_event_reasons.hw_slowdown", "clocks_throttle_reasons.hw_slowdown", "",
     "One of these reasons", [](const Node&, const Gpu& gpu) { return reason(gpu, 0x8); }},
    {"clocks_event_reasons.hw_thermal_slowdown", "clocks_throttle_reasons.hw_thermal_slowdown", "",
     "One of these reasons", [](const Node&, const Gpu& gpu) { return reason(gpu, 0x40); }},
    {"clocks_event_reasons.hw_power_brake_slowdown",
     "clocks_throttle_reasons.hw_power_brake_slowdown", "", "One of these reasons",
     [](const Node&, const Gpu& gpu) { return reason(gpu, 0x80); }},
    {"clocks_event_reasons.sync_boost", "clocks_throttle_reasons.sync_boost", "",
     "One of these reasons", [](const Node&, const Gpu& gpu) { return reason(gpu, 0x10); }},
    {"clocks_event_reasons.sw_thermal_slowdown", "clocks_throttle_reasons.sw_thermal_slowdown", "",
     "One of these reasons", [](const Node&, const Gpu& gpu) { return reason(gpu, 0x20); }},
    {"memory.total", "", "MiB", "Memory of the GPU",
     [](const Node&, const Gpu& gpu) { return mib(part(gpu.memory, &MemoryReading::total)); }},
    {"memory.reserved", "", "MiB", "Memory that the driver keeps",
     [](const Node&, const Gpu& gpu) { return mib(part(gpu.memory, &MemoryReading::reserved)); }},
    {"memory.used", "", "MiB", "Memory in use",
     [](const Node&, const Gpu& gpu) { return mib(part(gpu.memory, &MemoryReading::used)); }},
    {"memory.free", "", "MiB", "Memory that is free",
     [](const Node&, const Gpu& gpu) { return mib(part(gpu.memory, &MemoryReading::free)); }},
    {"compute_mode", "", "", "Which processes may use the GPU",
     [](const Node&, const Gpu& gpu) { return compute_mode(gpu); }},
    {"compute_cap", "", "", "Compute capability of CUDA",
     [](const Node&, const Gpu& gpu) { return capability(gpu); }},
    {"utilization.gpu", "", "%", "Share of time in which the GPU was busy; refused with MIG on",
     [](const Node&, const Gpu& gpu) { return text(gpu.busy); }},
    {"utilization.memory", "", "%",
     "Share of time in which its memory was busy; refused with MIG on",
     [](const Node&, const Gpu& gpu) { return text(gpu.memory_busy); }},
    {"utilization.encoder", "", "%", "Share of time in which the encoder was busy",
     [](const Node&, const Gpu& gpu) { return text(gpu.encoder); }},
    {"utilization.decoder", "", "%", "Share of time in which the decoder was busy",
     [](const Node&, const Gpu& gpu) { return text(gpu.decoder); }},
    {"utilization.jpeg", "", "%", "Share of time in which the JPEG engine was busy",
     [](const Node&, const Gpu& gpu) { return text(gpu.jpeg); }},
    {"utilization.ofa", "", "%", "Share of time in which the optical flow engine was busy",
     [](const Node&, const Gpu& gpu) { return text(gpu.ofa); }},
    {"ecc.mode.current", "", "", "Whether memory has ECC",
     [](const Node&, const Gpu& gpu) { return enabled(now(gpu.ecc)); }},
    {"ecc.mode.pending", "", "", "The same after a reset",
     [](const Node&, const Gpu& gpu) { return enabled(pending(gpu.ecc)); }},
    {"ecc.errors.corrected.volatile.total", "", "",
     "Memory errors that ECC corrected since the driver was loaded",
     [](const Node&, const Gpu& gpu) { return text(gpu.corrected.since_load); }},
    {"ecc.errors.corrected.aggregate.total", "", "", "Memory errors that ECC ever corrected",
     [](const Node&, const Gpu& gpu) { return text(gpu.corrected.ever); }},
    {"ecc.errors.uncorrected.volatile.total", "", "",
     "Memory errors that ECC could not correct since the driver was loaded",
     [](const Node&, const Gpu& gpu) { return text(gpu.uncorrected.since_load); }},
    {"ecc.errors.uncorrected.aggregate.total", "", "",
     "Memory errors that ECC could ever not correct",
     [](const Node&, const Gpu& gpu) { return text(gpu.uncorrected.ever); }},
    {"retired_pages.single_bit_ecc.count", "retired_pages.sbe", "",
     "Retired pages of memory; not of these GPUs", [](const Node&, const Gpu&) { return Text{}; }},
    {"retired_pages.double_bit.count", "retired_pages.dbe", "",
     "Retired pages of memory; not of these GPUs", [](const Node&, const Gpu&) { return Text{}; }},
    {"retired_pages.pending", "", "", "Retired pages of memory; not of these GPUs",
     [](const Node&, const Gpu&) { return Text{}; }},
    {"remapped_rows.correctable", "", "", "Rows of memory remapped after corrected errors",
     [](const Node&, const Gpu& gpu) { return text(row(gpu, &RowsReading::corrected)); }},
    {"remapped_rows.uncorrectable", "", "", "Rows of memory remapped after uncorrected errors",
     [](const Node&, const Gpu& gpu) { return text(row(gpu, &RowsReading::uncorrected)); }},
    {"remapped_rows.pending", "", "", "Whether rows are to be remapped at the next reset",
     [](const Node&, const Gpu& gpu) { return yes(row(gpu, &RowsReading::pending)); }},
    {"remapped_rows.failure", "", "", "Whether a remapping has failed",
     [](const Node&, const Gpu& gpu) { return yes(row(gpu, &RowsReading::failed)); }},
    {"temperature.gpu", "", "", "Degrees Celsius",
     [](const Node&, const Gpu& gpu) { return text(gpu.celsius); }},
    {"temperature.memory", "", "", "Degrees Celsius of the memory; not simulated",
     [](const Node&, const Gpu&) { return Text{}; }},
    {"power.management", "", "", "Whether power is managed",
     [](const Node&,
        const Gpu& gpu) { return enabled(gpu.power.limit ? std::optional(true) : std::nullopt); }},
    {"power.draw", "", "W", "Power, over the last second",
     [](const Node&, const Gpu& gpu) { return watts(gpu.power.draw); }},
    {"power.draw.average", "", "W", "Power, over the last second",
     [](const Node&, const Gpu& gpu) { return watts(gpu.power.draw); }},
    {"power.draw.instant", "", "W", "Power now",
     [](const Node&, const Gpu& gpu) { return watts(gpu.power.draw); }},
    {"power.limit", "", "W", "Power limit that was set",
     [](const Node&, const Gpu& gpu) { return watts(gpu.power.limit); }},
    {"enforced.power.limit", "", "W", "Power limit in force",
     [](const Node&, const Gpu& gpu) { return watts(gpu.power.enforced); }},
    {"power.default_limit", "", "W", "Power limit by default",
     [](const Node&, const Gpu& gpu) { return watts(gpu.power.standard); }},
    {"power.min_limit", "", "W", "Lowest power limit",
     [](const Node&, const Gpu& gpu) { return watts(gpu.power.least); }},
    {"power.max_limit", "", "W", "Highest power limit",
     [](const Node&, const Gpu& gpu) { return watts(gpu.power.most); }},
    {"clocks.current.graphics", "clocks.gr", "MHz", "Clock (graphics)",
     [](const Node&, const Gpu& gpu) { return text(gpu.graphics.now); }},
    {"clocks.current.sm", "clocks.sm", "MHz", "Clock (sm)",
     [](const Node&, const Gpu& gpu) { return text(gpu.sm.now); }},
    {"clocks.current.memory", "clocks.mem", "MHz", "Clock (memory)",
     [](const Node&, const Gpu& gpu) { return text(gpu.memory_clock.now); }},
    {"clocks.current.video", "clocks.video", "MHz", "Clock (video)",
     [](const Node&, const Gpu& gpu) { return text(gpu.video.now); }},
    {"clocks.applications.graphics", "clocks.applications.gr", "MHz",
     "Clock for applications (graphics)",
     [](const Node&, const Gpu& gpu) { return text(gpu.graphics.applications); }},
    {"clocks.applications.memory", "clocks.applications.mem", "MHz",
     "Clock for applications (memory)",
     [](const Node&, const Gpu& gpu) { return text(gpu.memory_clock.applications); }},
    {"clocks.max.graphics", "clocks.max.gr", "MHz", "Highest clock (graphics)",
     [](const Node&, const Gpu& gpu) { return text(gpu.graphics.most); }},
    {"clocks.max.sm", "", "MHz", "Highest clock (sm)",
     [](const Node&, const Gpu& gpu) { return text(gpu.sm.most); }},
    {"clocks.max.memory", "clocks.max.mem", "MHz", "Highest clock (memory)",
     [](const Node&, const Gpu& gpu) { return text(gpu.memory_clock.most); }},
    {"mig.mode.current", "", "", "Whether MIG is on",
     [](const Node&, const Gpu& gpu) { return enabled(now(gpu.mig)); }},
    {"mig.mode.pending", "", "", "The same after a reset",
     [](const Node&, const Gpu& gpu) { return enabled(pending(gpu.mig)); }},
    {"gsp.mode.current", "", "", "Whether the GPU's own processor runs the driver",
     [](const Node&, const Gpu& gpu) {
       return enabled(gpu.gsp_firmware ? std::optional(true) : std::nullopt);
     }},
};

constexpr ProcessField of_processes[] = {
    {"timestamp", "", "", "When the node was read",
     [](const Node& node, const Gpu&, const Process&) { return Text(node.timestamp); }},
    {"gpu_name", "", "", "Product name of the GPU",
     [](const Node&, const Gpu& gpu, const Process&) { return Text(gpu.name); }},
    {"gpu_bus_id", "", "", "The GPU's address on the PCI bus",
     [](const Node&, const Gpu& gpu, const Process&) { return pci_text(gpu); }},
    {"gpu_serial", "", "", "Serial number of the GPU",
     [](const Node&, const Gpu& gpu, const Process&) { return gpu.serial; }},
    {"gpu_uuid", "", "", "UUID of the GPU",
     [](const Node&, const Gpu& gpu, const Process&) { return Text(gpu.uuid); }},
    {"pid", "", "", "Number of the process",
     [](const Node&, const Gpu&, const Process& process) {
       return text(std::optional(process.pid));
     }},
    {"process_name", "name", "", "Name of the process",
     [](const Node&, const Gpu&, const Process& process) { return process.name; }},
    {"used_gpu_memory", "used_memory", "MiB", "Memory of the GPU that the process has",
     [](const Node&, const Gpu&, const Process& process) { return mib(process.used); }},
};

}  // namespace

std::span<const GpuField> gpu_fields() {
  return of_gpus;
}
std::span<const ProcessField> process_fields() {
  return of_processes;
}

}  // namespace cleave::smi
