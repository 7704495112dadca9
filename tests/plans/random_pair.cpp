#include "random_pair.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/random.hpp"

namespace cleave::plans {

namespace {

enum class Kind { work, idle, staying, unmovable_idle, foreign };

struct Entry {
  Instance instance;
  Kind kind = Kind::idle;
  std::string work;
};
using Layout = std::vector<Entry>;

class PairMaker {
 public:
  PairMaker(std::uint64_t seed, const PairShape& shape) : random_(seed), shape_(shape) {}

  Pair make() {
    name_gpus();
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      now_.push_back(fixed(*gpus_[i].model));
      goal_.push_back(now_.back());
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) fill(now_[i], *gpus_[i].model, how_full());
    for (Layout& layout : now_)
      for (Entry& each : layout)
        if (each.kind == Kind::work) each.work = next_name();
    draw_goal();
    give_work();
    if (shape_.constraints && chance(0.4)) constrain();
    Pair pair;
    pair.now = {fleet(now_, true), Task::joint, {}, {}, true};
    pair.goal = fleet(goal_, false);
    return pair;
  }

 private:
  struct Named {
    std::string name, node;
    const GpuModel* model;
  };
  struct Found {
    std::size_t gpu;
    Entry* entry;
  };

  bool chance(double probability) { return random_.uniform() < probability; }
  std::size_t below(std::size_t count) { return random_.below(count); }
  template <class List>
  void shuffle(List& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(i)]);
  }
  double how_full() { return chance(0.15) ? 0 : chance(0.3) ? 1 : random_.uniform(); }
  std::string next_name() { return fmt::format("w{}", names_++); }

  void name_gpus() {
    const auto all = gpu_models();
    std::vector<const GpuModel*> kinds;
    for (std::size_t i = 1 + below(3); i > 0; --i) kinds.push_back(&all[below(all.size())]);
    const std::size_t nodes = 1 + below(4);
    for (std::size_t i = 1 + below(shape_.gpus); i > 0; --i) {
      const std::string node = fmt::format("n{}", below(nodes));
      gpus_.push_back({fmt::format("{}/{}", node, gpus_.size()), node, kinds[below(kinds.size())]});
    }
  }

  /// Adds an instance if the laws allow it.
  static bool add(Layout& layout, const GpuModel& model, Entry entry) {
    std::vector<Instance> together{entry.instance};
    for (const Entry& each : layout) together.push_back(each.instance);
    if (!unlawful(model, together).empty()) return false;
    layout.push_back(std::move(entry));
    return true;
  }

  std::vector<Instance> positions(const GpuModel& model) {
    std::vector<Instance> list;
    for (const Profile& profile : model.profiles)
      for (const int start : profile.starts.ascending()) list.push_back({&profile, start});
    shuffle(list);
    // Small profiles have more starts, so half of the time the profile is drawn first.
    if (chance(0.5))
      std::ranges::stable_sort(list, {},
                               [](const Instance& a) { return -a.profile->memory.value; });
    return list;
  }

  Layout fixed(const GpuModel& model) {
    Layout layout;
    if (!shape_.walls || !chance(0.25)) return layout;
    const auto list = positions(model);
    for (std::size_t i = 1 + below(2); i > 0; --i) {
      Entry entry{list[below(list.size())], static_cast<Kind>(2 + below(3)), {}};
      if (entry.kind == Kind::staying) entry.work = next_name();
      add(layout, model, std::move(entry));
    }
    return layout;
  }

  void fill(Layout& layout, const GpuModel& model, double full) {
    const double idle = shape_.idle ? 0.15 : 0;
    for (const Instance& each : positions(model))
      if (chance(full * 0.8))
        add(layout, model, {each, chance(idle) ? Kind::idle : Kind::work, {}});
  }

  /// A new layout, or the present one, on all or on most GPUs: in the latter case only the seats
  /// change, and works wait for each other.
  void draw_goal() {
    const double same = chance(0.4) ? (chance(0.5) ? 1 : 0.7) : 0;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      if (!chance(same)) {
        fill(goal_[i], *gpus_[i].model, how_full());
        continue;
      }
      goal_[i] = now_[i];
      for (Entry& each : goal_[i])
        if (each.kind == Kind::work) each.work.clear();
    }
  }

  std::vector<Found> seats(std::vector<Layout>& layouts) {
    std::vector<Found> list;
    for (std::size_t gpu = 0; gpu < layouts.size(); ++gpu)
      for (Entry& each : layouts[gpu])
        if (each.kind == Kind::work) list.push_back({gpu, &each});
    return list;
  }

  /// The occupants in the goal: running work with that profile, or new work.
  void give_work() {
    std::map<std::string_view, std::vector<Found>> running;
    for (const Found& each : seats(now_))
      running[each.entry->instance.profile->name].push_back(each);
    for (auto& [profile, list] : running) shuffle(list);
    auto wanted = seats(goal_);
    shuffle(wanted);
    const double old = chance(0.5) ? 1 : random_.uniform(),
                 stay = chance(0.5) ? 0 : random_.uniform();
    for (const Found& seat : wanted) {
      auto& list = running[seat.entry->instance.profile->name];
      const auto here = std::ranges::find_if(list, [&](const Found& each) {
        return each.gpu == seat.gpu && each.entry->instance == seat.entry->instance;
      });
      if (here != list.end() && chance(stay)) std::iter_swap(here, list.end() - 1);
      if (!list.empty() && chance(old)) {
        seat.entry->work = list.back().entry->work;
        list.pop_back();
        continue;
      }
      seat.entry->work = next_name();
      const Profile& profile = *seat.entry->instance.profile;
      Json entry = {{"workload", seat.entry->work}, {"profile", std::string(profile.name)}};
      if (chance(0.2))
        entry["profile"] = fmt::format("{}:{}", gpus_[seat.gpu].model->key, profile.name);
      waiting_.push_back(std::move(entry));
    }
  }

  /// Pins, forbidden places and groups that the goal keeps; the present state need not.
  void constrain() {
    const double pins = random_.uniform() * 0.5, groups = random_.uniform();
    const auto most = 1 + below(3);
    std::set<std::pair<std::size_t, std::string>> taken;  // group and node
    for (const Found& seat : seats(goal_)) {
      Json& rules = rules_[seat.entry->work] = Json::object();
      const Named& here = gpus_[seat.gpu];
      if (chance(pins)) rules["pin"] = chance(0.3) ? here.name : here.node;
      const Named& other = gpus_[below(gpus_.size())];
      if (chance(pins) && other.name != here.name)
        rules["forbid"] = {other.node == here.node ? other.name : other.node};
      const std::size_t group = below(1 + gpus_.size() / 2);
      if (!chance(groups) || !taken.insert({group, here.node}).second) continue;
      rules["group"] = fmt::format("g{}", group);
      if (chance(0.5)) rules["spread"] = "node";
      if (chance(0.7)) rules["max_moving"] = most;
    }
  }

  std::string fleet(const std::vector<Layout>& layouts, bool with_waiting) {
    Json document = {{"gpus", Json::array()}};
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      Json instances = Json::array();
      for (const Entry& each : layouts[gpu]) {
        Json entry = {{"profile", std::string(each.instance.profile->name)},
                      {"start", each.instance.start}};
        if (!each.work.empty()) entry["workload"] = each.work;
        if (each.kind == Kind::staying || each.kind == Kind::unmovable_idle)
          entry["movable"] = false;
        if (each.kind == Kind::foreign) entry["owned"] = false;
        if (const auto rules = rules_.find(each.work); rules != rules_.end())
          entry.update(rules->second);
        instances.push_back(std::move(entry));
      }
      document["gpus"].push_back({{"name", gpus_[gpu].name},
                                  {"model", std::string(gpus_[gpu].model->key)},
                                  {"instances", std::move(instances)}});
    }
    if (!with_waiting || waiting_.empty()) return document.dump();
    for (Json& entry : waiting_)
      if (const auto rules = rules_.find(entry["workload"].get<std::string>());
          rules != rules_.end())
        entry.update(rules->second);
    document["waiting"] = waiting_;
    return document.dump();
  }

  Random random_;
  const PairShape& shape_;
  std::vector<Named> gpus_;
  std::vector<Layout> now_, goal_;
  std::map<std::string, Json> rules_;  // by work
  Json waiting_ = Json::array();
  std::size_t names_ = 0;
};

}  // namespace

Pair random_pair(std::uint64_t seed, const PairShape& shape) {
  return PairMaker(seed, shape).make();
}

}  // namespace cleave::plans
