#include "cluster.hpp"

#include "answer.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave::cases {

namespace {

/// A number as the shortest decimal that reads as it, so that 0.4 is two fifths and not the double
/// next to it.
std::optional<std::string> decimal(JsonReader& in, std::string_view key) {
  const auto number = in.number_if(key);
  if (!number) return std::nullopt;
  return fmt::format("{}", *number);
}

std::optional<ChosenPolicy> read_policy(JsonReader& in) {
  OptionTexts options;
  if (const auto threshold = decimal(in, "threshold")) options["threshold"] = *threshold;
  if (const auto load = in.text_if("load")) options["load"] = *load;
  const auto chosen = choose_policy("fragmentation", options);
  if (chosen) return *chosen;
  const Error& error = chosen.error();
  in.refuse(error.place, error.message, error.remedy);
  return std::nullopt;
}

struct ReadGpu {
  GpuContent content;
  std::map<PlacementId, std::string> jobs;
};

std::optional<ReadGpu> read_content(JsonReader& in, const Geometry& geometry) {
  auto written = read_instances(in, "jobs", geometry);
  if (!written) return std::nullopt;
  std::vector<std::string> ids;
  for (WrittenInstance& job : *written) ids.push_back(job.reader.text("id"));
  if (in.has("idle")) {
    const auto idle = read_instances(in, "idle", geometry);
    if (!idle) return std::nullopt;
    written->insert(written->end(), idle->begin(), idle->end());
  }
  const auto where = placements(*written, geometry);
  if (!where) return std::nullopt;
  ReadGpu gpu;
  for (std::size_t i = 0; i < where->size(); ++i) {
    const PlacementId placement = (*where)[i];
    (i < ids.size() ? gpu.content.held : gpu.content.idle).insert(placement);
    if (i < ids.size()) gpu.jobs[placement] = ids[i];
  }
  return gpu;
}

Json jobs_of(const Geometry& geometry, const GpuState& gpu,
             const std::map<PlacementId, std::string>& jobs) {
  Json list = Json::array();
  for (const PlacementId id : by_start(geometry, gpu.held)) {
    list.push_back({{"id", jobs.at(id)}});
    list.back().update(instance(geometry, id));
  }
  return list;
}

}  // namespace

Fleet fleet_of(const Geometry& geometry, const std::vector<GpuContent>& gpus) {
  FleetFile file;
  file.geometries.push_back(geometry);
  for (const GpuContent& gpu : gpus) {
    GpuEntry entry{fmt::format("{}", file.gpus.size()), 0, {}};
    for (const PlacementId id : gpu.held | gpu.idle) {
      InstanceEntry instance;
      instance.placement = id;
      if (gpu.held.contains(id)) instance.workload = "";  // only its presence matters to the fleet
      entry.instances.push_back(std::move(instance));
    }
    file.gpus.push_back(std::move(entry));
  }
  return Fleet(file);
}

std::optional<Cluster> read_cluster(JsonReader& in) {
  auto graph = read_device(in);
  if (!graph) return std::nullopt;
  const auto policy = read_policy(in);
  if (!policy) return std::nullopt;
  if (!in.has("gpus")) in.refuse("", "the key 'gpus' is missing");
  std::vector<GpuContent> contents;
  std::vector<std::map<PlacementId, std::string>> jobs;
  for (JsonReader& reader : in.objects("gpus")) {
    auto gpu = read_content(reader, graph->geometry());
    if (!gpu) return std::nullopt;
    contents.push_back(gpu->content);
    jobs.push_back(std::move(gpu->jobs));
  }
  Fleet fleet = fleet_of(graph->geometry(), contents);
  return Cluster{std::move(graph), std::move(fleet), std::move(jobs), *policy};
}

Json gpus_of(const Cluster& cluster) {
  Json list = Json::array();
  for (std::size_t i = 0; i < cluster.fleet.size(); ++i) {
    const GpuState& gpu = cluster.fleet.gpus()[i];
    const GpuView view{*cluster.graph, gpu};
    const Geometry& geometry = cluster.graph->geometry();
    list.push_back({{"jobs", jobs_of(geometry, gpu, cluster.jobs[i])},
                    {"idle", instances(geometry, gpu.idle)},
                    {"load", rational(load_of(view, cluster.policy.options.load))},
                    {"busy", busy(view, cluster.policy.options)},
                    {"cost", rational(cluster.graph->cost(gpu.occupied).ratio())}});
  }
  return list;
}

}  // namespace cleave::cases
