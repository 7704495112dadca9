#include "random_fleet.hpp"

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/random.hpp"

namespace cleave::plans {

namespace {

class Maker {
 public:
  Maker(std::uint64_t seed, const FleetShape& shape) : random_(seed), shape_(shape) {}

  std::string fleet() {
    choose_models();
    name_gpus();
    // Few or many of each kind of constraint, for a fleet as a whole.
    for (double* share : {&pin_, &forbid_, &group_})
      *share = chance(0.5) ? 0 : random_.uniform() * 0.4;
    if (chance(0.5)) disorder_ = std::min(1.0, 2.0 / static_cast<double>(gpus_.size()));
    for (std::size_t i = 0; i < gpus_.size(); ++i) add_gpu(i);
    Json document = {{"gpus", std::move(entries_)}};
    if (chance(0.2)) document["nodes"] = {{{"name", nodes_.front()}, {"cpus", 64}}};
    Json waiting = Json::array();
    for (std::size_t i = below(shape_.waiting + 1); i > 0; --i) waiting.push_back(waiting_work());
    if (!waiting.empty()) document["waiting"] = std::move(waiting);
    return document.dump();
  }

  std::optional<std::int64_t> limit(std::size_t most, std::int64_t unit) {
    if (!shape_.limits || !chance(0.25)) return std::nullopt;
    return static_cast<std::int64_t>(below(most)) * unit;
  }

 private:
  struct Named {
    std::string name;
    std::size_t node;
    const GpuModel* model;
    bool counted = false;  // written with a count, of one
  };

  bool chance(double probability) { return random_.uniform() < probability; }
  std::size_t below(std::size_t count) { return random_.below(count); }
  template <class List>
  auto& any(List& list) {
    return list[below(list.size())];
  }
  template <class List>
  void shuffle(List& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(i)]);
  }

  void choose_models() {
    const auto all = gpu_models();
    const std::size_t kinds = shape_.several_models && chance(0.5) ? 2 + below(2) : 1;
    for (std::size_t i = 0; i < kinds; ++i) models_.push_back(&all[below(all.size())]);
  }

