#include "planner/count_model.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "planner/optimal.hpp"

namespace cleave {

namespace {

class Builder {
 public:
  Builder(const PlanProblem& problem, const PatternMaker& maker, Grouping grouping,
          const ModelPlan& plan)
      : problem_(problem), maker_(maker), plan_(plan) {
    model_.grouping = std::move(grouping);
  }

  CountModel run() {
    const std::size_t objectives = plan_.weights ? 1 : plan_.objectives;
    model_.mip = Mip(objectives);
    model_.constants.assign(objectives, 0);
    add_types();
    add_limits();
    for (std::uint32_t c = 0; c < model_.grouping.classes.size(); ++c) add_class(c);
    for (Family& family : model_.families) finish(family);
    add_flows();
    return std::move(model_);
  }

 private:
  using Costs = std::vector<std::int64_t>;

  /// The objectives of the problem in order, or their weighted sum.
  [[nodiscard]] Costs in_order(std::int64_t pending, const PatternCost& cost) const {
    Costs values = {pending, cost.used, cost.waste};
    if (problem_.kind == ProblemKind::reconfigure) {
      values.insert(values.end(), {cost.chosen_again, cost.moved});
    } else {
      values.insert(values.end(), {cost.moved, cost.repartitioned});
    }
    if (plan_.weights) return {weighted_sum(problem_, *plan_.weights, values)};
    values.resize(plan_.objectives);
    return values;
  }

  void add_types() {
    for (const WorkloadType& type : model_.grouping.types) {
      const auto fresh = static_cast<std::int64_t>(type.waiting.size());
      // If the classes have no items, running work is placed like new work.
      const std::int64_t wanted = fresh + (plan_.fineness.items ? 0 : type.running);
      supply_.push_back(model_.mip.add_row(wanted, Mip::unbounded));
      PatternCost nothing;
      const MipEntry entry{supply_.back(), 1};
      model_.mip.add_column(fresh + (problem_.may_evict ? type.running : 0),
                            in_order(type.size.value, nothing), {&entry, 1});
    }
  }

  void add_limits() {
    if (!plan_.fineness.items) return;
    if (problem_.limits.migrations)
      moves_ = model_.mip.add_row(-Mip::unbounded, *problem_.limits.migrations);
    if (problem_.limits.moved_mib)
      mib_ = model_.mip.add_row(-Mip::unbounded, *problem_.limits.moved_mib);
  }

  /// The types of the items that a pattern moves from their places; plain items all go through the
  /// pool.
  [[nodiscard]] std::vector<TypeIndex> displaced(const GpuClass& gpus, std::uint8_t kept) const {
    std::vector<TypeIndex> types;
    for (std::size_t i = 0; i < gpus.items.size(); ++i)
      if ((kept >> i & 1U) == 0) types.push_back(gpus.items[i].type);
    std::ranges::sort(types);
    return types;
  }

  void add_class(std::uint32_t number) {
    const GpuClass& gpus = model_.grouping.classes[number];
    model_.patterns.push_back(maker_.make(gpus));
    std::vector<Pattern>& patterns = model_.patterns.back().patterns;
    // A cost that every pattern of the class has does not affect the choice.
    PatternCost common = patterns.front().cost;
    for (const Pattern& p : patterns) {
      common.used = std::min(common.used, p.cost.used);
      common.waste = std::min(common.waste, p.cost.waste);
      common.chosen_again = std::min(common.chosen_again, p.cost.chosen_again);
    }
    common.moved = common.repartitioned = common.moves = 0;
    common.moved_mib = 0;
    model_.common.push_back(common);
    for (Pattern& p : patterns) {
      p.cost.used -= common.used;
      p.cost.waste -= common.waste;
      p.cost.chosen_again -= common.chosen_again;
    }
    const Costs costs = in_order(0, common);
    for (std::size_t o = 0; o < costs.size(); ++o)
      model_.constants[o] += costs[o] * static_cast<std::int64_t>(gpus.gpus.size());
    join_family(number, gpus, patterns);
  }

  /// Everything that the programme sees of the patterns of a class, a row of numbers for each.
  struct Signatures {
    std::size_t width = 0;
    std::vector<std::int64_t> numbers;
    [[nodiscard]] std::span<const std::int64_t> row(std::size_t pattern) const {
      return std::span(numbers).subspan(pattern * width, width);
    }
  };

