#pragma once
// CPUs and memory of a node's host: what a node has, what a job asks for, and what it gets where it
// asks for nothing - the share of the node's CPUs that its compute slices are of those of all GPUs
// of the node, and of the node's memory that its memory slices are. Shares are rounded down, so
// that all instances of a node together never have more than the node. The scheduler, the simulated
// fleet and the daemon all count by this.

#include <compare>
#include <cstdint>
#include <optional>

#include "base/quantity.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

/// Of a host. CPUs are counted in thousandths.
struct HostAmount {
  std::int64_t millicpus = 0;
  MiB memory{};
  friend bool operator==(const HostAmount&, const HostAmount&) = default;
  HostAmount& operator+=(const HostAmount& other) {
    millicpus += other.millicpus;
    memory += other.memory;
    return *this;
  }
  HostAmount& operator-=(const HostAmount& other) {
    millicpus -= other.millicpus;
    memory -= other.memory;
    return *this;
  }
};

/// What each process of a job asks for, or what a node has. Empty: the default, or no limit.
struct HostAsk {
  std::optional<std::int64_t> millicpus{};
  std::optional<MiB> memory{};
  friend auto operator<=>(const HostAsk&, const HostAsk&) = default;
  [[nodiscard]] bool empty() const { return !millicpus && !memory; }
};

/// A node: what its host has, and the slices of all its GPUs.
struct HostNode {
  HostAsk has;
  int compute = 0, memory = 0;
  friend bool operator==(const HostNode&, const HostNode&) = default;
};

/// Slices of an instance, or of a whole GPU.
struct HostSlices {
  int compute = 0, memory = 0;
};
[[nodiscard]] inline HostSlices host_slices(const Profile& profile) {
  return {profile.compute.value, profile.memory.value};
}
[[nodiscard]] inline HostSlices host_slices(const GpuModel& model) {
  return {model.compute.value, model.memory_slices.value};
}

/// What a process gets that has these slices; nothing of what the node does not limit.
[[nodiscard]] HostAmount host_share(const HostAsk& asked, const HostNode& node, HostSlices slices);

/// Whether the node has room for `more` beside `used`.
[[nodiscard]] inline bool holds(const HostNode& node, const HostAmount& used,
                                const HostAmount& more) {
  return (!node.has.millicpus || more.millicpus <= *node.has.millicpus - used.millicpus) &&
         (!node.has.memory || more.memory <= *node.has.memory - used.memory);
}

/// Thousandths of a CPU, of a number of CPUs that is at most a million.
[[nodiscard]] std::int64_t millicpus(double cpus);
inline constexpr double least_cpus = 0.001, most_cpus = 1e6;

}  // namespace cleave