  void name_gpus() {
    const std::size_t nodes = 1 + below(shape_.nodes);
    for (std::size_t i = 0; i < nodes; ++i) nodes_.push_back(fmt::format("n{}", i));
    const std::size_t count = 1 + below(shape_.gpus);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t node = below(nodes);
      gpus_.push_back({fmt::format("{}/{}", nodes_[node], i), node, any(models_)});
    }
    for (std::size_t i = 0; i < count; ++i)
      if (chance(0.05)) {
        gpus_[i].counted = true;
        gpus_[i].name = fmt::format("{}/0{}", nodes_[gpus_[i].node], i);
      }
    // A GPU without a slash in its name is a node of its own.
    if (count < shape_.gpus && chance(0.1)) gpus_.push_back({"alone", nodes_.size(), any(models_)});
  }

  void add_gpu(std::size_t gpu) {
    const GpuModel& model = *gpus_[gpu].model;
    std::vector<Instance> positions, standing;
    for (const Profile& profile : model.profiles)
      for (const int start : profile.starts.preferred()) positions.push_back({&profile, start});
    shuffle(positions);
    // Small profiles have more starts, so half of the time the profile is drawn first.
    if (chance(0.5))
      std::ranges::stable_sort(positions, {},
                               [](const Instance& each) { return -each.profile->memory.value; });
    const double fill = chance(0.25) ? 0 : random_.uniform();
    Json instances = Json::array();
    for (const Instance& each : positions) {
      if (!chance(fill * 0.7)) continue;
      standing.push_back(each);
      if (unlawful(model, standing).empty())
        instances.push_back(instance(gpu, each));
      else
        standing.pop_back();
    }
    const bool by_driver_name = !model.driver_names.empty() && chance(0.1);
    Json entry = {{"name", gpus_[gpu].name},
                  {"model", std::string(by_driver_name ? model.driver_names.front() : model.key)}};
    if (gpus_[gpu].counted) {
      entry["name"] = fmt::format("{}/%d{}", nodes_[gpus_[gpu].node], gpu);
      entry["count"] = 1;
    }
    if (!instances.empty()) entry["instances"] = std::move(instances);
    entries_.push_back(std::move(entry));
  }

  Json instance(std::size_t gpu, const Instance& each) {
    Json entry = {{"profile", std::string(each.profile->name)}, {"start", each.start}};
    const double kind = random_.uniform();
    if (shape_.walls && kind < 0.08) {
      entry["owned"] = false;
      if (chance(0.3)) entry["workload"] = next_name();
      return entry;
    }
    if (shape_.walls && kind < 0.14) {
      entry["movable"] = false;
      return entry;
    }
    if (kind > 0.8 || running_ == shape_.running) return entry;
    ++running_;
    entry["workload"] = next_name();
    const bool stays = shape_.unmovable && chance(0.12);
    if (stays) entry["movable"] = false;
    if (chance(0.2)) entry["memory_mib"] = 1 + below(20000);
    if (chance(0.05)) entry["memory_mib"] = "3GiB";
    add_constraints(entry, gpu, stays);
    return entry;
  }

  Json waiting_work() {
    const Named& gpu = any(gpus_);
    const Profile& profile = any(gpu.model->profiles);
    Json entry = {{"workload", next_name()}};
    const bool has_size = profile.usable && profile.attribute == Attribute::none;
    if (shape_.sizes && has_size && chance(0.4)) {
      const auto usable = static_cast<std::size_t>(profile.usable->value);
      entry["memory_mib"] = usable - below(usable / 3);
      if (chance(0.4))
        entry["compute_slices"] = below(static_cast<std::size_t>(profile.compute.value) + 1);
    } else if (!shape_.sizes || !chance(0.05)) {
      entry["profile"] = chance(0.2) ? fmt::format("{}:{}", gpu.model->key, profile.name)
                                     : std::string(profile.name);
    }
    add_constraints(entry, std::nullopt, false);
    return entry;
  }

  /// A GPU's name, or its node's.
  std::string place(std::size_t gpu) {
    const std::string& whole = gpus_[gpu].name;
    return chance(0.5) ? whole : whole.substr(0, whole.rfind('/'));
  }

  /// For work that runs on the GPU `here`, or waits.
  void add_constraints(Json& entry, std::optional<std::size_t> here, bool stays) {
    // Mostly work runs where it is allowed; a fleet in which too much does not has no plan.
    const bool orderly = here && (stays || !chance(disorder_));
    if (shape_.pins && chance(pin_)) entry["pin"] = place(orderly ? *here : below(gpus_.size()));
    if (shape_.forbids && chance(forbid_)) {
      Json list = Json::array();
      for (std::size_t i = 1 + below(3); i > 0; --i) {
        const std::size_t other = below(gpus_.size());
        if (!orderly || gpus_[other].node != gpus_[*here].node) list.push_back(place(other));
      }
      entry["forbid"] = std::move(list);
    }
    if (shape_.groups && chance(group_)) add_group(entry, here, orderly);
  }

  void add_group(Json& entry, std::optional<std::size_t> here, bool orderly) {
    const std::size_t group = below(2 + gpus_.size() / 2);
    if (here) {
      // Any two members of a group are then apart, both over GPUs and over nodes.
      if (orderly && !taken_.insert({group, gpus_[*here].node}).second) return;
      taken_.insert({group, gpus_[*here].node});
    }
    entry["group"] = fmt::format("g{}", group);
    if (chance(0.3)) entry["spread"] = chance(0.6) ? "node" : "gpu";
    if (chance(0.1)) entry["max_moving"] = 1;
  }

  std::string next_name() { return fmt::format("w{}", names_++); }

  Random random_;
  const FleetShape& shape_;
  std::vector<const GpuModel*> models_;
  std::vector<std::string> nodes_;
  std::vector<Named> gpus_;
  Json entries_ = Json::array();
  double pin_ = 0, forbid_ = 0, group_ = 0;
  double disorder_ = 0;  // the share of work that runs where it is not allowed
  std::set<std::pair<std::size_t, std::size_t>> taken_;  // group and node
  std::size_t running_ = 0, names_ = 0;
};

}  // namespace

Question random_question(std::uint64_t seed, Task task, const FleetShape& shape) {
  Maker maker(seed, shape);
  Question question;
  question.fleet = maker.fleet();
  question.task = task;
  question.max_migrations = maker.limit(6, 1);
  question.max_moved_mib = maker.limit(10, 8000);
  return question;
}

}  // namespace cleave::plans
