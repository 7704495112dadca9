// Operations of module `online`: what the online scheduler decides when a job comes.

#include "answer.hpp"
#include "cluster.hpp"
#include "operations.hpp"

namespace cleave::cases::online {

Json arrive(JsonReader& in) {
  auto cluster_in = in.object_if("cluster"), job_in = in.object_if("job");
  if (!cluster_in || !job_in) {
    in.refuse("", "the keys 'cluster' and 'job' must be there");
    return {};
  }
  auto cluster = read_cluster(*cluster_in);
  if (!cluster) return {};
  const Geometry& geometry = cluster->graph->geometry();
  const Profile* profile = read_profile(*job_in, geometry);
  const std::string job = job_in->text("id");
  if (profile == nullptr) return {};

  const ResolvedRequest request = resolve({ByProfile{std::string(profile->name)}, {}}, {geometry});
  const auto decision = decide_by_scan(cluster->fleet, request, cluster->policy);
  if (!decision) return {{"decision", "queued"}, {"gpus", gpus_of(*cluster)}};
  const bool was_busy = busy({*cluster->graph, cluster->fleet[decision->gpu]}, cluster->policy.options);
  cluster->fleet.hold(decision->gpu, decision->placement);
  cluster->jobs[index(decision->gpu)][decision->placement] = job;
  const GpuState& after = cluster->fleet[decision->gpu];
  return {{"decision", "placed"},
          {"class", was_busy ? "busy" : "lazy"},
          {"gpu", index(decision->gpu)},
          {"start", geometry[decision->placement].start},
          {"cost", rational(cluster->graph->cost(after.occupied).ratio())},
          {"reuse", decision->reuse},
          {"destroyed", instances(geometry, decision->destroys)},
          {"gpus", gpus_of(*cluster)}};
}

}  // namespace cleave::cases::online
