// Power and energy, and their limits.

#include <cmath>

#include "nvmlsim/energy.hpp"
#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/exports/settings.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

constexpr std::uint32_t scope_gpu = 0, power_scopes = 4;

std::uint32_t milliwatts(double watts) {
  return std::isfinite(watts)
             ? static_cast<std::uint32_t>(std::lround(std::clamp(watts, 0.0, 1e6) * 1000))
             : 0;
}

std::uint64_t millijoules(const GpuAccess& access) {
  const double joules = energy_joules(access.record(), now_ns());
  return std::isfinite(joules) && joules > 0
             ? static_cast<std::uint64_t>(std::min(joules, 1e15) * 1000)
             : 0;
}

struct LimitRange {
  std::uint32_t least, most;
};
/// The least of Hopper: measured on an H100 80GB HBM3, driver 580.159.04. Of others: invented; an
/// A100 shows 100 of 400 W.
LimitRange limits_of(const Board& board) {
  constexpr std::uint32_t least_of_hopper = 200'000;
  const std::uint32_t most = milliwatts(power_limits(board).cap_w);
  const bool hopper = board.model->architecture == Architecture::hopper;
  return {hopper ? std::min(least_of_hopper, most) : most / 4, most};
}

std::uint32_t limit_of(const GpuAccess& access) {
  const std::uint32_t set = access.record().settings.power_limit_mw;
  const auto [least, most] = limits_of(access.board());
  return set == 0 ? most : std::clamp(set, least, most);
}

/// `f(board)` of a whole GPU is the answer.
template <class F>
Return put_limit(Device device, std::uint32_t* place, F&& f) {
  return on_whole_gpu(device, place != nullptr,
                      [&](GpuAccess& access, std::uint32_t) { return put(place, f(access)); });
}

}  // namespace

Return nvmlDeviceGetPowerUsage(Device device, std::uint32_t* place) {
  return put_limit(device, place, [](const GpuAccess& access) {
    return milliwatts(shown_watts(access.record(), access.cell().uuid, now_ns()));
  });
}
Return nvmlDeviceGetTotalEnergyConsumption(Device device, std::uint64_t* place) {
  return on_whole_gpu(device, place != nullptr, [&](GpuAccess& access, std::uint32_t) {
    return put(place, millijoules(access));
  });
}

Return nvmlDeviceGetEnforcedPowerLimit(Device device, std::uint32_t* place) {
  return put_limit(device, place, limit_of);
}
Return nvmlDeviceGetPowerManagementLimit(Device device, std::uint32_t* place) {
  return put_limit(device, place, limit_of);
}
Return nvmlDeviceGetPowerManagementDefaultLimit(Device device, std::uint32_t* place) {
  return put_limit(device, place,
                   [](const GpuAccess& access) { return limits_of(access.board()).most; });
}
Return nvmlDeviceGetPowerManagementLimitConstraints(Device device, std::uint32_t* least,
                                                    std::uint32_t* most) {
  return on_whole_gpu(device, least != nullptr && most != nullptr,
                      [&](GpuAccess& access, std::uint32_t) {
                        const LimitRange range = limits_of(access.board());
                        *least = range.least;
                        *most = range.most;
                        return success;
                      });
}
Return nvmlDeviceGetPowerManagementMode(Device device, std::uint32_t* mode) {
  return put_limit(device, mode, [](const GpuAccess&) { return 1U; });
}

Return nvmlDeviceSetPowerManagementLimit(Device device, std::uint32_t limit) {
  return change_settings(device, [&](const Board& board, GpuSettings& settings) {
    const auto [least, most] = limits_of(board);
    if (limit < least || limit > most) return invalid_argument;
    settings.power_limit_mw = limit == most ? 0 : limit;
    return success;
  });
}
Return nvmlDeviceSetPowerManagementLimit_v2(Device device, PowerValue* power) {
  return change_settings(device, [&](const Board& board, GpuSettings& settings) {
    if (power == nullptr || power->scope >= power_scopes) return invalid_argument;
    if (power->version != version_word<PowerValue>(2)) return argument_version_mismatch;
    const auto [least, most] = limits_of(board);
    if (power->milliwatts < least || power->milliwatts > most) return invalid_argument;
    if (power->scope != scope_gpu) return not_supported;
    settings.power_limit_mw = power->milliwatts == most ? 0 : power->milliwatts;
    return success;
  });
}

// Always at full performance: a simulated GPU saves power by drawing less, not by another state.
Return nvmlDeviceGetPerformanceState(Device device, std::uint32_t* state) {
  return put_limit(device, state, [](const GpuAccess&) { return 0U; });
}
Return nvmlDeviceGetPowerState(Device device, std::uint32_t* state) {
  return nvmlDeviceGetPerformanceState(device, state);
}
Return nvmlDeviceGetSupportedPerformanceStates(Device device, std::uint32_t* states,
                                               std::uint32_t size) {
  constexpr std::uint32_t state_unknown = 32;
  return on_whole_gpu(device, states != nullptr, [&](GpuAccess&, std::uint32_t) {
    const auto room = size / static_cast<std::uint32_t>(sizeof *states);  // size: in bytes
    if (room == 0) return insufficient_size;
    std::fill_n(states, room, state_unknown);
    states[0] = 0;
    return success;
  });
}

// Settings of the driver; persistence mode is on by default, so that the driver keeps its state.
Return nvmlDeviceGetPersistenceMode(Device device, std::uint32_t* mode) {
  return on_device(device,
                   [&](const Call&, GpuAccess& access, std::uint32_t, std::optional<std::size_t>) {
                     return put(mode, access.record().settings.persistence_off != 0 ? 0 : 1);
                   });
}
Return nvmlDeviceSetPersistenceMode(Device device, std::uint32_t mode) {
  return change_settings(device, [&](const Board&, GpuSettings& settings) {
    if (mode > 1) return invalid_argument;
    settings.persistence_off = mode == 0 ? 1 : 0;
    return success;
  });
}
Return nvmlDeviceGetComputeMode(Device device, std::uint32_t* mode) {
  return on_device(device, [&](const Call&, GpuAccess& access, std::uint32_t,
                               std::optional<std::size_t>) {
    return put(mode, std::min(access.record().settings.compute_mode, compute_exclusive_process));
  });
}
Return nvmlDeviceSetComputeMode(Device device, std::uint32_t mode) {
  return change_settings(device, [&](const Board&, GpuSettings& settings) {
    if (mode > compute_exclusive_process) return invalid_argument;
    if (mode == compute_exclusive_thread) return not_supported;
    settings.compute_mode = mode;
    return success;
  });
}

}  // namespace cleave::nvml
