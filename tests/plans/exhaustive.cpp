#include "exhaustive.hpp"

#include <algorithm>
#include <memory>

namespace cleave::plans {

namespace {

/// Works that are interchangeable.
struct Kind {
  std::vector<std::size_t> members;  // by their places in Scene::works
  bool may_pend = false;
};

/// A choice on one GPU, or two choices on different GPUs together; from it the seats can be read
/// afterwards.
struct Choice {
  std::size_t gpu = 0;
  std::vector<std::pair<std::size_t, Instance>> seats;  // kinds
  std::shared_ptr<const Choice> one, other;
};

/// One way to seat a set of works on some GPUs.
struct Way {
  Objectives value{};
  std::int64_t migrations = 0, moved_mib = 0;
  std::shared_ptr<const Choice> choice;
};

/// For each number of works of each kind, written as one number in mixed radix: the undominated
/// ways.
using Table = std::vector<std::vector<Way>>;

bool meet(const Instance& a, const Instance& b) {
  return a.start < b.end() && b.start < a.end();
}

class Search {
 public:
  Search(const Scene& scene, std::size_t count)
      : scene_(scene),
        count_(count),
        limited_(scene.max_migrations.has_value() || scene.max_moved_mib.has_value()) {
    for (std::size_t i = 0; i < scene.works.size(); ++i)
      if (!scene.works[i].stays) add_to_kinds(i);
    for (const Kind& kind : kinds_) {
      stride_.push_back(states_);
      states_ *= kind.members.size() + 1;
    }
  }

  std::optional<Best> run() {
    Table fleet = nothing();
    for (std::size_t node = 0; node < scene_.nodes.size(); ++node) {
      Table here = nothing();
      for (std::size_t gpu = 0; gpu < scene_.gpus.size(); ++gpu)
        if (scene_.gpus[gpu].node == node) here = joined(here, on_gpu(gpu));
      drop_groups_together(here, node);
      fleet = joined(fleet, here);
    }
    return best_of(fleet);
  }

 private:
  void add_to_kinds(std::size_t index) {
    const Work& work = scene_.works[index];
    const auto alike = [&](const Kind& kind) {
      const Work& other = scene_.works[kind.members.front()];
      const bool moves_matter = count_ > 3 || limited_;
      if (moves_matter && (work.now || other.now)) return false;
      return kind.may_pend == scene_.may_pend(work) && work.wanted == other.wanted &&
             work.allowed == other.allowed && work.group == other.group;
    };
    const auto kind = std::ranges::find_if(kinds_, alike);
    if (kind == kinds_.end())
      kinds_.push_back({{index}, scene_.may_pend(work)});
    else
      kind->members.push_back(index);
  }

  [[nodiscard]] std::size_t count_of(std::size_t state, std::size_t kind) const {
    return state / stride_[kind] % (kinds_[kind].members.size() + 1);
  }
  [[nodiscard]] const Work& sample(std::size_t kind) const {
    return scene_.works[kinds_[kind].members.front()];
  }

  [[nodiscard]] Table nothing() const {
    Table table(states_);
    table[0].push_back({});
    return table;
  }

  [[nodiscard]] bool less(const Objectives& a, const Objectives& b) const {
    return std::lexicographical_compare(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(count_),
                                        b.begin(), b.begin() + static_cast<std::ptrdiff_t>(count_));
  }
  /// Whether the first is at least as good in every respect.
  [[nodiscard]] bool beats(const Way& a, const Way& b) const {
    return !less(b.value, a.value) &&
           (!limited_ || (a.migrations <= b.migrations && a.moved_mib <= b.moved_mib));
  }
  [[nodiscard]] bool within_limits(const Way& way) const {
    return (!scene_.max_migrations || way.migrations <= *scene_.max_migrations) &&
           (!scene_.max_moved_mib || way.moved_mib <= *scene_.max_moved_mib);
  }
  [[nodiscard]] bool wanted(const std::vector<Way>& ways, const Way& way) const {
    if (!within_limits(way)) return false;
    return std::ranges::none_of(ways, [&](const Way& other) { return beats(other, way); });
  }
  void add(std::vector<Way>& ways, Way way) const {
    std::erase_if(ways, [&](const Way& other) { return beats(way, other); });
    ways.push_back(std::move(way));
  }

  // One GPU.

  Table on_gpu(std::size_t gpu) {
    const Gpu& here = scene_.gpus[gpu];
    positions_.clear();
    for (const Profile& profile : here.model->profiles)
      for (const int start : profile.starts.ascending()) positions_.push_back({&profile, start});
    standing_ = here.walls;
    holders_.clear();
    chosen_.clear();
    for (std::size_t i = 0; i < scene_.works.size(); ++i)
      if (const Work& work = scene_.works[i]; work.stays && work.now->gpu == gpu) {
        standing_.push_back(work.now->instance);
        holders_.emplace_back(i, work.now->instance);
      }
    Table table(states_);
    fill(gpu, 0, 0, table);
    return table;
  }

