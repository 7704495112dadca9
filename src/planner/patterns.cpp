#include "planner/patterns.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace cleave {

namespace {

/// Sorts workloads into types and GPUs into classes.
class Grouper {
 public:
  Grouper(const PlanProblem& problem, Fineness fineness) : problem_(problem), fineness_(fineness) {}

  Grouping run() {
    find_types();
    find_rules();
    for (std::size_t i = 0; i < problem_.gpus.size(); ++i) add(static_cast<GpuId>(i));
    return std::move(result_);
  }

 private:
  using ClassKey = std::tuple<std::uint16_t, std::uint32_t, std::uint32_t, std::uint32_t,
                              std::uint32_t, std::uint32_t, bool, bool, std::vector<Item>>;

  void find_types() {
    std::map<std::pair<RequestId, std::uint32_t>, TypeIndex> known;
    const auto& workloads = problem_.workloads;
    result_.type_of.resize(workloads.size());
    std::pair<RequestId, std::uint32_t> last{};
    TypeIndex last_type = none;
    for (WorkloadIndex i = 0; i < workloads.size(); ++i) {
      const std::pair key{workloads[i].request, workloads[i].rule};
      if (last_type == none || key != last) {
        const auto [found, fresh] = known.try_emplace(key, static_cast<TypeIndex>(known.size()));
        if (fresh) {
          WorkloadType type;
          type.request = key.first;
          type.rule = key.second;
          type.group = key.second == none ? none : problem_.rules[key.second].group;
          type.size = problem_.size(i);
          result_.types.push_back(std::move(type));
        }
        last = key;
        last_type = found->second;
      }
      result_.type_of[i] = last_type;
      WorkloadType& type = result_.types[last_type];
      if (!workloads[i].now) type.waiting.push_back(i);
      if (workloads[i].now && !workloads[i].stays) ++type.running;
    }
  }

  /// Types without a rule are taken everywhere; the others are checked GPU by GPU.
  void find_rules() {
    everywhere_.bits.assign((result_.types.size() + 63) / 64, 0);
    for (TypeIndex t = 0; t < result_.types.size(); ++t) {
      if (result_.types[t].rule == none) {
        everywhere_.bits[t / 64] |= std::uint64_t{1} << t % 64;
      } else {
        ruled_.push_back(t);
      }
      if (result_.types[t].group != none && problem_.groups[result_.types[t].group].over_nodes)
        by_node_ = true;
    }
    // Where a member of a group must stay, no other member may come.
    for (WorkloadIndex i = 0; i < problem_.workloads.size(); ++i) {
      const PlanWorkload& work = problem_.workloads[i];
      if (!work.stays || work.rule == none || problem_.rules[work.rule].group == none) continue;
      const std::uint32_t group = problem_.rules[work.rule].group;
      taken_.insert({group, problem_.domain(group, work.now->gpu)});
    }
  }

  [[nodiscard]] bool takes(GpuId gpu, TypeIndex t) const {
    const WorkloadType& type = result_.types[t];
    const WorkloadIndex example = example_of(t);
    if (!problem_.allows(example, gpu)) return false;
    return type.group == none || !taken_.contains({type.group, problem_.domain(type.group, gpu)});
  }

  [[nodiscard]] WorkloadIndex example_of(TypeIndex t) const {
    if (examples_.empty()) {
      examples_.resize(result_.types.size());
      for (WorkloadIndex i = 0; i < result_.type_of.size(); ++i) examples_[result_.type_of[i]] = i;
    }
    return examples_[t];
  }

  std::uint32_t acceptance_of(GpuId gpu, bool& grouped) {
    Acceptance accepts = everywhere_;
    for (const TypeIndex t : ruled_) {
      if (!takes(gpu, t)) continue;
      accepts.bits[t / 64] |= std::uint64_t{1} << t % 64;
      grouped |= result_.types[t].group != none;
    }
    const auto [found, fresh] =
        acceptances_.try_emplace(accepts, static_cast<std::uint32_t>(acceptances_.size()));
    if (fresh) result_.acceptances.push_back(std::move(accepts));
    return found->second;
  }

