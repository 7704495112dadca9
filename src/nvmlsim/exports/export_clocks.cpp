// Clocks: what they are, what they could be, why they are lower, and locking them.

#include "nvmlsim/energy.hpp"
#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/exports/settings.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

constexpr std::uint32_t step_mhz = 15;

/// What belongs to clocks beside the board's highest.
struct ClockFacts {
  std::uint32_t least;         // of the processors, in steps from the highest
  std::uint32_t video;         // highest; 0: as the processors'
  std::uint32_t other_memory;  // a second clock of the memory; 0: none
};
/// Measured on an H100 80GB HBM3 and an H200, driver 580.159.04; what they have in common is taken
/// for all of Hopper. Of others: invented.
ClockFacts facts_of(const Board& board) {
  if (board.model->architecture != Architecture::hopper) return {210, 0, 0};
  const GpuModelId id = board.row.id;
  return {345, 1545,
          id == GpuModelId::h100_80gb_sxm5 ? 1593U
          : id == GpuModelId::h200_141gb   ? 2201U
                                           : 0U};
}

/// Why clocks could be lower, and are not here: measured likewise.
constexpr std::uint64_t known_reasons = 0x1ff;

/// Arguments of nvmlDeviceSetGpuLockedClocks that are not frequencies.
constexpr std::uint32_t limit_tdp = 0xffffff01, limit_unlimited = 0xffffff02;

bool is_limit(std::uint32_t mhz) {
  return mhz == limit_tdp || mhz == limit_unlimited;
}

template <class F>
Return put_clock(Device device, bool arguments_fine, std::uint32_t* mhz, F&& f, bool there = true) {
  return on_whole_gpu(device, arguments_fine && mhz != nullptr,
                      [&](GpuAccess& access, std::uint32_t) {
                        return there ? put(mhz, f(access)) : not_supported;
                      });
}

std::uint32_t highest(const GpuAccess& access, ClockType type) {
  const BoardRow& row = access.board().row;
  const std::uint32_t video = facts_of(access.board()).video;
  if (type == ClockType::video && video != 0) return std::min(video, row.sm_mhz);
  return type == ClockType::memory ? row.memory_mhz : row.sm_mhz;
}

/// Whether there is a clock for applications, or a boost, of this type: measured likewise.
bool may_be_set(ClockType type) {
  return type != ClockType::video;
}
bool boosts(ClockType type) {
  return type == ClockType::graphics || type == ClockType::sm;
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
  return put_clock(
      device, type <= ClockType::video, mhz,
      [&](const GpuAccess& access) { return highest(access, type); }, boosts(type));
}
Return nvmlDeviceGetDefaultApplicationsClock(Device device, ClockType type, std::uint32_t* mhz) {
  return put_clock(
      device, type <= ClockType::video, mhz,
      [&](const GpuAccess& access) { return highest(access, type); }, may_be_set(type));
}
Return nvmlDeviceGetClockInfo(Device device, ClockType type, std::uint32_t* mhz) {
  return put_clock(device, type <= ClockType::video, mhz,
                   [&](const GpuAccess& access) { return current(access, type); });
}
Return nvmlDeviceGetApplicationsClock(Device device, ClockType type, std::uint32_t* mhz) {
  return put_clock(
      device, type <= ClockType::video, mhz,
      [&](const GpuAccess& access) { return target(access, type); }, may_be_set(type));
}
Return nvmlDeviceGetClock(Device device, ClockType type, ClockId id, std::uint32_t* mhz) {
  const bool there =
      id == ClockId::current || (id == ClockId::boost_most ? boosts(type) : may_be_set(type));
  return put_clock(
      device, type <= ClockType::video && id <= ClockId::boost_most, mhz,
      [&](const GpuAccess& access) {
        if (id == ClockId::current) return current(access, type);
        return id == ClockId::target ? target(access, type) : highest(access, type);
      },
      there);
}
/// There is one performance state, 0. Drivers take either place missing: measured with driver
/// 580.159.04, and documented otherwise.
Return nvmlDeviceGetMinMaxClockOfPState(Device device, ClockType type, std::uint32_t state,
                                        std::uint32_t* least, std::uint32_t* most) {
  constexpr std::uint32_t states = 16;
  const bool fine = type <= ClockType::video && state < states;
  return on_whole_gpu(device, fine, [&](GpuAccess& access, std::uint32_t) {
    if (state != 0) return not_supported;
    const std::uint32_t top = highest(access, type);
    if (most != nullptr) *most = top;
    if (least != nullptr)
      *least = type == ClockType::memory ? top : std::min(top, facts_of(access.board()).least);
    return success;
  });
}

Return nvmlDeviceGetSupportedMemoryClocks(Device device, std::uint32_t* count, std::uint32_t* mhz) {
  return on_whole_gpu(device, count != nullptr, [&](GpuAccess& access, std::uint32_t) {
    const std::uint32_t other = facts_of(access.board()).other_memory;
    return put_list(count, mhz, other == 0 ? 1 : 2, [&](std::uint32_t i) {
      return i == 0 ? access.board().row.memory_mhz : other;
    });
  });
}
Return nvmlDeviceGetSupportedGraphicsClocks(Device device, std::uint32_t memory_mhz,
                                            std::uint32_t* count, std::uint32_t* mhz) {
  return on_whole_gpu(device, count != nullptr, [&](GpuAccess& access, std::uint32_t) {
    const BoardRow& row = access.board().row;
    const ClockFacts facts = facts_of(access.board());
    const bool other = facts.other_memory != 0 && memory_mhz == facts.other_memory;
    if (memory_mhz != row.memory_mhz && !other) return not_found;
    return put_list(count, mhz, (row.sm_mhz - facts.least) / step_mhz + 1,
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
  return on_whole_gpu(device, reasons != nullptr,
                      [&](GpuAccess&, std::uint32_t) { return put(reasons, known_reasons); });
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
    const std::uint32_t lowest = facts_of(board).least;
    if (least > most || most < lowest) return invalid_argument;
    settings.sm_least_mhz = std::clamp(least, lowest, board.row.sm_mhz);
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
    if (memory_mhz != board.row.memory_mhz || graphics_mhz < facts_of(board).least ||
        graphics_mhz > most || (most - graphics_mhz) % step_mhz != 0)
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