  /// Takes the present state as one way, then adds each work at each position from `from` on.
  void fill(std::size_t gpu, std::size_t from, std::size_t state, Table& table) {
    record(gpu, table[state]);
    for (std::size_t at = from; at < positions_.size(); ++at)
      for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
        if (!may_take(gpu, state, kind, positions_[at])) continue;
        // Most are excluded by existing instances; that is checked first, since the law is slow.
        if (std::ranges::any_of(standing_,
                                [&](const Instance& other) { return meet(other, positions_[at]); }))
          continue;
        standing_.push_back(positions_[at]);
        if (unlawful(*scene_.gpus[gpu].model, standing_).empty()) {
          holders_.emplace_back(kinds_[kind].members[count_of(state, kind)], positions_[at]);
          chosen_.emplace_back(kind, positions_[at]);
          fill(gpu, at + 1, state + stride_[kind], table);
          holders_.pop_back();
          chosen_.pop_back();
        }
        standing_.pop_back();
      }
  }

  [[nodiscard]] bool may_take(std::size_t gpu, std::size_t state, std::size_t kind,
                              const Instance& instance) const {
    const Work& work = sample(kind);
    if (count_of(state, kind) == kinds_[kind].members.size() || !work.allowed[gpu]) return false;
    if (std::ranges::find(work.wanted[gpu], instance.profile) == work.wanted[gpu].end())
      return false;
    const auto together = [&](const Holder& holder) {
      const auto& group = scene_.works[holder.first].group;
      return group && group == work.group;
    };
    return std::ranges::none_of(holders_, together);
  }

  void record(std::size_t gpu, std::vector<Way>& ways) const {
    Way way;
    way.value = share(scene_, gpu, holders_);
    for (const auto& [index, instance] : holders_) {
      const Work& work = scene_.works[index];
      if (!work.now || *work.now == Position{gpu, instance}) continue;
      ++way.migrations;
      way.moved_mib += work.moved_mib;
    }
    if (!wanted(ways, way)) return;
    way.choice = std::make_shared<const Choice>(Choice{gpu, chosen_, nullptr, nullptr});
    add(ways, std::move(way));
  }

  // Several GPUs.

  [[nodiscard]] bool fits_together(std::size_t a, std::size_t b) const {
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
      if (count_of(a, kind) + count_of(b, kind) > kinds_[kind].members.size()) return false;
    return true;
  }

  [[nodiscard]] Table joined(const Table& one, const Table& other) const {
    Table table(states_);
    for (std::size_t a = 0; a < states_; ++a) {
      if (one[a].empty()) continue;
      for (std::size_t b = 0; a + b < states_; ++b) {
        if (other[b].empty() || !fits_together(a, b)) continue;
        for (const Way& first : one[a])
          for (const Way& second : other[b]) join(first, second, table[a + b]);
      }
    }
    return table;
  }

  void join(const Way& first, const Way& second, std::vector<Way>& ways) const {
    Way way;
    for (std::size_t i = 0; i < objectives; ++i) way.value[i] = first.value[i] + second.value[i];
    way.migrations = first.migrations + second.migrations;
    way.moved_mib = first.moved_mib + second.moved_mib;
    if (!wanted(ways, way)) return;
    way.choice = std::make_shared<const Choice>(Choice{0, {}, first.choice, second.choice});
    add(ways, std::move(way));
  }

  /// Groups over GPUs are kept apart when a GPU is filled; those over nodes here, when the node is
  /// complete.
  void drop_groups_together(Table& table, std::size_t node) const {
    for (std::size_t group = 0; group < scene_.groups.size(); ++group) {
      if (!scene_.groups[group].over_nodes) continue;
      const auto stays_here =
          static_cast<std::size_t>(std::ranges::count_if(scene_.works, [&](const Work& w) {
            return w.group == group && w.stays && scene_.gpus[w.now->gpu].node == node;
          }));
      for (std::size_t state = 0; state < states_; ++state) {
        std::size_t seated = 0;
        for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
          if (sample(kind).group == group) seated += count_of(state, kind);
        if (seated > 0 && seated + stays_here > 1) table[state].clear();
      }
    }
  }

  // The whole fleet.

