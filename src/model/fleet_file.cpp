#include "model/fleet_file.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// Builds the fleet while the document is read, and keeps the first error.
class FleetReader {
 public:
  FleetReader(const ProfileChoice& profiles, std::optional<Error>& error)
      : profiles_(profiles), error_(&error) {}

  void read(JsonReader& in) {
    for (JsonReader& gpu : in.objects("gpus")) read_gpu(gpu);
    for (JsonReader& node : in.objects("nodes")) read_node(node);
    for (JsonReader& waiting : in.objects("waiting")) read_waiting(waiting);
    if (!in.has("gpus")) in.refuse("", "the key 'gpus' is missing", "a fleet is {\"gpus\": [...]}");
    in.done();
  }

  FleetFile fleet;

 private:
  bool failed() const { return error_->has_value(); }

  std::optional<std::size_t> geometry_of(JsonReader& in, const std::string& model_name) {
    const auto model = find_gpu_model(model_name);
    if (!model) {
      in.refuse("model", model.error().message, model.error().remedy);
      return std::nullopt;
    }
    return geometry_index(fleet, **model, profiles_);
  }

 public:
  static std::size_t geometry_index(FleetFile& fleet, const GpuModel& model,
                                    const ProfileChoice& profiles) {
    for (std::size_t i = 0; i < fleet.geometries.size(); ++i)
      if (&fleet.geometries[i].model() == &model) return i;
    fleet.geometries.emplace_back(model, profiles.on(model));
    return fleet.geometries.size() - 1;
  }

 private:
  static std::string numbered(const std::string& name, std::int64_t number) {
    const std::size_t mark = name.find("%d");
    return mark == std::string::npos
               ? name
               : fmt::format("{}{}{}", name.substr(0, mark), number, name.substr(mark + 2));
  }

  void read_gpu(JsonReader& in) {
    const std::string name = in.text("name");
    const std::string model_name = in.text("model");
    const bool repeated = in.has("count");
    const std::int64_t count = in.integer_if("count", 1, most_gpus).value_or(1);
    if (failed()) return;
    if (!fit_for_a_name(name))
      return in.refuse("name", "a GPU needs a name, without control characters");
    const auto geometry = geometry_of(in, model_name);
    if (failed()) return;
    if (count > 1 && name.find("%d") == std::string::npos)
      return in.refuse("name", fmt::format("{} GPUs cannot all be named '{}'", count, shown(name)),
                       "put %d where the number goes, like n0/%d");
    if (static_cast<std::int64_t>(fleet.gpus.size()) + count > most_gpus)
      return in.refuse("count", fmt::format("a fleet has at most {} GPUs", most_gpus));
    const std::vector<InstanceEntry> instances = read_instances(in, fleet.geometries[*geometry]);
    in.done();
    for (std::int64_t i = 0; i < count && !failed(); ++i) {
      GpuEntry gpu{repeated ? numbered(name, i) : name, *geometry, instances};
      if (!gpu_names_.insert(gpu.name).second)
        return in.refuse("name", fmt::format("there are two GPUs named '{}'", shown(gpu.name)));
      for (InstanceEntry& instance : gpu.instances) {
        if (!instance.workload) continue;
        if (repeated) instance.workload = numbered(*instance.workload, i);
        if (!workloads_.insert(*instance.workload).second)
          return in.refuse(
              "instances",
              fmt::format("the workload '{}' is in two instances", shown(*instance.workload)),
              repeated ? "put %d in its name, which becomes the GPU's number"
                       : "give each workload a name of its own");
      }
      fleet.gpus.push_back(std::move(gpu));
    }
  }

  std::vector<InstanceEntry> read_instances(JsonReader& in, const Geometry& geometry) {
    std::vector<InstanceEntry> instances;
    std::vector<Geometry::Written> written;
    std::vector<JsonReader> readers = in.objects("instances");
    for (JsonReader& reader : readers) {
      const std::string profile = reader.text("profile");
      const auto start = static_cast<int>(reader.integer("start", 0, 99));
      if (failed()) return instances;
      const auto placement = geometry.find(profile, start);
      if (!placement) {
        reader.refuse("", placement.error().message, placement.error().remedy);
        return instances;
      }
      InstanceEntry entry;
      entry.placement = *placement;
      entry.workload = reader.text_if("workload");
      entry.movable = reader.flag("movable", true);
      entry.owned = reader.flag("owned", true);
      entry.memory = reader.size_if("memory_mib");
      entry.constraints = read_constraints(reader);
      reader.done();
      if (entry.workload && !fit_for_a_name(*entry.workload))
        reader.refuse("workload", "a workload needs a name, without control characters");
      instances.push_back(std::move(entry));
      written.push_back({geometry[*placement].profile, start});
    }
    const Verdict verdict = geometry.judge(written);
    if (verdict.illegal) refuse_illegal(readers[verdict.culprit], geometry, written, verdict);
    return instances;
  }

