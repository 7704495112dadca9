#pragma once
// What a program waits for: sets of events, each with the GPUs and kinds it was registered for and
// how far it has read. They are the program's own; the events are the node's.

#include "nvmlsim/node.hpp"

namespace cleave::sim {

/// The kinds that a simulated GPU reports.
inline constexpr std::uint64_t reported_events = nvml::event_xid | nvml::event_gpu_unavailable;

/// The number of a new set; 0 when there are too many.
std::uint64_t make_event_set();
bool free_event_set(std::uint64_t set);
/// From now on. False: there is no such set.
bool register_events(Node& node, std::uint64_t set, std::uint32_t gpu, std::uint64_t types);

struct SeenEvent {
  std::uint32_t gpu;
  std::uint64_t type, data;
};
/// success with the next event of the set, timeout, invalid_argument without such a set, or
/// gpu_is_lost when the node was destroyed.
nvml::Return wait_for_event(Node& node, std::uint64_t set, std::uint32_t timeout_ms,
                            SeenEvent& event);

}  // namespace cleave::sim
