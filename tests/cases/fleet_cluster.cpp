#include "fleet_cluster.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"

namespace cleave::cases {

std::optional<std::vector<InstanceEntry>> read_entries(std::vector<JsonReader> list,
                                                       const Geometry& geometry) {
  constexpr int farthest = 1'000'000;
  std::vector<WrittenInstance> written;
  std::vector<InstanceEntry> entries;
  for (JsonReader& reader : list) {
    const Profile* profile = read_profile(reader, geometry);
    if (profile == nullptr) return std::nullopt;
    const auto start = static_cast<int>(reader.integer("start", -farthest, farthest));
    entries.emplace_back().workload = reader.text("id");
    written.push_back({reader, profile, start});
  }
  const auto where = placements(written, geometry);
  if (!where) return std::nullopt;
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].placement = (*where)[i];
  return entries;
}

std::optional<FleetCluster> read_fleet_cluster(JsonReader& in, std::string_view key) {
  auto object = in.object_if(key);
  if (!object) {
    in.refuse("", fmt::format("the key '{}' is missing", key));
    return std::nullopt;
  }
  FleetCluster cluster;
  cluster.graph = read_device(*object);
  if (!cluster.graph) return std::nullopt;
  cluster.device = object->text("device");
  cluster.file.geometries.push_back(cluster.graph->geometry());
  if (!object->has("gpus")) object->refuse("", "the key 'gpus' is missing");
  for (const auto& list : object->object_lists("gpus")) {
    auto entries = read_entries(list, cluster.graph->geometry());
    if (!entries) return std::nullopt;
    cluster.file.gpus.push_back(
        {fmt::format("n0/{}", cluster.file.gpus.size()), 0, std::move(*entries)});
  }
  return cluster;
}

std::optional<std::vector<WrittenWork>> read_work(JsonReader& in, std::string_view key,
                                                  const Geometry& geometry) {
  std::vector<WrittenWork> work;
  for (JsonReader& reader : in.objects(key)) {
    const Profile* profile = read_profile(reader, geometry);
    if (profile == nullptr) return std::nullopt;
    work.push_back({reader.text("id"), profile});
  }
  return work;
}

void add_waiting(FleetCluster& cluster, const std::vector<WrittenWork>& work) {
  for (const WrittenWork& one : work)
    cluster.file.waiting.push_back({one.id, {ByProfile{std::string(one.profile->name)}, {}}, {}});
}

std::optional<PlanProblem> problem_of(const FleetCluster& cluster, ProblemKind kind,
                                      JsonReader& in) {
  auto problem = PlanProblem::make(cluster.file, kind, "");
  // In the paper's model and its cases, running work may end up pending.
  if (problem) problem->may_evict = true;
  if (problem) return std::move(*problem);
  in.refuse("", problem.error().message, problem.error().remedy);
  return std::nullopt;
}

Json cluster_of(const FleetCluster& cluster, const PlanProblem& problem, const Goal& goal) {
  const Geometry& geometry = cluster.graph->geometry();
  std::vector<std::vector<std::pair<int, WorkloadIndex>>> seated(problem.gpus.size());
  for (WorkloadIndex i = 0; i < goal.size(); ++i)
    if (goal[i]) seated[index(goal[i]->gpu)].emplace_back(geometry[goal[i]->placement].start, i);
  Json gpus = Json::array();
  for (auto& gpu : seated) {
    std::ranges::sort(gpu);
    Json& list = gpus.emplace_back(Json::array());
    for (const auto& [start, i] : gpu)
      list.push_back({{"id", problem.workloads[i].name},
                      {"profile", geometry[goal[i]->placement].profile->name},
                      {"start", start}});
  }
  return {{"device", cluster.device}, {"gpus", std::move(gpus)}};
}

}  // namespace cleave::cases
