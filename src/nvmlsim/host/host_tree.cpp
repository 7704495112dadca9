// The files of the driver and of the GPUs. Their forms: NVIDIA Multi-Instance GPU User Guide,
// "Device Nodes and Capabilities", and the kernel's documentation of sysfs.

#include <sys/sysinfo.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/format.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "nvmlsim/client/client_view.hpp"
#include "nvmlsim/driver_facts.hpp"
#include "nvmlsim/sim_host.hpp"
#include "nvmlsim/uuid.hpp"

namespace cleave {

namespace fs = std::filesystem;

using namespace sim;

namespace {

constexpr std::uint32_t gpu_major = 195, control_minor = 255;
// The numbers of capabilities: two of the whole node, then places for what GPUs can have.
constexpr std::uint32_t config_minor = 1, monitor_minor = 2, first_minor = 3;
constexpr std::uint32_t gpu_instances = 15, compute_instances = 8;

std::uint32_t capability_minor(std::uint32_t gpu, std::uint32_t instance,
                               std::optional<std::uint32_t> compute = {}) {
  return first_minor + (gpu * gpu_instances + instance) * (1 + compute_instances) +
         (compute ? 1 + *compute : 0);
}

void put_text(HostTree& tree, const std::string& path, std::string text) {
  tree[path] = {HostFile::Kind::text, std::move(text)};
}
void put_device(HostTree& tree, const std::string& path) {
  tree[path] = {HostFile::Kind::device, {}};
}

void put_capability(HostTree& tree, const std::string& path, std::uint32_t minor, int mode) {
  put_text(
      tree, "proc/driver/nvidia/capabilities/" + path,
      fmt::format("DeviceFileMinor: {}\nDeviceFileMode: {}\nDeviceFileModify: 1\n", minor, mode));
  put_device(tree, fmt::format("dev/nvidia-caps/nvidia-cap{}", minor));
}

/// All that GPUs of this number can have, whether there or not.
std::string mig_minors(std::uint32_t gpus) {
  std::string text = fmt::format("config {}\nmonitor {}\n", config_minor, monitor_minor);
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
    for (std::uint32_t each = 0; each < gpu_instances; ++each) {
      text += fmt::format("gpu{}/gi{}/access {}\n", gpu, each, capability_minor(gpu, each));
      for (std::uint32_t compute = 0; compute < compute_instances; ++compute)
        text += fmt::format("gpu{}/gi{}/ci{}/access {}\n", gpu, each, compute,
                            capability_minor(gpu, each, compute));
    }
  return text;
}

std::string pci_name(std::uint32_t gpu) {
  const PciAddress at = address_of(gpu);
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", at.domain, at.bus, at.device, at.function);
}

/// The first 64 bytes of the GPU's configuration space.
std::string pci_configuration(const Board& board) {
  std::string bytes(64, '\0');
  const auto put = [&](std::size_t at, std::uint32_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xffU);
  };
  put(0x00, board.row.pci_device & 0xffffU, 2);
  put(0x02, board.row.pci_device >> 16U, 2);
  put(0x04, 0x0406, 2);      // it answers, and masters the bus
  put(0x08, 0x030200a1, 4);  // class and revision
  put(0x2c, subsystem_of(board) & 0xffffU, 2);
  put(0x2e, subsystem_of(board) >> 16U, 2);
  return bytes;
}

void put_pci(HostTree& tree, const RealHost& real, const Board& board, std::uint32_t gpu) {
  const std::string folder = "sys/bus/pci/devices/" + pci_name(gpu) + "/";
  const auto put = [&](const char* name, std::string text) {
    put_text(tree, folder + name, std::move(text) + "\n");
  };
  const std::uint32_t id = board.row.pci_device, subsystem = subsystem_of(board);
  put("vendor", fmt::format("{:#06x}", id & 0xffffU));
  put("device", fmt::format("{:#06x}", id >> 16U));
  put("subsystem_vendor", fmt::format("{:#06x}", subsystem & 0xffffU));
  put("subsystem_device", fmt::format("{:#06x}", subsystem >> 16U));
  put("class", "0x030200");
  put("revision", "0xa1");
  put("irq", "0");
  put("enable", "1");
  put("numa_node", real.numa ? "0" : "-1");
  put("local_cpulist", real.cpus > 1 ? fmt::format("0-{}", real.cpus - 1) : "0");
  put("current_link_width", "16");
  put("max_link_width", "16");
  put("power/control", "on");
  put("power/runtime_status", "active");
  put("uevent",
      fmt::format("DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:"
                  "{:04X}\nPCI_SLOT_NAME={}",
                  id & 0xffffU, id >> 16U, subsystem & 0xffffU, subsystem >> 16U, pci_name(gpu)));
  std::string resource;
  for (int i = 0; i < 13; ++i) resource += fmt::format("{0:#018x} {0:#018x} {0:#018x}\n", 0);
  put_text(tree, folder + "resource", resource);
  put_text(tree, folder + "config", pci_configuration(board));
  tree[folder + "driver"] = {HostFile::Kind::link, "../../../../bus/pci/drivers/nvidia"};
  tree["sys/bus/pci/drivers/nvidia/" + pci_name(gpu)] = {HostFile::Kind::link,
                                                         "../../devices/" + pci_name(gpu)};
}

void put_information(HostTree& tree, const GpuAccess& access, std::uint32_t gpu) {
  const std::pair<const char*, std::string> lines[] = {
      {"Model:", std::string(access.board().model->driver_names.front())},
      {"IRQ:", "0"},
      {"GPU UUID:", uuid_text("GPU-", access.cell().uuid).data()},
      {"Video BIOS:", vbios_version(access.board())},
      {"Bus Type:", "PCIe"},
      {"DMA Size:", "47 bits"},
      {"DMA Mask:", "0x7fffffffffff"},
      {"Bus Location:", pci_name(gpu)},
      {"Device Minor:", fmt::format("{}", gpu)},
      {"GPU Firmware:", std::string(driver_version)},
      {"GPU Excluded:", "No"}};
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{:<16} {}\n", name, value);
  put_text(tree, fmt::format("proc/driver/nvidia/gpus/{}/information", pci_name(gpu)), text);
}

void put_instances(HostTree& tree, const Node& node, const GpuAccess& access, std::uint32_t gpu) {
  const GpuRecord& record = access.record();
  if (!sound(access.board(), record)) return;
  for (std::size_t slot = 0; slot < instance_slots; ++slot) {
    if (record.gpu_instances[slot].serial == 0) continue;
    const std::uint32_t id =
        gpu_instance_id(access.board(), record.gpu_instances[slot].placement, node.numbering());
    const std::string folder = fmt::format("gpu{}/mig/gi{}/", gpu, id);
    put_capability(tree, folder + "access", capability_minor(gpu, id), 292);
    for (const ComputeInstanceRecord& compute : record.compute_instances)
      if (compute.serial != 0 && compute.gpu_instance == slot)
        put_capability(tree, fmt::format("{}ci{}/access", folder, compute.id),
                       capability_minor(gpu, id, compute.id), 292);
  }
}

void put_driver(HostTree& tree, const RealHost& real, std::uint32_t gpus) {
  put_text(tree, "proc/devices", with_driver_majors(real.devices));
  if (real.modules)
    put_text(tree, "proc/modules",
             fmt::format("nvidia_uvm 4194304 0 - Live 0x0000000000000000\n"
                         "nvidia 16777216 1 nvidia_uvm, Live 0x0000000000000000\n{}",
                         *real.modules));
  put_text(tree, "proc/driver/nvidia/version",
           fmt::format("NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  (simulated)\n",
                       driver_version));
  put_text(tree, "proc/driver/nvidia/params",
           "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n");
  put_text(tree, "proc/driver/nvidia-caps/mig-minors", mig_minors(gpus));
  put_capability(tree, "mig/config", config_minor, 256);
  put_capability(tree, "mig/monitor", monitor_minor, 292);
  put_text(tree, "sys/module/nvidia/version", fmt::format("{}\n", driver_version));
  put_text(tree, "sys/module/nvidia/initstate", "live\n");
  for (const char* name : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"})
    put_device(tree, fmt::format("dev/{}", name));
}

}  // namespace

/// The node, which reads of all kinds lock.
struct SimHost::Inside {
  std::unique_ptr<Node> node;
};

SimHost::SimHost(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
SimHost::~SimHost() = default;
SimHost::SimHost(SimHost&&) noexcept = default;
SimHost& SimHost::operator=(SimHost&&) noexcept = default;

Result<SimHost> SimHost::open(const fs::path& directory) {
  auto node = open_living(directory);
  if (!node) return std::unexpected(node.error());
  return SimHost(std::make_unique<Inside>(std::move(*node)));
}

HostTree SimHost::tree(const RealHost& real) const {
  HostTree tree;
  Node& node = *inside_->node;
  put_driver(tree, real, node.gpus());
  for (std::uint32_t gpu = 0; gpu < node.gpus(); ++gpu) {
    const GpuAccess access(node, gpu);
    put_device(tree, fmt::format("dev/nvidia{}", gpu));
    put_pci(tree, real, access.board(), gpu);
    put_information(tree, access, gpu);
    put_instances(tree, node, access, gpu);
  }
  return tree;
}

std::uint64_t SimHost::state() const {
  Node& node = *inside_->node;
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  for (std::uint32_t gpu = 0; gpu < node.gpus(); ++gpu) {
    const GpuAccess access(node, gpu);
    for (const GpuInstanceRecord& each : access.record().gpu_instances) add(each.serial);
    for (const ComputeInstanceRecord& each : access.record().compute_instances) add(each.serial);
  }
  return hash;
}

bool SimHost::gone() const {
  return inside_->node->gone();
}

std::string with_driver_majors(std::string_view devices) {
  std::set<std::int64_t> taken;
  std::vector<std::pair<std::int64_t, std::string>> character;
  std::string rest;
  bool in_character = false;
  for (const std::string_view line : split(devices, '\n')) {
    const std::string_view number = trimmed(line).substr(0, trimmed(line).find(' '));
    const auto major = parse_integer(number);
    if (line.starts_with("Character"))
      in_character = true;
    else if (in_character && !major)
      in_character = false;
    if (!in_character || !major) {
      if (!line.starts_with("Character") && !(line.empty() && rest.empty()))
        rest += fmt::format("{}\n", line);
      continue;
    }
    const std::string_view name = trimmed(trimmed(line).substr(number.size()));
    if (name.starts_with("nvidia")) continue;  // of a real driver
    taken.insert(*major);
    character.emplace_back(*major, name);
  }
  // GPUs and the control device, as drivers from 550.40 on call them (before: "nvidia-frontend").
  for (const char* name : {"nvidia", "nvidiactl"}) character.emplace_back(gpu_major, name);
  // The kernel gives out other numbers from 254 down to 234, then from 511 down to 384.
  std::int64_t free = 254;
  for (const char* name : {"nvidia-caps", "nvidia-uvm"}) {
    while (taken.contains(free)) free = free == 234 ? 511 : free - 1;
    taken.insert(free);
    character.emplace_back(free, name);
  }
  std::ranges::stable_sort(character, {}, &std::pair<std::int64_t, std::string>::first);
  std::string text = "Character devices:\n";
  for (const auto& [major, name] : character) text += fmt::format("{:>3} {}\n", major, name);
  while (rest.ends_with("\n\n")) rest.pop_back();
  return text + "\n" + rest;
}

}  // namespace cleave