  void add(GpuId gpu) {
    const PlanGpu& entry = problem_.gpus[index(gpu)];
    GpuClass of;
    of.kind = entry.kind;
    of.fixed = entry.walls;
    of.idle = entry.idle;
    bool grouped = false;
    of.acceptance = acceptance_of(gpu, grouped);
    if (by_node_) of.node = entry.node;
    for (const WorkloadIndex i : problem_.running_on(gpu)) {
      const PlanWorkload& work = problem_.workloads[i];
      of.held_before = true;
      if (work.stays) {
        of.fixed.insert(work.now->placement);
        of.fixed_work = true;
      } else if (fineness_.items) {
        of.items.push_back({work.now->placement, result_.type_of[i],
                            problem_.limits.moved_mib ? work.moved_mib : 0});
      }
    }
    if (!fineness_.items) of.idle = {};
    // What a GPU held before matters only if using it again has a price.
    of.held_before = of.held_before && problem_.kind == ProblemKind::reconfigure;
    const std::uint32_t alone =
        fineness_.individual && grouped ? static_cast<std::uint32_t>(index(gpu)) : none;
    const ClassKey key{of.kind,        of.acceptance,  of.node,       alone,   of.fixed.bits(),
                       of.idle.bits(), of.held_before, of.fixed_work, of.items};
    const auto [found, fresh] = classes_.try_emplace(key, result_.classes.size());
    if (fresh) result_.classes.push_back(std::move(of));
    result_.classes[found->second].gpus.push_back(gpu);
  }

  const PlanProblem& problem_;
  Fineness fineness_;
  Grouping result_;
  Acceptance everywhere_;
  std::vector<TypeIndex> ruled_;
  mutable std::vector<WorkloadIndex> examples_;
  bool by_node_ = false;
  std::set<std::pair<std::uint32_t, std::uint32_t>> taken_;  // group, domain
  std::map<Acceptance, std::uint32_t> acceptances_;
  std::map<ClassKey, std::size_t> classes_;
};

}  // namespace

Grouping group_gpus(const PlanProblem& problem, Fineness fineness) {
  return Grouper(problem, fineness).run();
}

PatternMaker::PatternMaker(const PlanProblem& problem, const Grouping& grouping, PatternOrder order)
    : problem_(problem), grouping_(grouping), order_(order) {
  for (std::size_t kind = 0; kind < problem.graphs.size(); ++kind) {
    const StateGraph& graph = *problem.graphs[kind];
    const Geometry& geometry = graph.geometry();
    const auto profiles = geometry.profile_list();
    Model model;
    model.profiles = profiles.size();
    for (PlacementId id = 0; id < geometry.size(); ++id) {
      const auto found = std::ranges::find(profiles, geometry[id].profile);
      model.profile_of.push_back(static_cast<std::size_t>(found - profiles.begin()));
      model.waste.push_back(waste(geometry, id).slices());
    }
    model.requests.resize(model.profiles);
    for (std::uint32_t r = 0; r < problem.requests.size(); ++r)
      for (const PlacementId id : problem.requests[r].candidates[kind]) {
        auto& list = model.requests[model.profile_of[id]];
        if (list.empty() || list.back() != r) list.push_back(r);
      }
    std::map<ProfileCounts, std::uint16_t> contents;
    for (int s = 0; s < graph.size(); ++s) {
      ProfileCounts counts;
      int wasted = 0;
      for (const PlacementId id : graph.state(static_cast<StateId>(s))) {
        counts.add(model.profile_of[id]);
        wasted += model.waste[id];
      }
      const auto [found, fresh] =
          contents.try_emplace(counts, static_cast<std::uint16_t>(contents.size()));
      if (fresh) model.counts.push_back(counts);
      model.content.push_back(found->second);
      model.wasted.push_back(static_cast<std::int16_t>(wasted));
    }
    models_.push_back(std::move(model));
  }
}

std::vector<TypeIndex> PatternMaker::takers(const GpuClass& gpus, std::size_t profile) const {
  const auto& requests = models_[gpus.kind].requests[profile];
  const Acceptance& accepts = grouping_.acceptances[gpus.acceptance];
  std::vector<TypeIndex> types;
  for (TypeIndex t = 0; t < grouping_.types.size(); ++t)
    if (accepts.takes(t) && std::ranges::binary_search(
                                requests, static_cast<std::uint32_t>(grouping_.types[t].request)))
      types.push_back(t);
  return types;
}

/// A class as the enumeration of its patterns sees it.
struct PatternMaker::View {
  const GpuClass* gpus;
  const Model* model;
  const StateGraph* graph;
  PlacementSet open;      // placements that work of the pool may take
  PlacementSet existing;  // our instances that stand there now: idle, and those of items
  std::uint8_t keepable = 0, plain = 0;
  std::array<PlacementSet, 8> at;  // placement of each item, as a set
  std::array<int, 8> memory{};     // memory slices of each item
  PlacementSet item_places;        // of the items that may be kept
};

