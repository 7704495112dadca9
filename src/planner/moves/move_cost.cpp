// What waves of moves cost, with GPUs and links at work at the same time.

#include <algorithm>
#include <utility>
#include <vector>

#include "physics/migration.hpp"
#include "physics/reconfiguration.hpp"
#include "planner/moves/moves.hpp"

namespace cleave {

namespace {

/// Instances that change in one wave, of each GPU.
class Changes {
 public:
  explicit Changes(std::size_t gpus) : sets_(gpus) {}
  void insert(Seat seat) {
    if (sets_[index(seat.gpu)].empty()) changed_.push_back(seat.gpu);
    sets_[index(seat.gpu)].insert(seat.placement);
  }
  /// Of the GPU that takes longest; nothing has changed afterwards.
  template <class Time>
  Duration slowest(const PlanProblem& problem, Time time) {
    Duration most{};
    for (const GpuId gpu : changed_)
      most = std::max(most, time(problem.geometry(gpu), std::exchange(sets_[index(gpu)], {})));
    changed_.clear();
    return most;
  }

 private:
  std::vector<PlacementSet> sets_;
  std::vector<GpuId> changed_;
};

/// MiB on each link in one wave, by the number of the GPU or node at its end.
class Loads {
 public:
  explicit Loads(std::size_t ends) : out_(ends, 0), in_(ends, 0) {}
  void add(std::size_t from, std::size_t to, std::int64_t mib) {
    for (const auto& [side, end] : {std::pair(&out_, from), std::pair(&in_, to)}) {
      (*side)[end] += mib;
      most_ = std::max(most_, (*side)[end]);
    }
    used_.push_back(from);
    used_.push_back(to);
  }
  /// Of the busiest link; no load is left afterwards.
  Duration time(Link link) {
    for (const std::size_t end : used_) out_[end] = in_[end] = 0;
    used_.clear();
    return transfer_time(link, std::exchange(most_, 0));
  }

 private:
  std::vector<std::int64_t> out_, in_;
  std::vector<std::size_t> used_;
  std::int64_t most_ = 0;
};

}  // namespace

std::vector<WaveCost> cost_of(const PlanProblem& problem, const std::vector<Wave>& waves) {
  std::vector<WaveCost> costs;
  const std::size_t gpus = problem.gpus.size();
  Changes before(gpus), created(gpus), after(gpus);
  std::vector<GpuId> to(problem.workloads.size());
  Loads host(gpus), network(problem.nodes.size());
  for (const Wave& wave : waves) {
    WaveCost cost;
    bool made = false;
    for (const Step& step : wave) {
      made |= step.op != Op::destroy;
      if (step.op == Op::destroy) (made ? after : before).insert(step.seat);
      if (step.op == Op::create) created.insert(step.seat);
      if (step.op == Op::start) to[step.workload] = step.seat.gpu;
      if (step.op != Op::drain) continue;
      const GpuId target = to[step.workload];
      const std::int64_t mib = problem.workloads[step.workload].moved_mib;
      cost.moved_mib += mib;
      host.add(index(step.seat.gpu), index(target), mib);
      const std::uint32_t from_node = problem.gpus[index(step.seat.gpu)].node;
      const std::uint32_t to_node = problem.gpus[index(target)].node;
      if (from_node == to_node) continue;
      cost.between_nodes_mib += mib;
      network.add(from_node, to_node, mib);
    }
    cost.make_room = before.slowest(problem, destroy_time);
    cost.create = created.slowest(problem, create_time);
    cost.transfer = std::max(host.time(Link::host), network.time(Link::network));
    cost.clean_up = after.slowest(problem, destroy_time);
    costs.push_back(cost);
  }
  return costs;
}

}  // namespace cleave