  [[nodiscard]] std::optional<Best> best_of(const Table& fleet) const {
    const Way* best = nullptr;
    Objectives least{};
    for (std::size_t state = 0; state < states_; ++state) {
      std::int64_t pending = 0;
      Way stopped;  // running work that is left over counts like work that moves
      bool may = true;
      for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
        const std::size_t left = kinds_[kind].members.size() - count_of(state, kind);
        may = may && (left == 0 || kinds_[kind].may_pend);
        pending += static_cast<std::int64_t>(left) * sample(kind).least_memory;
        if (!sample(kind).now) continue;
        stopped.migrations += static_cast<std::int64_t>(left);
        stopped.moved_mib += static_cast<std::int64_t>(left) * sample(kind).moved_mib;
        stopped.value[migrated_slices(scene_.task)] +=
            static_cast<std::int64_t>(left) * sample(kind).now->instance.profile->memory.value;
      }
      for (const Way& way : fleet[state]) {
        Objectives whole = way.value;
        whole[0] += pending;
        for (std::size_t i = 0; i < objectives; ++i) whole[i] += stopped.value[i];
        Way moving = way;
        moving.migrations += stopped.migrations;
        moving.moved_mib += stopped.moved_mib;
        if (!may || !within_limits(moving) || (best != nullptr && !less(whole, least))) continue;
        best = &way;
        least = whole;
      }
    }
    if (best == nullptr) return std::nullopt;
    return Best{least, seats_of(*best)};
  }

  [[nodiscard]] Seats seats_of(const Way& way) const {
    Seats seats(scene_.works.size());
    for (std::size_t i = 0; i < seats.size(); ++i)
      if (scene_.works[i].stays) seats[i] = scene_.works[i].now;
    std::vector<std::size_t> used(kinds_.size(), 0);
    std::vector<const Choice*> open{way.choice.get()};
    while (!open.empty()) {
      const Choice* choice = open.back();
      open.pop_back();
      if (choice == nullptr) continue;
      for (const auto& [kind, instance] : choice->seats)
        seats[kinds_[kind].members[used[kind]++]] = Position{choice->gpu, instance};
      open.push_back(choice->one.get());
      open.push_back(choice->other.get());
    }
    return seats;
  }

  const Scene& scene_;
  std::size_t count_;
  bool limited_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> stride_;
  std::size_t states_ = 1;
  // While one GPU is filled: all its positions, what is there, which work holds it, and the same by
  // kinds.
  std::vector<Instance> positions_, standing_;
  std::vector<Holder> holders_;
  std::vector<std::pair<std::size_t, Instance>> chosen_;
};

}  // namespace

std::optional<Best> exhaustive_best(const Scene& scene, std::size_t count) {
  return Search(scene, count).run();
}

namespace {

/// All conceivable places of each work.
std::vector<std::vector<std::optional<Position>>> all_places(const Scene& scene) {
  std::vector<std::vector<std::optional<Position>>> places(scene.works.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Work& work = scene.works[i];
    if (work.stays) places[i].push_back(work.now);
    if (!work.stays) places[i].push_back(std::nullopt);
    for (std::size_t gpu = 0; gpu < scene.gpus.size() && !work.stays; ++gpu)
      for (const Profile* profile : work.wanted[gpu])
        for (const int start : profile->starts.ascending())
          places[i].push_back(Position{gpu, {profile, start}});
  }
  return places;
}

/// Every combination without a fault, with its value; false if there are more than `most`.
template <class See>
bool for_each_combination(const Scene& scene, std::size_t most, const See& see) {
  const auto places = all_places(scene);
  std::size_t combinations = 1;
  for (const auto& list : places) {
    combinations *= list.size();
    if (combinations > most) return false;
  }
  Seats seats(places.size());
  for (std::size_t number = 0; number < combinations; ++number) {
    std::size_t rest = number;
    for (std::size_t i = 0; i < places.size(); ++i) {
      seats[i] = places[i][rest % places[i].size()];
      rest /= places[i].size();
    }
    if (faults(scene, seats).empty()) see(seats, value(scene, seats));
  }
  return true;
}

}  // namespace

std::optional<Best> best_of_all_combinations(const Scene& scene, std::size_t most, bool& too_many) {
  std::optional<Best> best;
  too_many = !for_each_combination(scene, most, [&](const Seats& seats, const Objectives& found) {
    if (!best || found < best->value) best = Best{found, seats};
  });
  return best;
}

std::optional<std::int64_t> least_sum(const Scene& scene, const Objectives& weights,
                                      std::size_t most, bool& too_many) {
  std::optional<std::int64_t> least;
  too_many = !for_each_combination(scene, most, [&](const Seats&, const Objectives& found) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < objectives; ++i) sum += weights[i] * found[i];
    if (!least || sum < *least) least = sum;
  });
  return least;
}

}  // namespace cleave::plans
