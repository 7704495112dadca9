#include "scene.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave::plans {

std::string_view name(Task task) {
  constexpr std::string_view names[] = {"deploy", "compact", "reconfigure", "joint"};
  return names[static_cast<std::size_t>(task)];
}

namespace {

std::string node_of(const std::string& gpu) {
  const std::size_t slash = gpu.rfind('/');
  return slash == std::string::npos ? gpu : gpu.substr(0, slash);
}

std::string numbered(std::string text, std::int64_t number) {
  if (const std::size_t mark = text.find("%d"); mark != std::string::npos)
    text.replace(mark, 2, fmt::format("{}", number));
  return text;
}

std::int64_t size_in(const Json& value) {
  return value.is_string() ? parse_size(value.get<std::string>())->value
                           : value.get<std::int64_t>();
}

/// "2g.10gb" or "A100-40GB:2g.10gb".
bool names_profile(const std::string& text, const GpuModel& model, const Profile& profile) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return profile.name == text;
  const auto narrowed = find_gpu_model(text.substr(0, colon));
  return narrowed.has_value() && *narrowed == &model && profile.name == text.substr(colon + 1);
}

/// The profiles of a model that satisfy a request.
std::vector<const Profile*> wanted_on(const GpuModel& model, const Json& request) {
  std::vector<const Profile*> fit;
  if (request.contains("profile")) {
    for (const Profile& profile : model.profiles)
      if (names_profile(request["profile"].get<std::string>(), model, profile))
        fit.push_back(&profile);
    return fit;
  }
  const bool sized = request.contains("memory_mib");
  for (const Profile& profile : model.profiles) {
    if (profile.attribute != Attribute::none) continue;
    if (sized && (!profile.usable || profile.usable->value < size_in(request["memory_mib"])))
      continue;
    if (sized && profile.compute.value < request.value("compute_slices", 0)) continue;
    fit.push_back(&profile);
  }
  const auto smaller = [&](const Profile* a, const Profile* b) {
    return sized ? a->memory < b->memory
                 : std::tie(a->memory, a->compute) < std::tie(b->memory, b->compute);
  };
  if (fit.empty()) return fit;
  const Profile* least = *std::ranges::min_element(fit, smaller);
  std::erase_if(fit, [&](const Profile* profile) { return smaller(least, profile); });
  // An unknown request: one profile, the smallest.
  return fit;
}

/// Collects the scene while the document is read.
class Reader {
 public:
  explicit Reader(const Question& question) : question_(question) {
    scene_.task = question.task;
    scene_.max_migrations = question.max_migrations;
    scene_.max_moved_mib = question.max_moved_mib;
    scene_.may_evict = question.may_evict;
  }

  Result<Scene> read() {
    const auto document = parse_json(question_.fleet, "fleet");
    if (!document) return std::unexpected(document.error());
    for (const Json& entry : (*document)["gpus"])
      for (std::int64_t i = 0; i < entry.value("count", std::int64_t{1}); ++i) add_gpu(entry, i);
    // Rules name GPUs, so all of these come first.
    for (const auto& [entry, number, gpu] : running_) add_running(entry, number, gpu);
    const bool wants_new = question_.task == Task::deploy || question_.task == Task::joint;
    if (wants_new && document->contains("waiting"))
      for (const Json& entry : (*document)["waiting"]) add_waiting(entry);
    if (!wrong_.empty()) return fail(ErrorKind::bad_input, "fleet", wrong_);
    return std::move(scene_);
  }

 private:
  struct Running {
    Json entry;
    std::int64_t number;
    std::size_t gpu;
  };

  void add_gpu(const Json& entry, std::int64_t number) {
    const auto model = find_gpu_model(entry["model"].get<std::string>());
    if (!model) return refuse("unknown model");
    const std::string gpu = entry["name"].get<std::string>();
    const std::string gpu_name = entry.contains("count") ? numbered(gpu, number) : gpu;
    const std::string node = node_of(gpu_name);
    auto at = std::ranges::find(scene_.nodes, node);
    if (at == scene_.nodes.end()) at = scene_.nodes.insert(at, node);
    Gpu added{gpu_name, *model, static_cast<std::size_t>(at - scene_.nodes.begin()), {}, {}};
    if (entry.contains("instances"))
      for (const Json& each : entry["instances"]) {
        const Profile* profile = (*model)->find(each["profile"].get<std::string>());
        if (profile == nullptr) return refuse("unknown profile");
        const Instance instance{profile, each["start"].get<int>()};
        const bool work = each.contains("workload");
        if (!each.value("owned", true) || (!work && !each.value("movable", true))) {
          added.walls.push_back(instance);
          continue;
        }
        added.ours.push_back(instance);
        if (work)
          running_.push_back({each, entry.contains("count") ? number : -1, scene_.gpus.size()});
      }
    scene_.gpus.push_back(std::move(added));
  }

