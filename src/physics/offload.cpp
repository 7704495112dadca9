#include "physics/offload.hpp"

#include <algorithm>

namespace cleave {

std::optional<MiB> in_host_memory(const Offload& job, std::optional<MiB> usable) {
  if (!usable) return std::nullopt;
  const MiB beyond = std::max(MiB{0}, job.memory - *usable);
  return beyond <= job.most ? std::optional(beyond) : std::nullopt;
}

double offload_time(const Offload& job, MiB in_host, const HostLink& link) {
  const auto bytes = static_cast<double>(in_bytes(in_host));
  return bytes * job.touches_per_s / (link.gb_per_s * 1e9);
}

}  // namespace cleave