  [[nodiscard]] Signatures signatures(const GpuClass& gpus,
                                      const std::vector<Pattern>& patterns) const {
    Signatures text{8 + gpus.items.size(), {}};
    text.numbers.reserve(patterns.size() * text.width);
    std::vector<TypeIndex> types;  // those of the pattern before, as of most others
    std::optional<std::uint8_t> types_of;
    for (const Pattern& p : patterns) {
      for (const std::int64_t number :
           {static_cast<std::int64_t>(p.slots.bits()), std::int64_t{p.cost.used},
            std::int64_t{p.cost.waste}, std::int64_t{p.cost.chosen_again},
            std::int64_t{p.cost.moved}, std::int64_t{p.cost.repartitioned},
            std::int64_t{p.cost.moves}, p.cost.moved_mib})
        text.numbers.push_back(number);
      if (gpus.items.empty()) continue;
      if (types_of != p.kept) types = displaced(gpus, p.kept);
      types_of = p.kept;
      text.numbers.insert(text.numbers.end(), types.begin(), types.end());
      // Fewer types come before more.
      text.numbers.resize((text.numbers.size() + text.width - 1) / text.width * text.width, -1);
    }
    return text;
  }

  void join_family(std::uint32_t number, const GpuClass& gpus,
                   const std::vector<Pattern>& patterns) {
    const Signatures text = signatures(gpus, patterns);
    std::vector<std::size_t> sorted(patterns.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
    std::ranges::stable_sort(sorted, [&](std::size_t a, std::size_t b) {
      return std::ranges::lexicographical_compare(text.row(a), text.row(b));
    });
    std::vector<std::int64_t> key = {gpus.kind, gpus.acceptance, gpus.node};
    // Replicas are kept apart class by class.
    if (takes_grouped(gpus)) key.push_back(number);
    key.reserve(key.size() + sorted.size() * text.width + 1);
    key.push_back(static_cast<std::int64_t>(text.width));
    for (const std::size_t i : sorted) {
      const auto row = text.row(i);
      key.insert(key.end(), row.begin(), row.end());
    }
    const auto [found, fresh] = family_of_.try_emplace(std::move(key), model_.families.size());
    if (fresh) {
      Family family;
      first_.emplace_back();
      for (const std::size_t i : sorted) {
        family.choices.push_back({patterns[i].slots, patterns[i].cost, {}, -1});
        first_.back().push_back(patterns[i]);
      }
      model_.families.push_back(std::move(family));
    }
    Family& family = model_.families[found->second];
    family.members.push_back(number);
    for (std::size_t k = 0; k < sorted.size(); ++k)
      family.choices[k].kept.push_back(patterns[sorted[k]].kept);
  }

  [[nodiscard]] bool takes_grouped(const GpuClass& gpus) const {
    const Acceptance& accepts = model_.grouping.acceptances[gpus.acceptance];
    for (TypeIndex t = 0; t < model_.grouping.types.size(); ++t)
      if (model_.grouping.types[t].group != none && accepts.takes(t)) return true;
    return false;
  }

  /// Its row, and how each profile relates to the rows of supply.
  void finish(Family& family) {
    const auto number = static_cast<std::uint32_t>(&family - model_.families.data());
    const GpuClass& gpus = model_.grouping.classes[family.members.front()];
    std::int64_t count = 0;
    for (const std::uint32_t member : family.members)
      count += static_cast<std::int64_t>(model_.grouping.classes[member].gpus.size());
    const int row = model_.mip.add_row(count, count);
    for (std::size_t p = 0; p < maker_.profiles(gpus.kind); ++p) {
      std::vector<TypeIndex> takers = maker_.takers(gpus, p);
      const bool grouped = std::ranges::any_of(
          takers, [&](TypeIndex t) { return model_.grouping.types[t].group != none; });
      family.taker_of.push_back(takers.size() == 1 && !grouped ? takers.front() : none);
      family.slot_of.push_back(takers.empty() || family.taker_of.back() != none
                                   ? none
                                   : slot(takers, grouped ? number : none));
    }
    for (std::size_t k = 0; k < family.choices.size(); ++k) {
      const Pattern& pattern = first_[number][k];
      Family::Choice& choice = family.choices[k];
      choice.column = model_.mip.add_column(count, in_order(0, pattern.cost),
                                            entries(family, gpus, pattern, row));
    }
  }

  std::uint32_t slot(const std::vector<TypeIndex>& takers, std::uint32_t owner) {
    const auto [found, fresh] =
        slot_numbers_.try_emplace({takers, owner}, static_cast<std::uint32_t>(model_.slots.size()));
    if (fresh) {
      model_.slots.push_back({takers, owner});
      slot_rows_.push_back(model_.mip.add_row(-Mip::unbounded, 0));
    }
    return found->second;
  }

  std::vector<MipEntry> entries(const Family& family, const GpuClass& gpus, const Pattern& pattern,
                                int row) {
    std::map<int, std::int64_t> sums;
    sums[row] = 1;
    for (std::size_t p = 0; p < family.slot_of.size(); ++p) {
      const int slots = pattern.slots.of(p);
      if (slots == 0) continue;
      if (family.taker_of[p] != none) {
        sums[supply_[family.taker_of[p]]] += slots;
      } else if (family.slot_of[p] != none) {
        sums[slot_rows_[family.slot_of[p]]] -= slots;
      }
    }
    for (const TypeIndex type : displaced(gpus, pattern.kept)) sums[supply_[type]] -= 1;
    if (moves_ >= 0) sums[moves_] += pattern.cost.moves;
    if (mib_ >= 0) sums[mib_] += pattern.cost.moved_mib;
    std::vector<MipEntry> list;
    for (const auto& [r, value] : sums)
      if (value != 0) list.push_back({r, value});
    group_entries(family, gpus, pattern, list);
    return list;
  }

  /// The row of a group on a class of GPUs or on a node; made when first asked for.
  int group_row(std::uint32_t group, std::uint32_t where, std::int64_t most) {
    const auto [found, fresh] = group_rows_.try_emplace({group, where}, -1);
    if (fresh) found->second = model_.mip.add_row(-Mip::unbounded, most);
    return found->second;
  }

  [[nodiscard]] std::uint32_t group_place(const GpuClass& gpus, std::uint32_t group,
                                          std::uint32_t family) const {
    return problem_.groups[group].over_nodes ? gpus.node : family;
  }

  /// A GPU can take one member of a group if it has an instance for it and keeps none of the group;
  /// a node holds one in total.
  void group_entries(const Family& family, const GpuClass& gpus, const Pattern& pattern,
                     std::vector<MipEntry>& list) {
    const auto number = static_cast<std::uint32_t>(&family - model_.families.data());
    std::map<std::uint32_t, bool> offered;  // by group: whether there is an instance for a member
    for (std::size_t p = 0; p < family.slot_of.size(); ++p) {
      if (family.slot_of[p] == none) continue;
      for (const TypeIndex t : model_.slots[family.slot_of[p]].takers)
        if (model_.grouping.types[t].group != none)
          offered[model_.grouping.types[t].group] |= pattern.slots.of(p) > 0;
    }
    std::map<std::uint32_t, int> kept;
    for (std::size_t i = 0; i < gpus.items.size(); ++i) {
      const std::uint32_t group = model_.grouping.types[gpus.items[i].type].group;
      if (group != none && (pattern.kept >> i & 1U) != 0) ++kept[group];
    }
    for (const auto& [group, any] : offered) {
      if (problem_.groups[group].over_nodes) continue;
      if (any && !kept.contains(group)) list.push_back({group_row(group, number, 0), -1});
      group_row(group, number, 0);
    }
    for (const auto& [group, count] : kept)
      if (problem_.groups[group].over_nodes)
        list.push_back({group_row(group, gpus.node, 1), count});
  }

  void add_flows() {
    const Costs nothing = in_order(0, PatternCost{});
    for (std::size_t s = 0; s < model_.slots.size(); ++s) {
      const SlotKind& kind = model_.slots[s];
      model_.flow.emplace_back();
      for (const TypeIndex t : kind.takers) {
        std::vector<MipEntry> list = {{supply_[t], 1}, {slot_rows_[s], 1}};
        const std::uint32_t group = model_.grouping.types[t].group;
        if (group != none) {
          const GpuClass& gpus =
              model_.grouping.classes[model_.families[kind.owner].members.front()];
          const std::uint32_t where = group_place(gpus, group, kind.owner);
          list.push_back({group_row(group, where, problem_.groups[group].over_nodes ? 1 : 0), 1});
        }
        const std::int64_t most =
            static_cast<std::int64_t>(model_.grouping.types[t].waiting.size()) +
            model_.grouping.types[t].running;
        model_.flow.back().push_back(model_.mip.add_column(most, nothing, list));
      }
    }
  }

  const PlanProblem& problem_;
  const PatternMaker& maker_;
  const ModelPlan& plan_;
  CountModel model_;
  std::vector<int> supply_, slot_rows_;
  int moves_ = -1, mib_ = -1;
  std::map<std::vector<std::int64_t>, std::size_t> family_of_;
  std::vector<std::vector<Pattern>> first_;  // of each family, in the order of its choices
  std::map<std::pair<std::vector<TypeIndex>, std::uint32_t>, std::uint32_t> slot_numbers_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> group_rows_;
};

}  // namespace

CountModel build_model(const PlanProblem& problem, const PatternMaker& maker, Grouping grouping,
                       const ModelPlan& plan) {
  return Builder(problem, maker, std::move(grouping), plan).run();
}

}  // namespace cleave
