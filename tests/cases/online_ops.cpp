// Operations of module `online`: decisions of the online scheduler when a job comes or goes.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cluster.hpp"
#include "operations.hpp"
#include "placement/rebalance.hpp"

namespace cleave::cases::online {

namespace {

/// Where a job is. If two jobs have the id, which one departs is undefined: empty, with the reason
/// in the reader, as for an unknown id.
std::optional<std::pair<GpuId, PlacementId>> find_job(const Cluster& cluster, const std::string& id,
                                                      JsonReader& in) {
  std::optional<std::pair<GpuId, PlacementId>> found;
  for (std::size_t i = 0; i < cluster.jobs.size(); ++i)
    for (const auto& [placement, name] : cluster.jobs[i]) {
      if (name != id) continue;
      if (found) in.refuse("job", fmt::format("several jobs are called '{}'", shown(id)));
      found = {static_cast<GpuId>(i), placement};
    }
  if (!found) in.refuse("job", fmt::format("no job is called '{}'", shown(id)));
  return found;
}

/// Jobs are ordered by their ids as text; all may move.
HeldJobs ordered_by_id(const Cluster& cluster) {
  std::vector<std::string> ids;
  for (const auto& gpu : cluster.jobs)
    for (const auto& [placement, id] : gpu) ids.push_back(id);
  std::ranges::sort(ids);
  return {{}, [&cluster, ids = std::move(ids)](GpuId gpu, PlacementId placement) {
            const std::string& id = cluster.jobs[index(gpu)].at(placement);
            return static_cast<std::uint64_t>(std::ranges::lower_bound(ids, id) - ids.begin());
          }};
}

std::optional<RebalanceOptions> rebalance_options(const Cluster& cluster, JsonReader& in) {
  RebalanceOptions options;
  options.threshold = cluster.policy.options.threshold;
  options.load = cluster.policy.options.load;
  const auto eligible = in.text_if("eligible");
  if (eligible == "before") {
    options.eligibility = Eligibility::lowers_imbalance;
  } else if (eligible && eligible != "after") {
    in.refuse("eligible", fmt::format("'{}' is no condition", shown(*eligible)), "before or after");
    return std::nullopt;
  }
  return options;
}

}  // namespace

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
  const bool was_busy =
      busy({*cluster->graph, cluster->fleet[decision->gpu]}, cluster->policy.options);
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

Json depart(JsonReader& in) {
  auto cluster_in = in.object_if("cluster");
  if (!cluster_in) {
    in.refuse("", "the key 'cluster' must be there");
    return {};
  }
  auto cluster = read_cluster(*cluster_in);
  if (!cluster) return {};
  const auto job = find_job(*cluster, in.text("job"), in);
  const auto options = rebalance_options(*cluster, in);
  if (!job || !options) return {};
  const auto [gpu, placement] = *job;

  const Geometry& geometry = cluster->graph->geometry();
  Json migrations = Json::array();
  const auto moved = [&](const JobMove& move) {
    auto& left = cluster->jobs[index(move.from)];
    const auto who = left.extract(move.from_placement);
    migrations.push_back({{"job", who.mapped()},
                          {"profile", geometry[move.to_placement].profile->name},
                          {"from_gpu", index(move.from)},
                          {"from_start", geometry[move.from_placement].start},
                          {"to_gpu", index(move.to)},
                          {"to_start", geometry[move.to_placement].start},
                          {"reuse", move.reuse},
                          {"destroyed", instances(geometry, move.destroys)},
                          {"cost_before", rational(move.cost_before.ratio())},
                          {"cost_after", rational(move.cost_after.ratio())}});
    cluster->jobs[index(move.to)][move.to_placement] = who.mapped();
  };
  cluster->fleet.release(gpu, placement);
  cluster->jobs[index(gpu)].erase(placement);
  const Rebalance result = rebalance(cluster->fleet, gpu, *options, ordered_by_id(*cluster), moved);
  return {{"gpu", index(gpu)},
          {"kind", result.kind == RebalanceKind::intra ? "intra" : "inter"},
          {"migrations", std::move(migrations)},
          {"gpus", gpus_of(*cluster)}};
}

}  // namespace cleave::cases::online