  void add_running(const Json& entry, std::int64_t number, std::size_t gpu) {
    Work work;
    const std::string written = entry["workload"].get<std::string>();
    work.name = number >= 0 ? numbered(written, number) : written;
    const Profile* profile = scene_.gpus[gpu].model->find(entry["profile"].get<std::string>());
    work.now = Position{gpu, {profile, entry["start"].get<int>()}};
    work.stays = question_.task == Task::deploy || !entry.value("movable", true);
    work.moved_mib = entry.contains("memory_mib") ? size_in(entry["memory_mib"])
                     : profile->usable            ? profile->usable->value
                                                  : std::int64_t{profile->name_gb()} * 1024;
    // Running work accepts the profile it has, and any of the same name.
    Json request;
    request["profile"] = std::string(profile->name);
    add(std::move(work), request, entry);
  }

  void add_waiting(const Json& entry) {
    Work work;
    work.name = entry["workload"].get<std::string>();
    add(std::move(work), entry, entry);
  }

  void add(Work work, const Json& request, const Json& constraints) {
    work.least_memory = work.least_table_slices = INT32_MAX;
    for (const Gpu& gpu : scene_.gpus) {
      work.wanted.push_back(wanted_on(*gpu.model, request));
      for (const Profile* profile : work.wanted.back()) {
        work.least_memory = std::min(work.least_memory, profile->memory.value);
        const int blocked = by_position(*gpu.model)
                                ? std::min(profile->memory.value, gpu.model->compute.value)
                                : profile->compute.value;
        work.least_table_slices = std::min(work.least_table_slices, blocked);
      }
    }
    if (work.least_memory == INT32_MAX) refuse(fmt::format("nothing can take '{}'", work.name));
    work.allowed.assign(scene_.gpus.size(), true);
    if (constraints.contains("pin")) {
      const std::vector<bool> meant = places(constraints["pin"].get<std::string>());
      for (std::size_t gpu = 0; gpu < meant.size(); ++gpu)
        work.allowed[gpu] = work.allowed[gpu] && meant[gpu];
    }
    if (constraints.contains("forbid"))
      for (const Json& each : constraints["forbid"]) {
        const std::vector<bool> meant = places(each.get<std::string>());
        for (std::size_t gpu = 0; gpu < meant.size(); ++gpu)
          work.allowed[gpu] = work.allowed[gpu] && !meant[gpu];
      }
    if (constraints.contains("group")) {
      const std::string group = constraints["group"].get<std::string>();
      auto at = std::ranges::find(scene_.groups, group, &Group::name);
      if (at == scene_.groups.end()) at = scene_.groups.insert(at, {group, false, {}});
      at->over_nodes |= constraints.value("spread", std::string()) == "node";
      if (constraints.contains("max_moving")) {
        const auto most = constraints["max_moving"].get<std::int64_t>();
        at->max_moving = std::min(at->max_moving.value_or(most), most);
      }
      work.group = static_cast<std::size_t>(at - scene_.groups.begin());
    }
    scene_.works.push_back(std::move(work));
  }

  /// The GPUs that a name means: that GPU, or the GPUs of that node.
  std::vector<bool> places(const std::string& name) {
    std::vector<bool> meant(scene_.gpus.size(), false);
    bool found = false;
    for (std::size_t gpu = 0; gpu < meant.size(); ++gpu)
      if (scene_.gpus[gpu].name == name) found = meant[gpu] = true;
    for (std::size_t gpu = 0; gpu < meant.size() && !found; ++gpu)
      meant[gpu] = scene_.nodes[scene_.gpus[gpu].node] == name;
    if (std::ranges::find(meant, true) == meant.end()) refuse(fmt::format("no place '{}'", name));
    return meant;
  }

  void refuse(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }

  const Question& question_;
  Scene scene_;
  std::vector<Running> running_;
  std::string wrong_;
};

}  // namespace

Result<Scene> read_scene(const Question& question) {
  return Reader(question).read();
}

Seats seats_of_now(const Scene& scene) {
  Seats seats;
  for (const Work& work : scene.works) seats.push_back(work.now);
  return seats;
}

bool by_position(const GpuModel& model) {
  const int spare = model.memory_slices.value - model.compute.value;
  return spare == 0 || spare == 1;
}

int blocked_compute(const GpuModel& model, const Instance& instance) {
  if (!by_position(model)) return instance.profile->compute.value;
  return std::max(0, std::min(instance.end(), model.compute.value) - instance.start);
}

