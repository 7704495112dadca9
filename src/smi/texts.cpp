#include "smi/texts.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"

namespace cleave::smi {

namespace {

Text word(std::optional<bool> on, const char* yes, const char* no) {
  if (!on) return {};
  return std::string(*on ? yes : no);
}

/// The word for one of NVML's numbers; empty for those that no list has.
template <std::size_t Count>
Text word_of(std::optional<std::uint32_t> number,
             const std::array<std::pair<std::uint32_t, const char*>, Count>& words) {
  if (!number) return {};
  const auto found =
      std::ranges::find(words, *number, &std::pair<std::uint32_t, const char*>::first);
  if (found == words.end()) return {};
  return std::string(found->second);
}

using Word = std::pair<std::uint32_t, const char*>;

}  // namespace

Text text(std::optional<std::uint64_t> number) {
  if (!number) return {};
  return fmt::format("{}", *number);
}
Text text(std::optional<std::uint32_t> number) {
  if (!number) return {};
  return fmt::format("{}", *number);
}

Text enabled(std::optional<bool> on) {
  return word(on, "Enabled", "Disabled");
}
Text active(std::optional<bool> on) {
  return word(on, "Active", "Not Active");
}
Text yes(std::optional<bool> on) {
  return word(on, "Yes", "No");
}

Text mib(std::optional<std::uint64_t> bytes) {
  if (!bytes) return {};
  return fmt::format("{}", *bytes >> 20);
}
Text watts(std::optional<std::uint32_t> milliwatts) {
  if (!milliwatts) return {};
  return fmt::format("{:.2f}", *milliwatts / 1000.0);
}
Text hexadecimal(std::optional<std::uint32_t> number, int digits) {
  if (!number) return {};
  return fmt::format("0x{:0{}X}", *number, digits);
}

Text brand(const GpuReading& gpu) {
  constexpr auto words = std::to_array<Word>(
      {{1, "Quadro"}, {2, "Tesla"}, {5, "GeForce"}, {14, "NVIDIA"}, {15, "NVIDIA RTX"}});
  return word_of(gpu.brand, words);
}

Text architecture(const GpuReading& gpu) {
  constexpr auto words = std::to_array<Word>({{5, "Volta"},
                                              {6, "Turing"},
                                              {7, "Ampere"},
                                              {8, "Ada Lovelace"},
                                              {9, "Hopper"},
                                              {10, "Blackwell"}});
  return word_of(gpu.architecture, words);
}

Text compute_mode(const GpuReading& gpu) {
  constexpr auto words = std::to_array<Word>(
      {{0, "Default"}, {1, "Exclusive_Thread"}, {2, "Prohibited"}, {3, "Exclusive_Process"}});
  return word_of(gpu.compute_mode, words);
}

Text addressing_mode(const GpuReading& gpu) {
  constexpr auto words = std::to_array<Word>({{0, "None"}, {1, "HMM"}, {2, "ATS"}});
  return word_of(gpu.addressing, words);
}

const std::initializer_list<ClockReason> clock_reasons = {
    {0x1, "gpu_idle", "clocks_event_reason_gpu_idle", "Idle"},
    {0x2, "applications_clocks_setting", "clocks_event_reason_applications_clocks_setting",
     "Applications Clocks Setting"},
    {0x4, "sw_power_cap", "clocks_event_reason_sw_power_cap", "SW Power Cap"},
    {0x8, "hw_slowdown", "clocks_event_reason_hw_slowdown", "HW Slowdown"},
    {0x40, "hw_thermal_slowdown", "clocks_event_reason_hw_thermal_slowdown", "HW Thermal Slowdown"},
    {0x80, "hw_power_brake_slowdown", "clocks_event_reason_hw_power_brake_slowdown",
     "HW Power Brake Slowdown"},
    {0x10, "sync_boost", "clocks_event_reason_sync_boost", "Sync Boost"},
    {0x20, "sw_thermal_slowdown", "clocks_event_reason_sw_thermal_slowdown", "SW Thermal Slowdown"},
};

}  // namespace cleave::smi
