// Clocks: what they are, what they could be, why they are lower, and locking them.

#include "nvmlsim/energy.hpp"
#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/exports/settings.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

// Invented: processors run at multiples of 15 MHz from 210 on, the memory at one clock.
constexpr std::uint32_t step_mhz = 15, least_mhz = 210;

/// Arguments of nvmlDeviceSetGpuLockedClocks that are not frequencies.
constexpr std::uint32_t limit_tdp = 0xffffff01, limit_unlimited = 0xffffff02;

bool is_limit(std::uint32_t mhz) {
  return mhz == limit_tdp || mhz == limit_unlimited;
}

template <class F>
Return put_clock(Device device, bool arguments_fine, std::uint32_t* mhz, F&& f) {
  return on_whole_gpu(device, arguments_fine && mhz != nullptr,
                      [&](GpuAccess& access, std::uint32_t) { return put(mhz, f(access)); });
}

std::uint32_t highest(const GpuAccess& access, ClockType type) {
  const BoardRow& row = access.board().row;
  return type == ClockType::memory ? row.memory_mhz : row.sm_mhz;
}

std::uint32_t current(const GpuAccess& access, ClockType type) {
  return type == ClockType::memory ? access.board().row.memory_mhz
                                   : sm_clock(access.board(), access.record()).mhz;
}

std::uint32_t target(const GpuAccess& access, ClockType type) {
  const std::uint32_t set = access.record().settings.sm_target_mhz;
  return type == ClockType::memory || set == 0 ? highest(access, type)
                                               : std::min(set, highest(access, type));
}

/// Lists the numbers that `f(i)` gives for 0 to `found`; a count of 0 asks how many there are.
template <class F>
Return put_list(std::uint32_t* count, std::uint32_t* mhz, std::uint32_t found, F&& f) {
  const std::uint32_t room = mhz == nullptr ? 0 : *count;
  *count = found;
  if (found > room) return insufficient_size;
  for (std::uint32_t i = 0; i < found; ++i) mhz[i] = f(i);
  return success;
}

}  // namespace

Return nvmlDeviceGetMaxClockInfo(Device device, ClockType type, std::uint32_t* mhz) {
  return put_clock(device, type <= ClockType::video, mhz,
                   [&](const GpuAccess& access) { return highest(access, type); });
}
Return nvmlDeviceGetMaxCustomerBoostClock(Device device, ClockType type, std::uint32_t* mhz) {
  return nvmlDeviceGetMaxClockInfo(device, type, mhz);
}
Return nvmlDeviceGetDefaultApplicationsClock(Device device, ClockType type, std::uint32_t* mhz) {
  return nvmlDeviceGetMaxClockInfo(device, type, mhz);
}
Return nvmlDeviceGetClockInfo(Device device, ClockType type, std::uint32_t* mhz) {
  return put_clock(device, type <= ClockType::video, mhz,
                   [&](const GpuAccess& access) { return current(access, type); });
}
Return nvmlDeviceGetApplicationsClock(Device device, ClockType type, std::uint32_t* mhz) {
  return put_clock(device, type <= ClockType::video, mhz,
                   [&](const GpuAccess& access) { return target(access, type); });
}
Return nvmlDeviceGetClock(Device device, ClockType type, ClockId id, std::uint32_t* mhz) {
  return put_clock(device, type <= ClockType::video && id <= ClockId::boost_most, mhz,
                   [&](const GpuAccess& access) {
                     if (id == ClockId::current) return current(access, type);
                     return id == ClockId::target ? target(access, type) : highest(access, type);
                   });
}
/// There is one performance state, 0.
Return nvmlDeviceGetMinMaxClockOfPState(Device device, ClockType type, std::uint32_t state,
                                        std::uint32_t* least, std::uint32_t* most) {
  constexpr std::uint32_t states = 16;
  const bool fine =
      type <= ClockType::video && state < states && least != nullptr && most != nullptr;
  return on_whole_gpu(device, fine, [&](GpuAccess& access, std::uint32_t) {
    if (state != 0) return not_supported;
    *most = highest(access, type);
    *least = type == ClockType::memory ? *most : least_mhz;
    return success;
  });
}

