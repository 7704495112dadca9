#pragma once
// Values as this command writes them, in CSV and in logs alike. A value that the driver refuses is
// empty here; each output has its own word for it.

#include <optional>
#include <string>

#include "smi/reading.hpp"

namespace cleave::smi {

using Text = std::optional<std::string>;

Text text(std::optional<std::uint64_t> number);
Text text(std::optional<std::uint32_t> number);

/// "Enabled", "Active" or "Yes", and their opposites.
Text enabled(std::optional<bool> on);
Text active(std::optional<bool> on);
Text yes(std::optional<bool> on);

/// Bytes as whole MiB.
Text mib(std::optional<std::uint64_t> bytes);
/// Milliwatts as watts, "61.20".
Text watts(std::optional<std::uint32_t> milliwatts);
/// "0x20B010DE"
Text hexadecimal(std::optional<std::uint32_t> number, int digits);

Text brand(const GpuReading& gpu);
Text architecture(const GpuReading& gpu);
Text compute_mode(const GpuReading& gpu);
Text addressing_mode(const GpuReading& gpu);

/// Reasons why clocks are not the highest.
struct ClockReason {
  std::uint64_t bit;
  const char *field, *tag, *title;  // in queries, XML and logs
};
extern const std::initializer_list<ClockReason> clock_reasons;

}  // namespace cleave::smi
