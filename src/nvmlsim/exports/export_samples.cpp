// How busy GPUs and processes are, and the driver's samples of that, of power and of clocks. As
// with drivers, utilisation is not told of a GPU with MIG on.

#include <time.h>

#include <cmath>

#include "nvmlsim/energy.hpp"
#include "nvmlsim/exports/exported.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

constexpr std::uint32_t most_samples = 120, video_period_us = 100'000;

std::int64_t wall_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::uint32_t percent(double share) {
  return std::isfinite(share)
             ? static_cast<std::uint32_t>(std::lround(100 * std::clamp(share, 0.0, 1.0)))
             : 0;
}

/// The memory's part is invented, here and below.
Utilization rates_of(const GpuAccess& access) {
  const std::uint32_t gpu = percent(busy_share(access.board(), access.record()));
  return {gpu, gpu / 2};
}

bool is_utilization(SampleKind kind) {
  return kind != SampleKind::power && kind != SampleKind::sm_clock &&
         kind != SampleKind::memory_clock;
}

/// The value at `at`, since when the GPU's record has been what it is.
std::uint64_t sampled(const GpuAccess& access, SampleKind kind, std::int64_t at) {
  switch (kind) {
    case SampleKind::power: {
      const double watts = shown_watts(access.record(), access.cell().uuid, at);
      return std::isfinite(watts)
                 ? static_cast<std::uint64_t>(std::lround(1000 * std::clamp(watts, 0.0, 1e6)))
                 : 0;
    }
    case SampleKind::gpu:
      return rates_of(access).gpu;
    case SampleKind::memory:
      return rates_of(access).memory;
    case SampleKind::sm_clock:
      return sm_clock(access.board(), access.record()).mhz;
    case SampleKind::memory_clock:
      return access.board().row.memory_mhz;
    case SampleKind::encoder:
    case SampleKind::decoder:
    case SampleKind::jpeg:
    case SampleKind::ofa:
    case SampleKind::module_power:
      break;
  }
  return 0;
}

/// The times of the samples after `last_seen_us` of the wall clock, the newest first: one in each
/// window of the power sensor since the GPU's record was changed, and at least one.
struct SampleTimes {
  SampleTimes(const GpuRecord& record, std::uint64_t last_seen_us) {
    const std::int64_t now = now_ns(), boot = wall_ns() - now;
    const std::int64_t newest = now / jitter_ns * jitter_ns;
    const std::int64_t since = std::clamp<std::int64_t>(record.since_ns, 0, now);
    for (std::int64_t at = newest; count < most_samples && (at > since || at == newest);
         at -= jitter_ns) {
      const std::int64_t at_us = (std::max(at, since) + boot) / 1000;
      if (static_cast<std::uint64_t>(at_us) <= last_seen_us) break;
      at_ns[count] = at;
      wall_us[count++] = static_cast<std::uint64_t>(at_us);
    }
  }
  std::array<std::int64_t, most_samples> at_ns{};
  std::array<std::uint64_t, most_samples> wall_us{};
  std::uint32_t count = 0;
};

/// `f(process, percent)` for each process that keeps the GPU busy; returns how many there are.
template <class F>
std::uint32_t for_busy(const GpuRecord& record, F&& f) {
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < std::min(record.process_count, most_processes); ++i) {
    const std::uint32_t share = percent(record.processes[i].busy);
    if (share == 0) continue;
    f(found++, pid_of(record.processes[i].identity), share);
  }
  return found;
}

/// Lists processes that keep a GPU busy by `f(index, pid, percent, time)`.
template <class F>
Return list_busy(const GpuAccess& access, std::uint32_t& count, bool only_count,
                 std::uint64_t last_seen_us, F&& f) {
  if (access.record().mig_enabled != 0) return not_supported;
  const auto now_us = static_cast<std::uint64_t>(wall_ns() / 1000);
  const std::uint32_t room = only_count ? 0 : count;
  const std::uint32_t found =
      for_busy(access.record(), [](std::uint32_t, std::uint32_t, std::uint32_t) {});
  if (found == 0 || last_seen_us >= now_us) return not_found;
  count = found;
  if (found > room) return insufficient_size;
  for_busy(access.record(), [&](std::uint32_t i, std::uint32_t pid, std::uint32_t share) {
    f(i, pid, share, now_us);
  });
  return success;
}

