#pragma once
// The text of recordings (recording.hpp): entries as lines of JSON and back. Each record that a
// door answers with is described once, for both ways.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_fwd.hpp"
#include "device/door.hpp"

namespace cleave {

/// The members of Door; the two that are called memory are told apart.
enum class DoorCall : std::uint8_t {
  driver,
  gpu_count,
  gpu,
  mig_mode,
  set_mig_mode,
  profiles,
  placements,
  remaining,
  gpu_instances,
  create_gpu_instance,
  destroy_gpu_instance,
  compute_profiles,
  compute_instances,
  create_compute_instance,
  destroy_compute_instance,
  processes,
  gpu_memory,
  instance_memory,
  power_milliwatts,
  power_limit_milliwatts,
  energy_millijoules,
  wait_event
};

/// Those that the call takes; numbers as NVML has them.
struct DoorArguments {
  std::optional<std::uint32_t> gpu, instance, compute, profile;
  std::optional<Span> placement;
  std::optional<bool> enabled;
  std::optional<std::int64_t> at_most_ms;
  friend bool operator==(const DoorArguments&, const DoorArguments&) = default;
};

using AnyAnswer =
    std::variant<DriverFacts, DriverAnswer<void>, DriverAnswer<std::uint32_t>,
                 DriverAnswer<std::uint64_t>, DriverAnswer<GpuFacts>, DriverAnswer<MigMode>,
                 DriverAnswer<nvml::Return>, DriverAnswer<std::vector<DriverProfile>>,
                 DriverAnswer<std::vector<Span>>, DriverAnswer<std::vector<LiveGpuInstance>>,
                 DriverAnswer<LiveGpuInstance>, DriverAnswer<std::vector<DriverComputeProfile>>,
                 DriverAnswer<std::vector<LiveComputeInstance>>, DriverAnswer<LiveComputeInstance>,
                 DriverAnswer<std::vector<LiveProcess>>, DriverAnswer<MemoryUse>,
                 DriverAnswer<std::optional<GpuEvent>>>;

/// A call with its answer.
struct DoorEntry {
  std::size_t line = 0;  // where it was read; 0: nowhere
  DoorCall call{};
  DoorArguments arguments;
  AnyAnswer answer;
};

Json recording_head();
Json recording_end(std::uint64_t calls);
/// The entry's line.
Json entry_json(DoorEntry entry);
/// Its call alone.
Json call_json(DoorCall call, DoorArguments arguments);

/// Bad input, with the line, where it is torn, damaged or no recording.
[[nodiscard]] Result<std::vector<DoorEntry>> parse_recording(std::string_view text,
                                                             const std::string& place);

}  // namespace cleave
