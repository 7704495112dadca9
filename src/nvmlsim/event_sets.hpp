#pragma once
// Event sets of a program: each has the GPUs and kinds of event it was registered for, and how far
// it has read. Sets belong to the program, events to the node.

#include "nvmlsim/monitors_abi.hpp"
#include "nvmlsim/node.hpp"

namespace cleave::sim {

/// The kinds that a simulated GPU reports.
inline constexpr std::uint64_t reported_events =
    nvml::event_xid | nvml::event_gpu_unavailable | nvml::event_corrected_error |
    nvml::event_uncorrected_error | nvml::event_mig_config;

/// The number of a new set; 0 if there are too many.
std::uint64_t make_event_set();
bool has_event_set(std::uint64_t set);
bool free_event_set(std::uint64_t set);
/// Registers a set for events from now on. False if there is no such set.
bool register_events(Node& node, std::uint64_t set, std::uint32_t gpu, std::uint64_t types);

/// An event as a program receives it.
struct SeenEvent {
  std::uint32_t gpu;
  std::uint64_t type, data;
  std::uint32_t gpu_instance, compute_instance;
};
/// Returns success with the next event of the set, timeout, invalid_argument if there is no such
/// set, or gpu_is_lost if the node was destroyed.
nvml::Return wait_for_event(Node& node, std::uint64_t set, std::uint32_t timeout_ms,
                            SeenEvent& event);

}  // namespace cleave::sim
