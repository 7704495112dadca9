#pragma once
// What the simulated driver says about itself and where its GPUs are, for the functions of NVML and
// for the files of a host alike.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/format.hpp"
#include "nvmlsim/board.hpp"

namespace cleave::sim {

// The version of a driver that has all of this interface.
inline constexpr std::string_view driver_version = "580.65.06";

/// An address on the PCI bus. Simulated GPUs are in domain 0, on one bus each.
struct PciAddress {
  std::uint32_t domain = 0, bus = 0, device = 0, function = 0;
  friend bool operator==(const PciAddress&, const PciAddress&) = default;
};

constexpr PciAddress address_of(std::uint32_t gpu) {
  return {0, gpu + 1, 0, 0};
}

/// Invented: made of the PCI device's number.
inline std::string vbios_version(const Board& board) {
  const std::uint32_t number = board.row.pci_device >> 16U;
  return fmt::format("{:02X}.{:02X}.00.00.01", number >> 8U, number & 0xffU);
}
/// Invented: the numbers of the board's maker are those of the GPU itself.
constexpr std::uint32_t subsystem_of(const Board& board) {
  return board.row.pci_device;
}

}  // namespace cleave::sim
