// Arrival decisions of the online scheduler (*An Online Fragmentation-Aware Scheduler*, IV-C) on a whole
// cluster.

#include <map>

#include "operations.hpp"
#include "placement/policy.hpp"

namespace cleave::cases {

namespace {

/// A cluster of the cases as a fleet, with the names of its jobs by GPU and placement.
struct Cluster {
  FleetFile file;
  std::vector<std::map<PlacementId, std::string>> jobs;
  ChosenPolicy policy;
};

Result<Cluster> read_cluster(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  const OptionTexts options = {{"threshold", input.at("threshold").dump()},
                               {"load", input.value("load", "compute")}};
  const auto policy = choose_policy("fragmentation", options);
  if (!policy) return std::unexpected(policy.error());
  Cluster cluster{{}, {}, *policy};
  cluster.file.geometries.push_back(device->geometry());
  for (const Json& entry : input.at("gpus")) {
    GpuEntry gpu{std::to_string(cluster.file.gpus.size()), 0, {}};
    std::map<PlacementId, std::string> jobs;
    for (const char* kind : {"jobs", "idle"}) {
      for (const Json& instance : entry.at(kind)) {
        const auto id = device->geometry().find(instance.at("profile").get<std::string>(),
                                                instance.at("start").get<int>());
        if (!id) return std::unexpected(id.error());
        gpu.instances.emplace_back();
        gpu.instances.back().placement = *id;
        if (!instance.contains("id")) continue;
        gpu.instances.back().workload = instance["id"].get<std::string>();
        jobs.emplace(*id, instance["id"].get<std::string>());
      }
    }
    cluster.file.gpus.push_back(std::move(gpu));
    cluster.jobs.push_back(std::move(jobs));
  }
  return cluster;
}

Json gpus_json(const Cluster& cluster, const Fleet& fleet) {
  Json list = Json::array();
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const GpuState& state = fleet.gpus()[i];
    const GpuView view{fleet.graph(state), state};
    const Geometry& geometry = view.graph.geometry();
    Json jobs = Json::array();
    for (const PlacementId id : by_start(geometry, state.held)) {
      Json job = placement_json(geometry, id);
      job["id"] = cluster.jobs[i].at(id);
      jobs.push_back(job);
    }
    list.push_back({{"jobs", jobs},
                    {"idle", state_json(geometry, state.idle)},
                    {"load", ratio_json(load_of(view, cluster.policy.options.load))},
                    {"busy", busy(view, cluster.policy.options)},
                    {"cost", ratio_json(view.graph.cost(state.occupied).ratio())}});
  }
  return list;
}

Result<Json> arrive(const Json& input) {
  auto cluster = read_cluster(input.at("cluster"));
  if (!cluster) return std::unexpected(cluster.error());
  Fleet fleet(cluster->file);
  const Json& job = input.at("job");
  const ResolvedRequest request =
      resolve({ByProfile{job.at("profile").get<std::string>()}, {}}, cluster->file.geometries);
  const auto decision = decide_by_scan(fleet, request, cluster->policy);
  if (!decision) return Json{{"decision", "queued"}, {"gpus", gpus_json(*cluster, fleet)}};
  const GpuState before = fleet[decision->gpu];
  const bool was_busy = busy({fleet.graph(before), before}, cluster->policy.options);
  fleet.hold(decision->gpu, decision->placement);
  cluster->jobs[index(decision->gpu)].emplace(decision->placement, job.at("id").get<std::string>());
  const GpuState& after = fleet[decision->gpu];
  const Geometry& geometry = fleet.geometry(after);
  return Json{{"decision", "placed"},
              {"class", was_busy ? "busy" : "lazy"},
              {"gpu", index(decision->gpu)},
              {"start", geometry[decision->placement].start},
              {"cost", ratio_json(fleet.graph(after).cost(after.occupied).ratio())},
              {"reuse", decision->reuse},
              {"destroyed", state_json(geometry, decision->destroys)},
              {"gpus", gpus_json(*cluster, fleet)}};
}

constexpr Operation table_of_operations[] = {{"online", "arrive", arrive}};

}  // namespace

std::span<const Operation> online_operations() {
  return table_of_operations;
}

}  // namespace cleave::cases
