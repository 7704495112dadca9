#pragma once
// The hosts of a simulated fleet: how many CPUs and how much memory the processes on each node
// have, and that no more is given out than there is. Like the rest of the simulated hardware it
// trusts no scheduler, and knows nothing of what schedulers count.

#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/host_share.hpp"
#include "placement/fleet.hpp"

namespace cleave {

/// What is given out of each host.
class SimulatedHosts {
 public:
  explicit SimulatedHosts(const Fleet& fleet);

  [[nodiscard]] bool limited() const { return !nodes_.empty(); }
  /// Where hosts are limited.
  [[nodiscard]] const HostNode& node_of(GpuId gpu) const { return nodes_[node_[index(gpu)]].host; }

  /// A process has it from the time that is returned on, when enough of those that leave are gone.
  /// Refused where the host would give out more than it has even then.
  [[nodiscard]] Result<Instant> take(GpuId gpu, const HostAmount& amount, Instant now);
  /// A process on its way to another place has this beside what it has there, until then.
  void linger(GpuId gpu, const HostAmount& amount, Instant until) {
    nodes_[node_[index(gpu)]].leaving.emplace_back(until, amount);
  }
  /// A process has it no more, or only until then.
  void free(GpuId gpu, const HostAmount& amount, std::optional<Instant> until);

 private:
  /// A host, what is given out of it for good, and by processes that leave.
  struct Node {
    HostNode host;
    HostAmount used;
    std::vector<std::pair<Instant, HostAmount>> leaving;  // until then
  };

  std::vector<Node> nodes_;          // empty where none is limited
  std::vector<std::uint32_t> node_;  // by GPU
};

}  // namespace cleave