PatternMaker::View PatternMaker::look(const GpuClass& gpus) const {
  View view{
      &gpus, &models_[gpus.kind], problem_.graphs[gpus.kind].get(), {}, gpus.idle, 0, 0, {}, {},
      {}};
  const Geometry& geometry = view.graph->geometry();
  std::vector<std::vector<TypeIndex>> by_profile;
  for (std::size_t p = 0; p < view.model->profiles; ++p) by_profile.push_back(takers(gpus, p));
  for (PlacementId id = 0; id < geometry.size(); ++id)
    if (!by_profile[view.model->profile_of[id]].empty()) view.open.insert(id);
  const Acceptance& accepts = grouping_.acceptances[gpus.acceptance];
  for (std::size_t i = 0; i < gpus.items.size(); ++i) {
    const Item& item = gpus.items[i];
    view.at[i] = PlacementSet::of(item.placement);
    view.memory[i] = geometry[item.placement].profile->memory.value;
    view.existing.insert(item.placement);
    if (!accepts.takes(item.type)) continue;
    view.keepable |= static_cast<std::uint8_t>(1U << i);
    view.item_places.insert(item.placement);
    const auto& others = by_profile[view.model->profile_of[item.placement]];
    if (others.size() == 1 && others[0] == item.type && grouping_.types[item.type].group == none)
      view.plain |= static_cast<std::uint8_t>(1U << i);
  }
  return view;
}

PatternCost PatternMaker::cost(const View& view, StateId state, std::uint8_t kept) const {
  const GpuClass& gpus = *view.gpus;
  const PlacementSet layout = view.graph->state(state);
  const PlacementSet extra = layout - gpus.fixed;
  PatternCost cost;
  cost.used = layout.empty() ? 0 : 1;
  cost.waste = view.model->wasted[state];
  cost.chosen_again = gpus.held_before && (gpus.fixed_work || !extra.empty()) ? 1 : 0;
  PlacementSet fresh = extra;
  for (std::size_t i = 0; i < gpus.items.size(); ++i) {
    const bool plain = (view.plain >> i & 1U) != 0;
    if (plain ? layout.meets(view.at[i]) : (kept >> i & 1U) != 0) continue;
    cost.moved += view.memory[i];
    ++cost.moves;
    cost.moved_mib += gpus.items[i].moved_mib;
  }
  fresh = fresh - view.existing;
  if (!fresh.empty() && view.graph->geometry().blocked(fresh).meets(view.existing))
    cost.repartitioned = 1;
  return cost;
}

bool PatternMaker::better(const PatternCost& a, const PatternCost& b) const {
  if (order_.weights != std::array<std::int64_t, 4>{}) {
    const auto sum = [&](const PatternCost& c) {
      return order_.weights[0] * c.waste + order_.weights[1] * c.chosen_again +
             order_.weights[2] * c.moved + order_.weights[3] * c.repartitioned;
    };
    if (sum(a) != sum(b)) return sum(a) < sum(b);
  }
  return std::tie(a.waste, a.chosen_again, a.moved, a.repartitioned) <
         std::tie(b.waste, b.chosen_again, b.moved, b.repartitioned);
}

bool PatternMaker::never_worse(const PatternCost& a, const PatternCost& b) const {
  return a.used <= b.used && a.waste <= b.waste && a.chosen_again <= b.chosen_again &&
         a.moved <= b.moved && a.repartitioned <= b.repartitioned &&
         (!order_.limits || (a.moves <= b.moves && a.moved_mib <= b.moved_mib));
}

namespace {

/// Whether two of the kept items belong to one group, which must not share a GPU. For groups over
/// nodes the node's row enforces it.
bool same_group_twice(const PlanProblem& problem, const Grouping& grouping, const GpuClass& gpus,
                      std::uint8_t kept) {
  std::array<std::uint32_t, 8> seen{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < gpus.items.size(); ++i) {
    if ((kept >> i & 1U) == 0) continue;
    const std::uint32_t group = grouping.types[gpus.items[i].type].group;
    if (group == none || problem.groups[group].over_nodes) continue;
    if (std::find(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(count), group) !=
        seen.begin() + static_cast<std::ptrdiff_t>(count))
      return true;
    seen[count++] = group;
  }
  return false;
}

}  // namespace

