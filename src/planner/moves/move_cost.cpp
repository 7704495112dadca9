// What waves of moves cost, with GPUs and links at work at the same time.

#include <algorithm>
#include <map>

#include "physics/migration.hpp"
#include "physics/reconfiguration.hpp"
#include "planner/moves/moves.hpp"

namespace cleave {

namespace {

using Changes = std::map<GpuId, PlacementSet>;

template <class Time>
Duration slowest(const PlanProblem& problem, const Changes& changes, Time time) {
  Duration most{};
  for (const auto& [gpu, set] : changes) most = std::max(most, time(problem.geometry(gpu), set));
  return most;
}

/// MiB on each link, by the number of the GPU or node at its end.
struct Loads {
  std::map<std::uint32_t, std::int64_t> out, in;

  [[nodiscard]] Duration time(Link link) const {
    std::int64_t most = 0;
    for (const auto* side : {&out, &in})
      for (const auto& [end, mib] : *side) most = std::max(most, mib);
    return transfer_time(link, most);
  }
};

}  // namespace

std::vector<WaveCost> cost_of(const PlanProblem& problem, const std::vector<Wave>& waves) {
  std::vector<WaveCost> costs;
  for (const Wave& wave : waves) {
    WaveCost cost;
    Changes before, created, after;
    std::map<WorkloadIndex, GpuId> to;
    Loads host, network;
    bool made = false;
    for (const Step& step : wave) {
      made |= step.op != Op::destroy;
      if (step.op == Op::destroy)
        (made ? after : before)[step.seat.gpu].insert(step.seat.placement);
      if (step.op == Op::create) created[step.seat.gpu].insert(step.seat.placement);
      if (step.op == Op::start) to[step.workload] = step.seat.gpu;
      if (step.op != Op::drain) continue;
      const GpuId target = to.at(step.workload);
      const std::int64_t mib = problem.workloads[step.workload].moved_mib;
      cost.moved_mib += mib;
      host.out[static_cast<std::uint32_t>(index(step.seat.gpu))] += mib;
      host.in[static_cast<std::uint32_t>(index(target))] += mib;
      const std::uint32_t from_node = problem.gpus[index(step.seat.gpu)].node;
      const std::uint32_t to_node = problem.gpus[index(target)].node;
      if (from_node == to_node) continue;
      cost.between_nodes_mib += mib;
      network.out[from_node] += mib;
      network.in[to_node] += mib;
    }
    cost.make_room = slowest(problem, before, destroy_time);
    cost.create = slowest(problem, created, create_time);
    cost.transfer = std::max(host.time(Link::host), network.time(Link::network));
    cost.clean_up = slowest(problem, after, destroy_time);
    costs.push_back(cost);
  }
  return costs;
}

}  // namespace cleave
