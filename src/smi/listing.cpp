#include "smi/listing.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "smi/texts.hpp"

namespace cleave::smi {

namespace {

constexpr std::size_t width = 91;  // of all tables

std::string framed(std::string_view content) {
  return fmt::format("| {:<{}} |\n", shown(content, width - 4), width - 4);
}
std::string border(char of) {
  return fmt::format("+{}+\n", std::string(width - 2, of));
}

std::string double_line() {
  return fmt::format("|{}|\n", std::string(width - 2, '='));
}

std::string memory_text(const std::optional<MemoryReading>& memory) {
  if (!memory) return "N/A";
  return fmt::format("{:>6}MiB / {:>6}MiB", memory->used >> 20, memory->total >> 20);
}

std::string head(const NodeReading& node) {
  return border('-') +
         framed(fmt::format("NVIDIA-SMI {:<24}Driver Version: {:<17}CUDA Version: {}",
                            node.driver_version, node.driver_version,
                            version_text(node.cuda_version))) +
         "|-----------------------------------------+------------------------+------------------"
         "----+\n"
         "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. "
         "ECC |\n"
         "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute "
         "M. |\n"
         "|                                         |                        |               MIG "
         "M. |\n"
         "|=========================================+========================+=================="
         "====|\n";
}

std::string on_off(std::optional<bool> on) {
  return !on ? "N/A" : *on ? "On" : "Off";
}

std::string gpu_rows(const GpuReading& gpu) {
  const bool mig = gpu.mig && gpu.mig->current;
  // With MIG on, errors are counted for its devices.
  const std::string errors = mig ? "On" : text(gpu.uncorrected.since_load).value_or("N/A");
  const std::string temperature =
      gpu.celsius ? fmt::format("{}C", *gpu.celsius) : std::string("N/A");
  const std::string state =
      gpu.performance_state ? fmt::format("P{}", *gpu.performance_state) : std::string("N/A");
  const std::string power = fmt::format(
      "{} / {}", gpu.power.draw ? fmt::format("{}W", (*gpu.power.draw + 500) / 1000) : "N/A",
      gpu.power.enforced ? fmt::format("{}W", *gpu.power.enforced / 1000) : "N/A");
  const std::string busy = gpu.busy ? fmt::format("{}%", *gpu.busy) : std::string("N/A");
  const std::string mode = enabled(gpu.mig ? std::optional(mig) : std::nullopt).value_or("N/A");
  std::string rows =
      fmt::format("| {:>3}  {:<27}{:>6}  | {:>18} {:>3} | {:>20} |\n", gpu.index,
                  shown(gpu.name, 27), on_off(gpu.persistence),
                  gpu.pci ? gpu.pci->bus_id.data() : "N/A", on_off(gpu.display_active), errors);
  rows +=
      fmt::format("| {:>3}  {:>4}  {:>5}  {:>20}  | {:>22} | {:>7} {:>12} |\n", "N/A", temperature,
                  state, power, memory_text(gpu.memory), busy, compute_mode(gpu).value_or("N/A"));
  rows += fmt::format("| {:39} | {:22} | {:>20} |\n", "", "", mode);
  return rows +
         "+-----------------------------------------+------------------------+------------------"
         "----+\n";
}

std::string mig_rows(const GpuReading& gpu, const MigReading& mig) {
  const nvml::DeviceAttributes has = mig.attributes.value_or(nvml::DeviceAttributes{});
  constexpr auto rule =
      "+------------------+----------------------------------+-----------+---------------------"
      "--+\n";
  return fmt::format(
             "| {:>2} {:>4} {:>3} {:>3}  | {:>32} | {:>3} {:>5} | {:>3} {:>3} {:>4} {:>4} "
             "{:>3} |\n",
             gpu.index, mig.gpu_instance, mig.compute_instance, mig.index, memory_text(mig.memory),
             has.multiprocessor_count, text(mig.uncorrected).value_or("N/A"),
             has.shared_copy_engine_count, has.shared_encoder_count, has.shared_decoder_count,
             has.shared_ofa_count, has.shared_jpeg_count) +
         fmt::format("| {:16} | {:>32} | {:9} | {:21} |\n", "", memory_text(mig.bar1), "", "") +
         rule;
}

std::string mig_table(const NodeReading& node) {
  std::string rows;
  bool any_on = false;
  for (const GpuReading& gpu : node.gpus) {
    any_on = any_on || (gpu.mig && gpu.mig->current);
    for (const MigReading& mig : gpu.migs) rows += mig_rows(gpu, mig);
  }
  if (!any_on) return {};
  std::string table = fmt::format("\n{}{}", border('-'), framed("MIG devices:"));
  if (rows.empty()) {
    table += double_line();
    return table + framed(" No MIG devices found") + border('-');
  }
  table +=
      "+------------------+----------------------------------+-----------+---------------------"
      "--+\n"
      "| GPU  GI  CI  MIG |                     Memory-Usage |       Vol |        Shared         "
      "|\n"
      "|      ID  ID  Dev |                       BAR1-Usage |  SM   Unc |  CE ENC  DEC  OFA JPG "
      "|\n"
      "|                  |                                  |       ECC |                       "
      "|\n"
      "|==================+==================================+===========+====================="
      "==|\n";
  return table + rows;
}

std::string id_text(std::optional<std::uint32_t> id) {
  return text(id).value_or("N/A");
}

std::string process_table(const NodeReading& node) {
  std::string table =
      fmt::format("\n{}{}{}{}{}", border('-'), framed("Processes:"),
                  framed(" GPU   GI   CI              PID   Type   Process name"),
                  framed(fmt::format("{:>{}}", "GPU Memory", width - 5)), double_line());
  bool any = false;
  for (const GpuReading& gpu : node.gpus)
    for (const ProcessReading& process : gpu.processes) {
      any = true;
      const std::string memory =
          process.used ? fmt::format("{}MiB", *process.used >> 20) : std::string("N/A");
      table += framed(fmt::format(" {:>3}  {:>3}  {:>3}  {:>15}      C   {:<34}{:>10}", gpu.index,
                                  id_text(process.gpu_instance), id_text(process.compute_instance),
                                  process.pid, shown(process.name.value_or("N/A"), 34), memory));
    }
  if (!any) table += framed(" No running processes found");
  return table + border('-');
}

}  // namespace

std::string device_list(const NodeReading& node) {
  std::string list;
  for (const GpuReading& gpu : node.gpus) {
    list += fmt::format("GPU {}: {} (UUID: {})\n", gpu.index, gpu.name, gpu.uuid);
    for (const MigReading& mig : gpu.migs)
      list +=
          fmt::format("  MIG {:<12}Device {:>2}: (UUID: {})\n", mig.profile, mig.index, mig.uuid);
  }
  return list;
}

std::string summary(const NodeReading& node) {
  std::string text = node.timestamp + "\n" + head(node);
  for (const GpuReading& gpu : node.gpus) text += gpu_rows(gpu);
  return text + mig_table(node) + process_table(node);
}

}  // namespace cleave::smi