  static void refuse_illegal(JsonReader& in, const Geometry& geometry,
                             const std::vector<Geometry::Written>& written,
                             const Verdict& verdict) {
    const auto& [profile, start] = written[verdict.culprit];
    const std::string what = fmt::format("{} at {}", profile->name, start);
    switch (*verdict.illegal) {
      case Illegality::overlap:
        return in.refuse("", fmt::format("{} overlaps an instance before it", what),
                         "two instances never share a memory slice");
      case Illegality::second_media:
        return in.refuse("", fmt::format("{} is a second media-extension instance", what),
                         "a GPU has room for one +me instance");
      case Illegality::all_media:
        return in.refuse("", fmt::format("{} cannot stand here", what),
                         "a +me.all instance leaves room only for -me instances");
      case Illegality::too_many:
        return in.refuse("", fmt::format("{} is one too many", what),
                         fmt::format("a GPU holds at most {} of it", profile->max_instances));
      case Illegality::compute_budget:
        return in.refuse("", fmt::format("{} takes more compute slices than are left", what),
                         fmt::format("the GPU has {}", geometry.model().compute.value));
      case Illegality::start:
        return in.refuse("", wrong_start(*profile, start));
    }
  }

  Constraints read_constraints(JsonReader& in) {
    Constraints constraints;
    constraints.pin = in.text_if("pin");
    constraints.forbid = in.texts("forbid");
    constraints.group = in.text_if("group");
    const auto spread = in.text_if("spread");
    if (spread && *spread != "node" && *spread != "gpu")
      in.refuse("spread", fmt::format("'{}' is not a way to spread", shown(*spread)),
                "gpu or node");
    constraints.spread_over_nodes = spread == "node";
    if (const auto most = in.integer_if("max_moving", 1, INT32_MAX))
      constraints.max_moving = static_cast<int>(*most);
    return constraints;
  }

  void read_node(JsonReader& in) {
    NodeEntry node;
    node.name = in.text("name");
    node.cpus = in.number_if("cpus");
    if (node.cpus && !(*node.cpus >= 0 && *node.cpus <= most_cpus))
      in.refuse("cpus",
                fmt::format("expected a number from 0 to {:.0f}, found {}", most_cpus, *node.cpus));
    node.host_memory = in.size_if("host_memory_mib");
    in.done();
    if (!failed() && !node_names_.insert(node.name).second)
      in.refuse("name", fmt::format("there are two nodes named '{}'", shown(node.name)));
    fleet.nodes.push_back(std::move(node));
  }

  void read_waiting(JsonReader& in) {
    WaitingEntry entry;
    entry.workload = in.text("workload");
    const auto profile = in.text_if("profile");
    const auto memory = in.size_if("memory_mib");
    const auto compute = in.integer_if("compute_slices", 0, 99);
    entry.constraints = read_constraints(in);
    in.done();
    if (failed()) return;
    if (profile && memory) return in.refuse("", "a request names a profile or a size, not both");
    if (profile) {
      const bool known = std::ranges::any_of(fleet.geometries, [&](const Geometry& geometry) {
        return std::ranges::any_of(geometry.profile_list(), [&](const Profile* p) {
          return means_profile(*profile, geometry.model(), *p);
        });
      });
      if (!known)
        return in.refuse("profile",
                         fmt::format("no GPU of this fleet has a profile '{}'", shown(*profile)));
      entry.request.wanted = ByProfile{*profile};
    } else if (memory) {
      entry.request.wanted = BySize{*memory, {static_cast<int>(compute.value_or(0))}};
    } else {
      entry.request.wanted = Unknown{};
    }
    if (!workloads_.insert(entry.workload).second)
      return in.refuse("workload",
                       fmt::format("there are two workloads named '{}'", shown(entry.workload)));
    fleet.waiting.push_back(std::move(entry));
  }

  const ProfileChoice& profiles_;
  std::optional<Error>* error_;
  std::set<std::string> gpu_names_, node_names_, workloads_;
};

Result<void> check_profiles(const FleetFile& fleet, const ProfileChoice& profiles) {
  std::vector<const GpuModel*> models;
  for (const Geometry& geometry : fleet.geometries) models.push_back(&geometry.model());
  return profiles.check(models);
}

}  // namespace

std::string_view node_of(std::string_view gpu) {
  const std::size_t slash = gpu.rfind('/');
  return slash == std::string_view::npos ? gpu : gpu.substr(0, slash);
}