/// The best pattern for each content and choice of kept items; with limits, every pattern that may
/// matter.
std::vector<Pattern> PatternMaker::all(const View& view) const {
  const GpuClass& gpus = *view.gpus;
  const Model& model = *view.model;
  const auto optional = static_cast<std::uint8_t>(view.keepable & ~view.plain);
  const std::size_t stride = optional == 0 ? 1 : 256;
  std::vector<std::int32_t> heads(model.counts.size() * stride, -1);
  std::vector<std::int32_t> next;
  std::vector<Pattern> patterns;
  const auto offer = [&](std::size_t cell, const Pattern& pattern) {
    for (std::int32_t i = heads[cell]; i >= 0; i = next[static_cast<std::size_t>(i)]) {
      Pattern& other = patterns[static_cast<std::size_t>(i)];
      if (!order_.limits) {
        if (better(pattern.cost, other.cost)) other = pattern;
        return;
      }
      if (never_worse(other.cost, pattern.cost)) return;
    }
    next.push_back(heads[cell]);
    heads[cell] = static_cast<std::int32_t>(patterns.size());
    patterns.push_back(pattern);
  };
  ProfileCounts fixed;
  for (const PlacementId id : gpus.fixed) fixed.add(model.profile_of[id]);
  const PlacementSet allowed = view.open | view.item_places | gpus.fixed;
  for (int s = 0; s < view.graph->size(); ++s) {
    const auto state = static_cast<StateId>(s);
    const PlacementSet layout = view.graph->state(state);
    if (!(gpus.fixed - layout).empty() || !(layout - allowed).empty()) continue;
    std::uint8_t present = 0;
    for (std::size_t i = 0; i < gpus.items.size(); ++i)
      if (layout.meets(view.at[i]) && (optional >> i & 1U) != 0)
        present |= static_cast<std::uint8_t>(1U << i);
    for (std::uint8_t kept = present;; kept = static_cast<std::uint8_t>((kept - 1) & present)) {
      PlacementSet pooled = layout - gpus.fixed;
      for (std::size_t i = 0; i < gpus.items.size(); ++i)
        if ((kept >> i & 1U) != 0) pooled = pooled - view.at[i];
      if ((pooled - view.open).empty() && !same_group_twice(problem_, grouping_, gpus, kept)) {
        Pattern pattern;
        pattern.kept = kept;
        for (const PlacementId id : pooled) pattern.slots.add(model.profile_of[id]);
        pattern.cost = cost(view, state, kept);
        offer(model.content[state] * stride + (stride == 1 ? 0 : kept), pattern);
      }
      if (kept == 0) break;
    }
  }
  return patterns;
}

void PatternMaker::prune(std::vector<Pattern>& patterns) const {
  std::vector<bool> dropped(patterns.size(), false);
  for (std::size_t a = 0; a < patterns.size(); ++a)
    for (std::size_t b = 0; b < patterns.size() && !dropped[a]; ++b) {
      if (a == b || dropped[b] || patterns[a].kept != patterns[b].kept) continue;
      if (patterns[b].slots.covers(patterns[a].slots) &&
          never_worse(patterns[b].cost, patterns[a].cost))
        dropped[a] = true;
    }
  std::size_t at = 0;
  std::erase_if(patterns, [&](const Pattern&) { return dropped[at++]; });
}

ClassPatterns PatternMaker::make(const GpuClass& gpus) const {
  const View view = look(gpus);
  ClassPatterns result{view.plain, all(view)};
  prune(result.patterns);
  return result;
}

StateId PatternMaker::layout(const GpuClass& gpus, std::uint8_t plain, ProfileCounts slots,
                             std::uint8_t kept, const PatternCost& within) const {
  View view = look(gpus);
  view.plain = plain;
  const Model& model = *view.model;
  ProfileCounts content = slots;
  PlacementSet needed = gpus.fixed;
  for (const PlacementId id : gpus.fixed) content.add(model.profile_of[id]);
  for (std::size_t i = 0; i < gpus.items.size(); ++i)
    if ((kept >> i & 1U) != 0) {
      needed = needed | view.at[i];
      content.add(model.profile_of[gpus.items[i].placement]);
    }
  const auto found = std::ranges::find(model.counts, content);
  if (found == model.counts.end()) return no_state;
  const auto wanted = static_cast<std::uint16_t>(found - model.counts.begin());
  StateId best = no_state;
  PatternCost least;
  for (int s = 0; s < view.graph->size(); ++s) {
    const auto state = static_cast<StateId>(s);
    if (model.content[state] != wanted || !(needed - view.graph->state(state)).empty()) continue;
    const PatternCost here = cost(view, state, kept);
    if (order_.limits && !never_worse(here, within)) continue;
    const bool equal = best != no_state && !better(here, least) && !better(least, here);
    if (best == no_state || better(here, least) ||
        (equal && view.graph->reachability(state) > view.graph->reachability(best))) {
      best = state;
      least = here;
    }
  }
  return best;
}

}  // namespace cleave
