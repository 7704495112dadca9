#include "engine/schedulers/planned_compaction.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "planner/heuristic.hpp"
#include "planner/moves/moves.hpp"

namespace cleave {

namespace {

/// The GPUs of one model as a planning problem reads them, without those that take no work.
struct Written {
  FleetFile file;
  std::vector<GpuId> gpus;  // of the fleet, by their number in the file
};

void write_gpu(const GpuState& state, PlacementSet fixed, GpuEntry& entry) {
  const auto add = [&](PlacementId placement) -> InstanceEntry& {
    InstanceEntry& instance = entry.instances.emplace_back();
    instance.placement = placement;
    return instance;
  };
  for (const PlacementId placement : state.held) {
    InstanceEntry& instance = add(placement);
    instance.workload = fmt::format("{}:{}", entry.name, placement);
    instance.movable = !fixed.contains(placement);
  }
  for (const PlacementId placement : state.idle) add(placement);
  for (const PlacementId placement : state.walls) add(placement).owned = false;
}

Written written(const Fleet& fleet, std::span<const PlacementSet> fixed, std::size_t kind) {
  Written all;
  for (const auto& graph : fleet.graphs()) all.file.geometries.push_back(graph->geometry());
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    if (fleet[gpu].absent || fleet[gpu].kind != kind) continue;
    all.file.gpus.push_back({fmt::format("{}", i), fleet[gpu].kind, {}});
    write_gpu(fleet[gpu], fixed[i], all.file.gpus.back());
    all.gpus.push_back(gpu);
  }
  return all;
}

/// GPUs with work, and the fragmentation of all GPUs.
struct Quality {
  std::int64_t gpus = 0, fragmentation = 0;
};

Quality quality(const Fleet& fleet) {
  Quality sum;
  for (const GpuState& gpu : fleet.gpus()) {
    sum.gpus += gpu.held.empty() ? 0 : 1;
    sum.fragmentation += fleet.graph(gpu).cost(gpu.occupied).units;
  }
  return sum;
}

/// The moves of work that runs, wave after wave.
std::vector<CompactionMove> moves_of(const PlanProblem& problem, const Moves& moves,
                                     const std::vector<GpuId>& gpus) {
  std::vector<CompactionMove> all;
  Goal at = goal_of_now(problem);
  for (const Wave& wave : moves.waves)
    for (const Step& step : wave) {
      if (step.op != Op::start || !at[step.workload]) continue;
      const Seat from = *at[step.workload];
      all.push_back(
          {gpus[index(from.gpu)], from.placement, gpus[index(step.seat.gpu)], step.seat.placement});
      at[step.workload] = step.seat;
    }
  return all;
}

/// Whether each move finds its place free when it is its turn, and all of them are worth it.
bool worth(const Fleet& fleet, const std::vector<CompactionMove>& moves) {
  Fleet after = fleet;
  for (const CompactionMove& move : moves) {
    const GpuState& target = after[move.to];
    if (!after.graph(target).free(target.occupied).contains(move.to_placement)) return false;
    after.hold(move.to, move.to_placement);
    after.release(move.from, move.from_placement);
  }
  const Quality before = quality(fleet), then = quality(after);
  return then.gpus < before.gpus && then.fragmentation <= before.fragmentation;
}

std::vector<CompactionMove> plan_for(const Fleet& fleet, std::span<const PlacementSet> fixed,
                                     std::size_t kind, std::size_t most) {
  const Written all = written(fleet, fixed, kind);
  auto problem = PlanProblem::make(all.file, ProblemKind::compact, "fleet");
  if (!problem) return {};
  problem->limits.migrations = static_cast<std::int64_t>(most);
  const Goal goal = heuristics().front().compact(*problem).goal;
  const Moves moves = plan_moves(*problem, target_of(*problem, goal), {});
  std::vector<CompactionMove> list = moves_of(*problem, moves, all.gpus);
  if (!moves.disruptive.empty() || list.size() > most || !worth(fleet, list)) return {};
  return list;
}

}  // namespace

std::vector<CompactionMove> plan_compaction(const Fleet& fleet, std::span<const PlacementSet> fixed,
                                            std::size_t most) {
  std::vector<CompactionMove> all;
  for (std::size_t kind = 0; kind < fleet.graphs().size(); ++kind) {
    const auto of_kind = plan_for(fleet, fixed, kind, most - all.size());
    all.insert(all.end(), of_kind.begin(), of_kind.end());
  }
  return all;
}

}  // namespace cleave
