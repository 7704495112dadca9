#include "slurm/cluster_fleet.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"

namespace cleave {

namespace {

/// Whether a job that runs has the claim.
bool is_held(const NodeView& view, const SlurmClaim& claim) {
  return std::ranges::any_of(view.started,
                             [&](const SlurmJob* job) { return claim.job() == job->number; });
}

void add_claims(const NodeView& view, std::size_t gpu, bool claims_idle, GpuEntry& entry) {
  for (const SlurmClaim& claim : view.report->claims) {
    if (claim.gpu != gpu) continue;
    InstanceEntry instance;
    instance.placement = claim.placement;
    instance.owned = is_held(view, claim);
    if (instance.owned && !claims_idle) instance.workload = claim.key;
    entry.instances.push_back(std::move(instance));
  }
}

double cpus_for_instances(const NodeView& view) {
  std::int64_t others = view.slurm->cpus_used;
  for (const SlurmJob* job : view.started) others -= job->cpus / job->nodes;
  return std::max(static_cast<double>(view.slurm->cpus - std::max<std::int64_t>(others, 0)),
                  least_cpus);
}

}  // namespace

ClusterFleet cluster_fleet(const std::vector<NodeView>& views, bool claims_idle) {
  ClusterFleet fleet;
  std::map<const StateGraph*, std::size_t> kinds;
  fleet.of_view.resize(views.size());
  for (std::size_t v = 0; v < views.size(); ++v) {
    const NodeView& view = views[v];
    if (view.report == nullptr) continue;
    for (std::size_t i = 0; i < view.report->gpus.size(); ++i) {
      const ReportedGpu& gpu = view.report->gpus[i];
      const auto [kind, fresh] = kinds.emplace(gpu.graph.get(), kinds.size());
      if (fresh) fleet.file.geometries.push_back(gpu.graph->geometry());
      GpuEntry entry{fmt::format("{}/{}", view.name(), gpu.index), kind->second, {}};
      const bool legal = view.occupied(i) != no_state;
      for (const PlacementId wall : legal ? gpu.walls : PlacementSet()) {
        InstanceEntry instance;
        instance.placement = wall;
        instance.owned = false;
        entry.instances.push_back(std::move(instance));
      }
      if (legal) add_claims(view, i, claims_idle, entry);
      fleet.of_view[v].push_back(static_cast<GpuId>(fleet.gpus.size()));
      fleet.gpus.push_back({v, i});
      fleet.serves.push_back(gpu.serves && legal && view.slurm->takes_jobs);
      fleet.file.gpus.push_back(std::move(entry));
    }
    if (!view.report->gpus.empty() && view.slurm->cpus > 0)
      fleet.file.nodes.push_back({view.name(), cpus_for_instances(view), {}});
  }
  return fleet;
}

}  // namespace cleave
