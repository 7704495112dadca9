// Where a GPU is on the PCI bus, and its link there.

#include <charconv>
#include <optional>

#include "base/format.hpp"
#include "nvmlsim/driver_facts.hpp"
#include "nvmlsim/exports/exported.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

std::string bus_id(std::uint32_t gpu) {
  const PciAddress at = address_of(gpu);
  return fmt::format("{:08X}:{:02X}:{:02X}.{:X}", at.domain, at.bus, at.device, at.function);
}

/// One hexadecimal number at the beginning of the text, which it is taken from.
std::optional<std::uint32_t> taken_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (problem != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(char letter, std::string_view& text) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  return true;
}

/// The three forms that NVML documents: domain:bus:device.function, domain:bus:device and
/// bus:device.function, all in hexadecimal with any number of digits.
std::optional<PciAddress> parse_address(std::string_view text) {
  std::array<std::uint32_t, 3> before{};
  std::size_t count = 0;
  do {
    const auto number = count < before.size() ? taken_number(text) : std::nullopt;
    if (!number) return std::nullopt;
    before[count++] = *number;
  } while (take(':', text));
  const bool dot = take('.', text);
  const auto function = dot ? taken_number(text) : 0;
  if (!function || !text.empty()) return std::nullopt;
  if (count == 3) return PciAddress{before[0], before[1], before[2], *function};
  if (count == 2 && dot) return PciAddress{0, before[0], before[1], *function};
  return std::nullopt;
}

constexpr std::uint32_t display_controller = 3, controller_3d = 2;
constexpr std::uint32_t bus_is_pcie = 2;

/// What NVML calls the speed of a link: its transfers a second and lane, in millions.
constexpr std::uint32_t megatransfers[] = {0, 2500, 5000, 8000, 16000, 32000, 64000};

std::uint32_t generation_of(const Board& board) {
  return std::min<std::uint32_t>(board.row.pcie_generation, std::size(megatransfers) - 1);
}

}  // namespace

Return nvmlDeviceGetHandleByPciBusId_v2(const char* wanted, Device* device) {
  const auto asked = wanted == nullptr ? std::nullopt : parse_address(wanted);
  if (!asked) return wrong_argument();
  return find_gpu(device,
                  [&](const GpuCell&, std::uint32_t gpu) { return address_of(gpu) == *asked; });
}
Return nvmlDeviceGetHandleByPciBusId(const char* wanted, Device* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(wanted, device);
}

Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t gpu) {
    if (pci == nullptr) return invalid_argument;
    *pci = {};
    const std::string id = bus_id(gpu);
    put_name(id.substr(4), pci->bus_id_legacy);
    put_name(id, pci->bus_id);
    pci->bus = address_of(gpu).bus;
    pci->pci_device_id = access.board().row.pci_device;
    pci->pci_subsystem_id = subsystem_of(access.board());
    return success;
  });
}
// The older structures are the beginning of the newer one; the rest of them is reserved.
Return nvmlDeviceGetPciInfo_v2(Device device, void* pci) {
  if (pci == nullptr) return wrong_argument();
  PciInfo newer{};
  const Return answer = nvmlDeviceGetPciInfo_v3(device, &newer);
  if (answer == success) std::memcpy(pci, &newer, offsetof(PciInfo, bus_id));
  return answer;
}
Return nvmlDeviceGetPciInfo(Device device, void* pci) {
  return nvmlDeviceGetPciInfo_v2(device, pci);
}

Return nvmlDeviceGetPciInfoExt(Device device, PciInfoExt* pci) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t gpu) {
    if (pci == nullptr) return invalid_argument;
    if (pci->version != version_word<PciInfoExt>(1)) return argument_version_mismatch;
    const PciAddress at = address_of(gpu);
    *pci = {pci->version,
            at.domain,
            at.bus,
            at.device,
            access.board().row.pci_device,
            subsystem_of(access.board()),
            display_controller,
            controller_3d,
            {}};
    put_name(bus_id(gpu), pci->bus_id);
    return success;
  });
}

Return nvmlDeviceGetBusType(Device device, std::uint32_t* type) {
  return always(device, type, bus_is_pcie);
}

Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, std::uint32_t* generation) {
  return on_device(device,
                   [&](const Call&, GpuAccess& access, std::uint32_t, std::optional<std::size_t>) {
                     return put(generation, access.board().row.pcie_generation);
                   });
}
Return nvmlDeviceGetCurrPcieLinkGeneration(Device device, std::uint32_t* generation) {
  return nvmlDeviceGetMaxPcieLinkGeneration(device, generation);
}
Return nvmlDeviceGetGpuMaxPcieLinkGeneration(Device device, std::uint32_t* generation) {
  return nvmlDeviceGetMaxPcieLinkGeneration(device, generation);
}
Return nvmlDeviceGetMaxPcieLinkWidth(Device device, std::uint32_t* width) {
  return always(device, width, 16);
}
Return nvmlDeviceGetCurrPcieLinkWidth(Device device, std::uint32_t* width) {
  return always(device, width, 16);
}

Return nvmlDeviceGetPcieSpeed(Device device, std::uint32_t* megabits_per_s) {
  return on_whole_gpu(device, megabits_per_s != nullptr, [&](GpuAccess& access, std::uint32_t) {
    return put(megabits_per_s, megatransfers[generation_of(access.board())]);
  });
}
/// A code and not a speed: 1 for 2500 to 6 for 64,000, which is the generation.
Return nvmlDeviceGetPcieLinkMaxSpeed(Device device, std::uint32_t* code) {
  return on_whole_gpu(device, code != nullptr, [&](GpuAccess& access, std::uint32_t) {
    return put(code, generation_of(access.board()));
  });
}
Return nvmlDeviceGetPcieReplayCounter(Device device, std::uint32_t* count) {
  return on_whole_gpu(device, count != nullptr,
                      [&](GpuAccess&, std::uint32_t) { return put(count, 0); });
}
Return nvmlDeviceGetPcieThroughput(Device device, std::uint32_t counter,
                                   std::uint32_t* kilobytes_per_s) {
  return on_whole_gpu(
      device, counter <= 1 && kilobytes_per_s != nullptr, [&](GpuAccess& access, std::uint32_t) {
        return access.record().mig_enabled != 0 ? not_supported : put(kilobytes_per_s, 0);
      });
}

}  // namespace cleave::nvml
