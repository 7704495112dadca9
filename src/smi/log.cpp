// The tree of a GPU's log.

#include "smi/log.hpp"

#include "base/format.hpp"

namespace cleave::smi {

namespace {

std::string or_none(const Text& value, std::string_view unit = {}) {
  if (!value) return "N/A";
  return unit.empty() ? *value : fmt::format("{} {}", *value, unit);
}

LogItem leaf(const char* tag, const char* title, const Text& value, std::string_view unit = {}) {
  return {tag, title, or_none(value, unit), {}, false, {}, nullptr};
}
LogItem group(const char* tag, const char* title, std::vector<LogItem> children,
              const char* display = nullptr) {
  return {tag, title, {}, std::move(children), true, {}, display};
}
LogItem shown_by(const char* display, LogItem item) {
  item.display = display;
  return item;
}

LogItem memory_item(const char* tag, const char* title, const std::optional<MemoryReading>& memory,
                    bool reserved) {
  const auto part = [&](std::uint64_t MemoryReading::*member) {
    return memory ? mib((*memory).*member) : Text{};
  };
  std::vector<LogItem> items = {leaf("total", "Total", part(&MemoryReading::total), "MiB")};
  if (reserved)
    items.push_back(leaf("reserved", "Reserved", part(&MemoryReading::reserved), "MiB"));
  items.push_back(leaf("used", "Used", part(&MemoryReading::used), "MiB"));
  items.push_back(leaf("free", "Free", part(&MemoryReading::free), "MiB"));
  return group(tag, title, std::move(items), "MEMORY");
}

LogItem attributes(const MigReading& mig) {
  const auto part = [&](std::uint32_t nvml::DeviceAttributes::*member) {
    return mig.attributes ? text(std::optional((*mig.attributes).*member)) : Text{};
  };
  using Of = nvml::DeviceAttributes;
  return group(
      "device_attributes", "Device Attributes",
      {group("shared", "Shared",
             {leaf("multiprocessor_count", "Multiprocessor count", part(&Of::multiprocessor_count)),
              leaf("copy_engine_count", "Copy Engine count", part(&Of::shared_copy_engine_count)),
              leaf("encoder_count", "Encoder count", part(&Of::shared_encoder_count)),
              leaf("decoder_count", "Decoder count", part(&Of::shared_decoder_count)),
              leaf("ofa_count", "OFA count", part(&Of::shared_ofa_count)),
              leaf("jpg_count", "JPG count", part(&Of::shared_jpeg_count))})});
}

LogItem mig_device(const MigReading& mig) {
  return group(
      "mig_device", "MIG Device",
      {leaf("index", "Index", text(std::optional(mig.index))),
       leaf("gpu_instance_id", "GPU Instance ID", text(std::optional(mig.gpu_instance))),
       leaf("compute_instance_id", "Compute Instance ID",
            text(std::optional(mig.compute_instance))),
       attributes(mig),
       group("ecc_error_count", "ECC Errors",
             {group("volatile_count", "Volatile",
                    {leaf("sram_uncorrectable", "SRAM Uncorrectable", text(mig.uncorrected))})}),
       memory_item("fb_memory_usage", "FB Memory Usage", mig.memory, true),
       memory_item("bar1_memory_usage", "BAR1 Memory Usage", mig.bar1, false)});
}

LogItem mode(const char* tag, const char* title, const char* now_tag, const char* pending_tag,
             const std::optional<ModeReading>& mode, const char* display = nullptr) {
  return group(tag, title,
               {leaf(now_tag, "Current", mode ? enabled(mode->current) : Text{}),
                leaf(pending_tag, "Pending", mode ? enabled(mode->pending) : Text{})},
               display);
}

LogItem pci(const GpuReading& gpu) {
  const auto number = [&](std::uint32_t nvml::PciInfo::*member, int digits) {
    return gpu.pci ? Text(fmt::format("{:0{}X}", (*gpu.pci).*member, digits)) : Text{};
  };
  using Of = nvml::PciInfo;
  const auto lanes = [](std::optional<std::uint32_t> count) {
    return count ? Text(fmt::format("{}x", *count)) : Text{};
  };
  return group(
      "pci", "PCI",
      {leaf("pci_bus", "Bus", number(&Of::bus, 2)),
       leaf("pci_device", "Device", number(&Of::device, 2)),
       leaf("pci_domain", "Domain", number(&Of::domain, 4)),
       leaf("pci_device_id", "Device Id", number(&Of::pci_device_id, 8)),
       leaf("pci_bus_id", "Bus Id", gpu.pci ? Text(std::string(gpu.pci->bus_id.data())) : Text{}),
       leaf("pci_sub_system_id", "Sub System Id", number(&Of::pci_subsystem_id, 8)),
       group("pci_gpu_link_info", "GPU Link Info",
             {group("pcie_gen", "PCIe Generation",
                    {leaf("max_link_gen", "Max", text(gpu.pcie_generation_most)),
                     leaf("current_link_gen", "Current", text(gpu.pcie_generation)),
                     leaf("max_device_link_gen", "Device Max", text(gpu.pcie_generation_most))}),
              group("link_widths", "Link Width",
                    {leaf("max_link_width", "Max", lanes(gpu.pcie_width_most)),
                     leaf("current_link_width", "Current", lanes(gpu.pcie_width))})}),
       leaf("replay_counter", "Replays Since Reset", text(gpu.replays)),
       leaf("tx_util", "Tx Throughput", text(gpu.pcie_sent), "KB/s"),
       leaf("rx_util", "Rx Throughput", text(gpu.pcie_received), "KB/s")});
}

LogItem reasons(const GpuReading& gpu) {
  std::vector<LogItem> items;
  for (const ClockReason& reason : clock_reasons)
    items.push_back(
        leaf(reason.tag, reason.title,
             gpu.clock_reasons ? active((*gpu.clock_reasons & reason.bit) != 0) : Text{}));
  return group("clocks_event_reasons", "Clocks Event Reasons", std::move(items), "PERFORMANCE");
}

LogItem utilization(const GpuReading& gpu) {
  return group(
      "utilization", "Utilization",
      {leaf("gpu_util", "GPU", text(gpu.busy), "%"),
       leaf("memory_util", "Memory", text(gpu.memory_busy), "%"),
       leaf("encoder_util", "Encoder", text(gpu.encoder), "%"),
       leaf("decoder_util", "Decoder", text(gpu.decoder), "%"),
       leaf("jpeg_util", "JPEG", text(gpu.jpeg), "%"), leaf("ofa_util", "OFA", text(gpu.ofa), "%")},
      "UTILIZATION");
}

LogItem errors(const GpuReading& gpu) {
  const auto counts = [](const char* tag, const char* title, std::optional<std::uint64_t> corrected,
                         std::optional<std::uint64_t> uncorrected) {
    return group(tag, title,
                 {leaf("dram_correctable", "DRAM Correctable", text(corrected)),
                  leaf("dram_uncorrectable", "DRAM Uncorrectable", text(uncorrected))});
  };
  return group(
      "ecc_errors", "ECC Errors",
      {counts("volatile", "Volatile", gpu.corrected.since_load, gpu.uncorrected.since_load),
       counts("aggregate", "Aggregate", gpu.corrected.ever, gpu.uncorrected.ever)},
      "ECC");
}

LogItem rows(const GpuReading& gpu) {
  const auto& told = gpu.rows;
  return group("remapped_rows", "Remapped Rows",
               {leaf("remapped_row_corr", "Correctable Error",
                     told ? text(std::optional(told->corrected)) : Text{}),
                leaf("remapped_row_unc", "Uncorrectable Error",
                     told ? text(std::optional(told->uncorrected)) : Text{}),
                leaf("remapped_row_pending", "Pending", told ? yes(told->pending) : Text{}),
                leaf("remapped_row_failure", "Remapping Failure Occurred",
                     told ? yes(told->failed) : Text{})},
               "ROW_REMAPPER");
}

LogItem temperature(const GpuReading& gpu) {
  return group(
      "temperature", "Temperature",
      {leaf("gpu_temp", "GPU Current Temp", text(gpu.celsius), "C"),
       leaf("gpu_temp_max_threshold", "GPU Shutdown Temp", text(gpu.celsius_shutdown), "C"),
       leaf("gpu_temp_slow_threshold", "GPU Slowdown Temp", text(gpu.celsius_slow), "C"),
       leaf("memory_temp", "Memory Current Temp", {})},
      "TEMPERATURE");
}

LogItem power(const GpuReading& gpu) {
  const Text state =
      gpu.performance_state ? Text(fmt::format("P{}", *gpu.performance_state)) : Text{};
  return group("gpu_power_readings", "GPU Power Readings",
               {leaf("power_state", "Power State", state),
                leaf("power_draw", "Power Draw", watts(gpu.power.draw), "W"),
                leaf("average_power_draw", "Average Power Draw", watts(gpu.power.draw), "W"),
                leaf("instant_power_draw", "Instantaneous Power Draw", watts(gpu.power.draw), "W"),
                leaf("current_power_limit", "Current Power Limit", watts(gpu.power.enforced), "W"),
                leaf("requested_power_limit", "Requested Power Limit", watts(gpu.power.limit), "W"),
                leaf("default_power_limit", "Default Power Limit", watts(gpu.power.standard), "W"),
                leaf("min_power_limit", "Min Power Limit", watts(gpu.power.least), "W"),
                leaf("max_power_limit", "Max Power Limit", watts(gpu.power.most), "W")},
               "POWER");
}

LogItem clocks(const char* tag, const char* title, const GpuReading& gpu,
               std::optional<std::uint32_t> ClockReading::*which) {
  return group(tag, title,
               {leaf("graphics_clock", "Graphics", text(gpu.graphics.*which), "MHz"),
                leaf("sm_clock", "SM", text(gpu.sm.*which), "MHz"),
                leaf("mem_clock", "Memory", text(gpu.memory_clock.*which), "MHz"),
                leaf("video_clock", "Video", text(gpu.video.*which), "MHz")},
               "CLOCK");
}

LogItem processes(const GpuReading& gpu) {
  std::vector<LogItem> items;
  for (const ProcessReading& each : gpu.processes)
    items.push_back(
        group("process_info", "Process",
              {leaf("gpu_instance_id", "GPU instance ID", text(each.gpu_instance)),
               leaf("compute_instance_id", "Compute instance ID", text(each.compute_instance)),
               leaf("pid", "Process ID", text(std::optional(each.pid))),
               leaf("type", "Type", std::string("C")), leaf("process_name", "Name", each.name),
               leaf("used_memory", "Used GPU Memory", mib(each.used), "MiB")}));
  return group("processes", "Processes", std::move(items), "PIDS");
}

std::vector<LogItem> identity(const GpuReading& gpu) {
  std::vector<LogItem> migs;
  for (const MigReading& mig : gpu.migs) migs.push_back(mig_device(mig));
  return {leaf("product_name", "Product Name", Text(gpu.name)),
          leaf("product_brand", "Product Brand", brand(gpu)),
          leaf("product_architecture", "Product Architecture", architecture(gpu)),
          leaf("display_mode", "Display Mode", enabled(gpu.display_mode)),
          leaf("display_active", "Display Active", enabled(gpu.display_active)),
          leaf("persistence_mode", "Persistence Mode", enabled(gpu.persistence)),
          leaf("addressing_mode", "Addressing Mode", addressing_mode(gpu)),
          mode("mig_mode", "MIG Mode", "current_mig", "pending_mig", gpu.mig),
          group("mig_devices", "MIG Devices", std::move(migs)),
          leaf("accounting_mode", "Accounting Mode", {}),
          leaf("serial", "Serial Number", gpu.serial),
          leaf("uuid", "GPU UUID", Text(gpu.uuid)),
          leaf("minor_number", "Minor Number", text(gpu.minor)),
          leaf("vbios_version", "VBIOS Version", gpu.vbios),
          leaf("board_id", "Board ID",
               gpu.board_id ? Text(fmt::format("0x{:x}", *gpu.board_id)) : Text{}),
          leaf("board_part_number", "Board Part Number", gpu.board_part),
          leaf("module_id", "Module ID", text(gpu.module_id)),
          leaf("gsp_firmware_version", "GSP Firmware Version", gpu.gsp_firmware)};
}

}  // namespace

LogItem gpu_log(const GpuReading& gpu) {
  std::vector<LogItem> items = identity(gpu);
  const Text state =
      gpu.performance_state ? Text(fmt::format("P{}", *gpu.performance_state)) : Text{};
  for (LogItem& each : std::vector<LogItem>{
           pci(gpu), leaf("fan_speed", "Fan Speed", {}),
           shown_by("PERFORMANCE", leaf("performance_state", "Performance State", state)),
           reasons(gpu), memory_item("fb_memory_usage", "FB Memory Usage", gpu.memory, true),
           memory_item("bar1_memory_usage", "BAR1 Memory Usage", gpu.bar1, false),
           shown_by("COMPUTE", leaf("compute_mode", "Compute Mode", compute_mode(gpu))),
           utilization(gpu),
           mode("ecc_mode", "ECC Mode", "current_ecc", "pending_ecc", gpu.ecc, "ECC"), errors(gpu),
           rows(gpu), temperature(gpu), power(gpu),
           clocks("clocks", "Clocks", gpu, &ClockReading::now),
           clocks("applications_clocks", "Applications Clocks", gpu, &ClockReading::applications),
           clocks("max_clocks", "Max Clocks", gpu, &ClockReading::most), processes(gpu)})
    items.push_back(std::move(each));
  const std::string id = gpu.pci ? std::string(gpu.pci->bus_id.data()) : std::string();
  return {"gpu", fmt::format("GPU {}", id), {}, std::move(items), true, id, nullptr};
}

}  // namespace cleave::smi