Spoiled spoiled(const GpuModel& model, const Instance& instance) {
  if (!by_position(model)) return {};
  Spoiled result;
  const int spare = model.memory_slices.value - model.compute.value;
  // The spare memory slice belongs to the last compute slice, and to nothing else.
  if (spare > 0 && instance.start < model.compute.value && instance.end() == model.compute.value)
    result.memory = spare;
  result.compute = blocked_compute(model, instance) - instance.profile->compute.value;
  return result;
}

std::string unlawful(const GpuModel& model, const std::vector<Instance>& instances) {
  int compute = 0, blocked = 0;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    const Instance& one = instances[i];
    if (one.profile < model.profiles.data() ||
        one.profile >= model.profiles.data() + model.profiles.size())
      return "a profile of another model";
    if (one.start < 0 || one.start >= Starts::most || !one.profile->starts.contains(one.start))
      return fmt::format("{} may not start at {}", one.profile->name, one.start);
    compute += one.profile->compute.value;
    blocked += blocked_compute(model, one);
    int same = 1;
    for (std::size_t j = 0; j < i; ++j) {
      const Instance& other = instances[j];
      const Attribute a = one.profile->attribute, b = other.profile->attribute;
      if (one.start < other.end() && other.start < one.end())
        return fmt::format("{} at {} and {} at {} share memory slices", one.profile->name,
                           one.start, other.profile->name, other.start);
      if (a == Attribute::media && b == Attribute::media) return "two media-extension instances";
      // A profile that takes all media engines leaves none to others.
      if ((a == Attribute::all_media && b != Attribute::no_media) ||
          (b == Attribute::all_media && a != Attribute::no_media))
        return "beside an all-media instance stands one that has media engines";
      same += one.profile == other.profile ? 1 : 0;
    }
    if (same > one.profile->max_instances) return fmt::format("too many of {}", one.profile->name);
  }
  if (std::max(compute, blocked) > model.compute.value) return "more compute slices than there are";
  return "";
}

namespace {

/// What is wrong with one work's seat, checked by itself.
std::string wrong_seat(const Scene& scene, const Work& work, const std::optional<Position>& seat) {
  if (work.stays && seat != work.now) return fmt::format("'{}' must stay where it is", work.name);
  if (work.stays) return "";
  if (!seat) return scene.may_pend(work) ? "" : fmt::format("'{}' runs and is pending", work.name);
  if (std::ranges::find(work.wanted[seat->gpu], seat->instance.profile) ==
      work.wanted[seat->gpu].end())
    return fmt::format("'{}' did not ask for {}", work.name, seat->instance.profile->name);
  if (!work.allowed[seat->gpu])
    return fmt::format("'{}' may not be on {}", work.name, scene.gpus[seat->gpu].name);
  return "";
}

void add_broken_groups(const Scene& scene, const Seats& seats, std::vector<std::string>& found) {
  for (std::size_t i = 0; i < seats.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Work &one = scene.works[i], &other = scene.works[j];
      if (!one.group || one.group != other.group || !seats[i] || !seats[j]) continue;
      // Work that must stay together against its own rule is not the plan's fault.
      if (one.stays && other.stays) continue;
      if (scene.domain(*one.group, seats[i]->gpu) == scene.domain(*one.group, seats[j]->gpu))
        found.push_back(fmt::format("'{}' and '{}' of group '{}' are together", other.name,
                                    one.name, scene.groups[*one.group].name));
    }
}

}  // namespace

std::vector<std::string> faults(const Scene& scene, const Seats& seats) {
  std::vector<std::string> found;
  std::vector<std::vector<Instance>> standing;
  for (const Gpu& gpu : scene.gpus) standing.push_back(gpu.walls);
  std::int64_t migrations = 0, moved_mib = 0;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const Work& work = scene.works[i];
    if (std::string wrong = wrong_seat(scene, work, seats[i]); !wrong.empty())
      found.push_back(std::move(wrong));
    if (seats[i]) standing[seats[i]->gpu].push_back(seats[i]->instance);
    if (!work.now || work.now == seats[i]) continue;
    ++migrations;
    moved_mib += work.moved_mib;
  }
  for (std::size_t gpu = 0; gpu < standing.size(); ++gpu)
    if (const std::string why = unlawful(*scene.gpus[gpu].model, standing[gpu]); !why.empty())
      found.push_back(fmt::format("{}: {}", scene.gpus[gpu].name, why));
  add_broken_groups(scene, seats, found);
  if (scene.max_migrations && migrations > *scene.max_migrations)
    found.push_back(
        fmt::format("{} migrations, {} are allowed", migrations, *scene.max_migrations));
  if (scene.max_moved_mib && moved_mib > *scene.max_moved_mib)
    found.push_back(fmt::format("{} MiB moved, {} are allowed", moved_mib, *scene.max_moved_mib));
  return found;
}

}  // namespace cleave::plans
