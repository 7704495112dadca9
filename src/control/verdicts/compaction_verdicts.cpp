#include "control/verdicts/compaction_verdicts.hpp"

#include <algorithm>

#include "control/verdicts/expected_end.hpp"
#include "control/verdicts/plan_verdicts.hpp"

namespace cleave {

namespace {

/// A plan holds its GPUs no longer than this times what it is expected to take, and a minute.
constexpr int most_delay = 5;

const LiveWorkload& workload_named(const LiveFleet& live, const std::string& name) {
  return *std::ranges::find(live.work, name, &LiveWorkload::workload);
}

RoomWork work_of(const NodeState& node, const LiveWorkload& work, PlacementId placement) {
  const MoveTimes times = move_times(node.jobs.at(work.job), work.way);
  return {placement, work.way != MoveWay::stays, times.interrupted, times.takes, work.job};
}

PlannedPlace place_of(const RoomPlace& place, const SeenFleet& seen, const LiveFleet& live) {
  const Geometry& geometry = *seen.scene.geometries[seen.scene.gpus[place.gpu].kind];
  const Placement& where = geometry[place.placement];
  return {live.uuids[seen.gpus[place.gpu]], std::string(where.profile->name), where.start};
}

}  // namespace

MoveTimes move_times(const LiveJob& job, MoveWay way) {
  if (way == MoveWay::stays || !job.main) return {};
  const Duration start = time_to_start(job.attempts.at(*job.main).record);
  if (way == MoveWay::replica) return {{}, start};
  const Duration saves = time_to_save(job.record);
  return {saves + start, saves};
}

SeenFleet seen_fleet(const NodeState& node, const LiveFleet& live, const std::set<GpuId>& reserved,
                     Moment now) {
  SeenFleet seen;
  CompactionScene& scene = seen.scene;
  scene.now = now.wall;
  for (const Geometry& geometry : live.fleet.geometries) scene.geometries.push_back(&geometry);
  for (std::size_t i = 0; i < live.fleet.gpus.size(); ++i) {
    const auto id = node.gpu_of(live.uuids[i]);
    if (!id || reserved.contains(*id)) continue;
    const GpuEntry& entry = live.fleet.gpus[i];
    RoomGpu gpu{entry.geometry, {}, {}};
    for (const InstanceEntry& instance : entry.instances) {
      if (!instance.owned) gpu.walls.insert(instance.placement);
      if (!instance.owned || !instance.workload) continue;
      const LiveWorkload& work = workload_named(live, *instance.workload);
      gpu.works.push_back(work_of(node, work, instance.placement));
      const auto end = expected_end(node.jobs.at(work.job), node.gpu(*id).geometry().model(), now);
      if (end && end->at > now.wall) scene.ends.emplace(work.job, end->at);
    }
    scene.gpus.push_back(std::move(gpu));
    seen.gpus.push_back(i);
  }
  return seen;
}

PlanOrder order_of(const CompactionPlan& plan, const SeenFleet& seen, const LiveFleet& live) {
  PlanOrder order;
  order.kind = "compact";
  order.within = std::chrono::minutes(1) + most_delay * plan.room.takes;
  order.expected = plan.room.takes;
  for (const RoomMove& move : plan.room.moves) {
    PlannedMove& planned = order.moves.emplace_back();
    planned.wave = move.wave;
    planned.job = seen.scene.gpus[move.from.gpu].works[move.work].name;
    planned.from = place_of(move.from, seen, live);
    planned.to = place_of(move.to, seen, live);
  }
  return order;
}

}  // namespace cleave