std::vector<HostNode> host_nodes(const FleetFile& fleet) {
  std::unordered_map<std::string_view, HostAsk> said;
  for (const NodeEntry& node : fleet.nodes) {
    HostAsk has{{}, node.host_memory};
    if (node.cpus) has.millicpus = millicpus(*node.cpus);
    if (!has.empty()) said.emplace(node.name, has);
  }
  std::vector<HostNode> nodes;
  if (said.empty()) return nodes;
  std::unordered_map<std::string_view, std::size_t> numbers;
  bool limited = false;
  for (const GpuEntry& gpu : fleet.gpus) {
    const std::string_view name = node_of(gpu.name);
    const auto [number, fresh] = numbers.try_emplace(name, nodes.size());
    if (fresh) nodes.emplace_back();
    HostNode& node = nodes[number->second];
    if (const auto has = said.find(name); has != said.end()) node.has = has->second;
    limited = limited || !node.has.empty();
    const HostSlices slices = host_slices(fleet.geometries[gpu.geometry].model());
    node.compute += slices.compute;
    node.memory += slices.memory;
  }
  if (!limited) nodes.clear();
  return nodes;
}

Result<FleetFile> parse_fleet(std::string_view text, const std::string& place,
                              const ProfileChoice& profiles) {
  const auto document = parse_json(text, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  FleetReader reader(profiles, error);
  reader.read(in);
  // A profile choice that fits no model is the cause of every error about a missing profile, so it
  // is reported first.
  if (const auto checked = check_profiles(reader.fleet, profiles); !checked)
    return std::unexpected(checked.error());
  if (error) return std::unexpected(*error);
  if (reader.fleet.gpus.empty()) return fail(ErrorKind::bad_input, place, "the fleet has no GPU");
  return std::move(reader.fleet);
}

bool is_fleet_in_short(std::string_view text) {
  const std::size_t x = text.find('x');
  return x != std::string_view::npos && x > 0 && parse_integer(text.substr(0, x)).has_value();
}

namespace {

/// A part of the short form: NODESxCOUNTxMODEL, or COUNTxMODEL on a node that others may share.
struct ShortPart {
  std::optional<std::int64_t> nodes;
  std::int64_t each = 0;  // GPUs on each node
  std::string_view model;
};

/// The number before an x, which it takes off the text with the x; nothing if there is none.
std::optional<std::int64_t> take_count(std::string_view& text) {
  const std::size_t x = text.find('x');
  const auto count = x == std::string_view::npos ? std::nullopt : parse_integer(text.substr(0, x));
  if (count) text.remove_prefix(x + 1);
  return count;
}

Result<ShortPart> parse_short_part(std::string_view part, std::int64_t most) {
  ShortPart parsed{{}, 0, part};
  const auto first = take_count(parsed.model);
  const auto second = first ? take_count(parsed.model) : std::nullopt;
  parsed.nodes = second ? first : std::nullopt;
  parsed.each = second.value_or(first.value_or(0));
  const std::int64_t nodes = parsed.nodes.value_or(1);
  if (nodes > most || parsed.each > most || (nodes > 0 && parsed.each > most / nodes))
    return fail(ErrorKind::bad_input, "fleet",
                fmt::format("a fleet has at most {} GPUs", most_gpus));
  if (parsed.each < 1 || nodes < 1)
    return fail(ErrorKind::bad_input, "fleet",
                fmt::format("'{}' is not a number of GPUs", shown(part)),
                "write COUNTxMODEL, like 4xA100-40GB, or NODESxCOUNTxMODEL, like 4x8xA100-80GB");
  return parsed;
}

/// Adds the GPUs of a fleet in short form, naming each by its node.
class ShortFleet {
 public:
  explicit ShortFleet(FleetFile& fleet) : fleet_(&fleet) {}

  void add(const ShortPart& part, std::size_t geometry) {
    for (std::int64_t node = 0; node < part.nodes.value_or(1); ++node) {
      if (part.nodes || !shared_) begin_node();
      for (std::int64_t i = 0; i < part.each; ++i)
        fleet_->gpus.push_back({fmt::format("n{}/{}", nodes_ - 1, on_node_++), geometry, {}});
    }
    shared_ = !part.nodes;
  }

 private:
  void begin_node() {
    ++nodes_;
    on_node_ = 0;
  }

  FleetFile* fleet_;
  std::int64_t nodes_ = 0, on_node_ = 0;
  bool shared_ = false;  // the last node takes the next GPUs for which none is said
};

}  // namespace

Result<FleetFile> parse_fleet_in_short(std::string_view text, const ProfileChoice& profiles) {
  FleetFile fleet;
  ShortFleet gpus(fleet);
  for (const std::string_view written : split(text, ',')) {
    const auto part =
        parse_short_part(written, most_gpus - static_cast<std::int64_t>(fleet.gpus.size()));
    if (!part) return std::unexpected(part.error());
    const auto model = find_gpu_model(part->model);
    if (!model) return fail_at("fleet", model.error());
    gpus.add(*part, FleetReader::geometry_index(fleet, **model, profiles));
  }
  if (const auto checked = check_profiles(fleet, profiles); !checked)
    return std::unexpected(checked.error());
  return fleet;
}

}  // namespace cleave
