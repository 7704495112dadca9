#include "input.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "devices.hpp"

namespace cleave::cases {

namespace {

/// The path of the first null, "state[2].start".
std::optional<std::string> null_below(const Json& node, const std::string& path) {
  if (node.is_null()) return path;
  if (node.is_array())
    for (std::size_t i = 0; i < node.size(); ++i)
      if (const auto found = null_below(node[i], fmt::format("{}[{}]", path, i))) return found;
  if (node.is_object())
    for (const auto& [key, value] : node.items())
      if (const auto found = null_below(value, path.empty() ? key : path + "." + key)) return found;
  return std::nullopt;
}

}  // namespace

void refuse_null(const Json& input, JsonReader& in) {
  if (!input.is_object()) return;
  if (const auto path = null_below(input, ""))
    in.refuse("", fmt::format("'{}' is null; leave out what is absent", shown(*path)));
}

std::shared_ptr<const StateGraph> read_device(JsonReader& in) {
  const auto name = in.text_if("device");
  if (!name) {
    in.refuse("", "the key 'device' is missing");
    return nullptr;
  }
  const auto graph = find_device(*name);
  if (graph) return *graph;
  in.refuse("device", graph.error().message, graph.error().remedy);
  return nullptr;
}

const Profile* read_profile(JsonReader& in, const Geometry& geometry) {
  const std::string name = in.text("profile");
  for (const Profile* profile : geometry.profile_list())
    if (profile->name == name) return profile;
  in.refuse("profile", fmt::format("the device has no profile '{}'", shown(name)),
            suggestion(name, geometry.profile_names()));
  return nullptr;
}

std::optional<std::vector<WrittenInstance>> read_instances(JsonReader& in, std::string_view key,
                                                           const Geometry& geometry) {
  // Far beyond any GPU, so that a wrong start reaches the operation that judges it.
  constexpr int farthest = 1'000'000;
  if (!in.has(key)) {
    in.refuse("", fmt::format("the key '{}' is missing", key));
    return std::nullopt;
  }
  std::vector<WrittenInstance> instances;
  for (JsonReader& reader : in.objects(key)) {
    const Profile* profile = read_profile(reader, geometry);
    if (profile == nullptr) return std::nullopt;
    const auto start = static_cast<int>(reader.integer("start", -farthest, farthest));
    instances.push_back({reader, profile, start});
  }
  return instances;
}

std::optional<std::vector<PlacementId>> placements(std::vector<WrittenInstance>& written,
                                                   const Geometry& geometry) {
  std::vector<Geometry::Written> list;
  for (const WrittenInstance& instance : written)
    list.push_back({instance.profile, instance.start});
  const Verdict verdict = geometry.judge(list);
  if (verdict.illegal) {
    const WrittenInstance& culprit = written[verdict.culprit];
    written[verdict.culprit].reader.refuse(
        "", fmt::format("{} at {} cannot be there: {}", culprit.profile->name, culprit.start,
                        name(*verdict.illegal)));
    return std::nullopt;
  }
  std::vector<PlacementId> ids;
  for (const Geometry::Written& instance : list)
    ids.push_back(*geometry.find(*instance.profile, instance.start));
  return ids;
}

std::optional<OneGpu> read_gpu(JsonReader& in) {
  const auto graph = read_device(in);
  if (!graph) return std::nullopt;
  auto written = read_instances(in, "state", graph->geometry());
  if (!written) return std::nullopt;
  const std::size_t occupied = written->size();
  if (in.has("idle")) {
    const auto idle = read_instances(in, "idle", graph->geometry());
    if (!idle) return std::nullopt;
    written->insert(written->end(), idle->begin(), idle->end());
  }
  const auto ids = placements(*written, graph->geometry());
  if (!ids) return std::nullopt;
  OneGpu gpu{graph, {}, {}};
  for (std::size_t i = 0; i < ids->size(); ++i)
    (i < occupied ? gpu.state : gpu.idle).insert((*ids)[i]);
  return gpu;
}

}  // namespace cleave::cases