Return nvmlDeviceGetSupportedMemoryClocks(Device device, std::uint32_t* count, std::uint32_t* mhz) {
  return on_whole_gpu(device, count != nullptr, [&](GpuAccess& access, std::uint32_t) {
    return put_list(count, mhz, 1, [&](std::uint32_t) { return access.board().row.memory_mhz; });
  });
}
Return nvmlDeviceGetSupportedGraphicsClocks(Device device, std::uint32_t memory_mhz,
                                            std::uint32_t* count, std::uint32_t* mhz) {
  return on_whole_gpu(device, count != nullptr, [&](GpuAccess& access, std::uint32_t) {
    const BoardRow& row = access.board().row;
    if (memory_mhz != row.memory_mhz) return not_found;
    return put_list(count, mhz, (row.sm_mhz - least_mhz) / step_mhz + 1,
                    [&](std::uint32_t i) { return row.sm_mhz - i * step_mhz; });
  });
}

Return nvmlDeviceGetCurrentClocksEventReasons(Device device, std::uint64_t* reasons) {
  return on_whole_gpu(device, reasons != nullptr, [&](GpuAccess& access, std::uint32_t) {
    return put(reasons, sm_clock(access.board(), access.record()).reasons);
  });
}
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, std::uint64_t* reasons) {
  return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}
Return nvmlDeviceGetSupportedClocksEventReasons(Device device, std::uint64_t* reasons) {
  return on_whole_gpu(device, reasons != nullptr, [&](GpuAccess&, std::uint32_t) {
    return put(reasons, clocks_idle | clocks_set | clocks_power_cap);
  });
}
Return nvmlDeviceGetSupportedClocksThrottleReasons(Device device, std::uint64_t* reasons) {
  return nvmlDeviceGetSupportedClocksEventReasons(device, reasons);
}

Return nvmlDeviceSetGpuLockedClocks(Device device, std::uint32_t least, std::uint32_t most) {
  return change_settings(device, [&](const Board& board, GpuSettings& settings) {
    if (is_limit(least) != is_limit(most)) return invalid_argument;
    if (is_limit(least)) {
      // The highest clock of a simulated GPU is the one that it can keep within its power.
      settings.sm_least_mhz = least == limit_tdp ? board.row.sm_mhz : 0;
      settings.sm_most_mhz = 0;
      return success;
    }
    if (least > most || most < least_mhz) return invalid_argument;
    settings.sm_least_mhz = std::clamp(least, least_mhz, board.row.sm_mhz);
    settings.sm_most_mhz = std::min(most, board.row.sm_mhz);
    return success;
  });
}
Return nvmlDeviceResetGpuLockedClocks(Device device) {
  return change_settings(device, [](const Board&, GpuSettings& settings) {
    settings.sm_least_mhz = settings.sm_most_mhz = 0;
    return success;
  });
}
/// The memory has one clock: it can be locked to that only, which changes nothing.
Return nvmlDeviceSetMemoryLockedClocks(Device device, std::uint32_t least, std::uint32_t most) {
  return change_settings(device, [&](const Board& board, GpuSettings& settings) {
    if (least > board.row.memory_mhz || most < board.row.memory_mhz) return invalid_argument;
    settings.memory_locked = 1;
    return success;
  });
}
Return nvmlDeviceResetMemoryLockedClocks(Device device) {
  return change_settings(device, [](const Board&, GpuSettings& settings) {
    settings.memory_locked = 0;
    return success;
  });
}
Return nvmlDeviceSetApplicationsClocks(Device device, std::uint32_t memory_mhz,
                                       std::uint32_t graphics_mhz) {
  return change_settings(device, [&](const Board& board, GpuSettings& settings) {
    const std::uint32_t most = board.row.sm_mhz;
    if (memory_mhz != board.row.memory_mhz || graphics_mhz < least_mhz || graphics_mhz > most ||
        (most - graphics_mhz) % step_mhz != 0)
      return invalid_argument;
    settings.sm_target_mhz = graphics_mhz == most ? 0 : graphics_mhz;
    return success;
  });
}
Return nvmlDeviceResetApplicationsClocks(Device device) {
  return change_settings(device, [](const Board&, GpuSettings& settings) {
    settings.sm_target_mhz = 0;
    return success;
  });
}

}  // namespace cleave::nvml