/// The video engines, which simulated jobs do not use.
Return put_video(Device device, std::uint32_t* percent, std::uint32_t* period_us) {
  return on_whole_gpu(device, percent != nullptr && period_us != nullptr,
                      [&](GpuAccess& access, std::uint32_t) {
                        if (access.record().mig_enabled != 0) return not_supported;
                        *percent = 0;
                        *period_us = video_period_us;
                        return success;
                      });
}

}  // namespace

Return nvmlDeviceGetUtilizationRates(Device device, Utilization* rates) {
  return on_whole_gpu(device, rates != nullptr, [&](GpuAccess& access, std::uint32_t) {
    return access.record().mig_enabled != 0 ? not_supported : put(rates, rates_of(access));
  });
}

Return nvmlDeviceGetSamples(Device device, SampleKind kind, std::uint64_t last_seen_us,
                            std::uint32_t* type, std::uint32_t* count, Sample* samples) {
  // Power of a module is a wrong argument on boards without one: measured on an H100 80GB HBM3,
  // driver 580.159.04.
  const bool fine = kind <= SampleKind::ofa && kind != SampleKind::module_power &&
                    type != nullptr && count != nullptr && (samples == nullptr || *count > 0);
  return on_whole_gpu(device, fine, [&](GpuAccess& access, std::uint32_t) {
    const bool hidden = is_utilization(kind) && access.record().mig_enabled != 0;
    if (hidden) return not_supported;
    const SampleTimes times(access.record(), last_seen_us);
    if (times.count == 0) return not_found;
    *type = value_is_u32;
    const std::uint32_t written = samples == nullptr ? 0 : std::min(times.count, *count);
    for (std::uint32_t i = 0; i < written; ++i) {
      const std::uint32_t from = written - 1 - i;  // oldest first
      samples[i] = {times.wall_us[from], sampled(access, kind, times.at_ns[from])};
    }
    *count = samples == nullptr ? times.count : written;
    return success;
  });
}

Return nvmlDeviceGetProcessUtilization(Device device, ProcessUtilization* samples,
                                       std::uint32_t* count, std::uint64_t last_seen_us) {
  return on_whole_gpu(device, count != nullptr, [&](GpuAccess& access, std::uint32_t) {
    return list_busy(
        access, *count, samples == nullptr, last_seen_us,
        [&](std::uint32_t i, std::uint32_t pid, std::uint32_t share, std::uint64_t time_us) {
          samples[i] = {pid, time_us, share, share / 2, 0, 0};
        });
  });
}

Return nvmlDeviceGetProcessesUtilizationInfo(Device device, ProcessesUtilization* info) {
  return on_whole_gpu(device, info != nullptr, [&](GpuAccess& access, std::uint32_t) {
    if (info->version != version_word<ProcessesUtilization>(1)) return argument_version_mismatch;
    return list_busy(
        access, info->count, info->processes == nullptr, info->last_seen_us,
        [&](std::uint32_t i, std::uint32_t pid, std::uint32_t share, std::uint64_t time_us) {
          info->processes[i] = {time_us, pid, share, share / 2, 0, 0, 0, 0};
        });
  });
}

Return nvmlDeviceGetEncoderUtilization(Device device, std::uint32_t* percent,
                                       std::uint32_t* period_us) {
  return put_video(device, percent, period_us);
}
Return nvmlDeviceGetDecoderUtilization(Device device, std::uint32_t* percent,
                                       std::uint32_t* period_us) {
  return put_video(device, percent, period_us);
}
Return nvmlDeviceGetJpgUtilization(Device device, std::uint32_t* percent,
                                   std::uint32_t* period_us) {
  return put_video(device, percent, period_us);
}
Return nvmlDeviceGetOfaUtilization(Device device, std::uint32_t* percent,
                                   std::uint32_t* period_us) {
  return put_video(device, percent, period_us);
}
Return nvmlDeviceGetEncoderStats(Device device, std::uint32_t* sessions, std::uint32_t* fps,
                                 std::uint32_t* latency_us) {
  return on_whole_gpu(device, sessions != nullptr && fps != nullptr && latency_us != nullptr,
                      [&](GpuAccess&, std::uint32_t) {
                        *sessions = *fps = *latency_us = 0;
                        return success;
                      });
}

}  // namespace cleave::nvml
