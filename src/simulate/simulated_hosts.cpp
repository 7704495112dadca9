#include "simulate/simulated_hosts.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

SimulatedHosts::SimulatedHosts(const Fleet& fleet) {
  for (const HostNode& host : fleet.hosts()) nodes_.push_back({host, {}, {}});
  if (nodes_.empty()) return;
  for (std::size_t i = 0; i < fleet.size(); ++i) node_.push_back(fleet.node(static_cast<GpuId>(i)));
}

Result<Instant> SimulatedHosts::take(GpuId gpu, const HostAmount& amount, Instant now) {
  Node& node = nodes_[node_[index(gpu)]];
  if (!holds(node.host, node.used, amount))
    return fail(ErrorKind::internal, fmt::format("GPU {}", index(gpu)),
                "the scheduler starts a job for which its host has too few CPUs or too little "
                "memory",
                "this is a bug in Cleave; please report it with the command that led here");
  std::erase_if(node.leaving, [&](const auto& each) { return each.first <= now; });
  std::ranges::sort(node.leaving, {}, &std::pair<Instant, HostAmount>::first);
  HostAmount all = node.used;
  for (const auto& [until, leaves] : node.leaving) all += leaves;
  Instant from = now;
  for (const auto& [until, leaves] : node.leaving) {
    if (holds(node.host, all, amount)) break;
    all -= leaves;
    from = until;
  }
  node.used += amount;
  return from;
}

void SimulatedHosts::free(GpuId gpu, const HostAmount& amount, std::optional<Instant> until) {
  Node& node = nodes_[node_[index(gpu)]];
  node.used -= amount;
  if (until) node.leaving.emplace_back(*until, amount);
}

}  // namespace cleave
