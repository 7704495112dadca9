#include "planner/patterns.hpp"

#include <algorithm>
#include <bit>
#include <limits>
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
  for (std::size_t kind = 0; kind < problem.graphs.size(); ++kind)
    models_.push_back(model_of(problem, kind));
}

PatternMaker::Model PatternMaker::model_of(const PlanProblem& problem, std::size_t kind) {
  const StateGraph& graph = *problem.graphs[kind];
  const Geometry& geometry = graph.geometry();
  const auto profiles = geometry.profile_list();
  Model model;
  model.profiles = profiles.size();
  for (PlacementId id = 0; id < geometry.size(); ++id) {
    const auto found = std::ranges::find(profiles, geometry[id].profile);
    model.profile_of.push_back(static_cast<std::size_t>(found - profiles.begin()));
    model.waste.push_back(waste(geometry, id).slices());
    model.memory.push_back(geometry[id].profile->memory.value);
  }
  model.requests.resize(model.profiles);
  for (std::uint32_t r = 0; r < problem.requests.size(); ++r)
    for (const PlacementId id : problem.requests[r].candidates[kind]) {
      auto& list = model.requests[model.profile_of[id]];
      if (list.empty() || list.back() != r) list.push_back(r);
    }
  std::map<ProfileCounts, std::uint16_t> contents;
  for (int s = 0; s < graph.size(); ++s) {
    ModelState state{graph.state(static_cast<StateId>(s)), 0, 0};
    ProfileCounts counts;
    for (const PlacementId id : state.layout) {
      counts.add(model.profile_of[id]);
      state.wasted = static_cast<std::int16_t>(state.wasted + model.waste[id]);
    }
    const auto [found, fresh] =
        contents.try_emplace(counts, static_cast<std::uint16_t>(contents.size()));
    if (fresh) {
      model.counts.push_back(counts);
      model.with_content.emplace_back();
    }
    state.content = found->second;
    model.with_content[state.content].push_back(static_cast<StateId>(s));
    model.states.push_back(state);
  }
  model.covered_by.resize(model.counts.size());
  for (std::size_t a = 0; a < model.counts.size(); ++a) {
    model.covered_by[a].push_back(static_cast<std::uint16_t>(a));
    for (std::size_t b = 0; b < model.counts.size(); ++b)
      if (a != b && model.counts[b].covers(model.counts[a]))
        model.covered_by[a].push_back(static_cast<std::uint16_t>(b));
  }
  return model;
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
  PlacementSet item_places;        // of the items that may be kept
  PlacementSet plain_places;       // of the plain ones
  PlacementSet displaces;          // a new instance here means that an existing one must go
  int memory = 0;                  // memory slices of all items
};

void PatternMaker::set_plain(View& view, std::uint8_t plain) {
  view.plain = plain;
  view.plain_places = {};
  for (unsigned left = plain; left != 0; left &= left - 1)
    view.plain_places =
        view.plain_places | view.at[static_cast<std::size_t>(std::countr_zero(left))];
}

PatternMaker::View PatternMaker::look(const GpuClass& gpus) const {
  View view{};
  view.gpus = &gpus;
  view.model = &models_[gpus.kind];
  view.graph = problem_.graphs[gpus.kind].get();
  view.existing = gpus.idle;
  const Geometry& geometry = view.graph->geometry();
  std::vector<std::vector<TypeIndex>> by_profile;
  for (std::size_t p = 0; p < view.model->profiles; ++p) by_profile.push_back(takers(gpus, p));
  for (PlacementId id = 0; id < geometry.size(); ++id)
    if (!by_profile[view.model->profile_of[id]].empty()) view.open.insert(id);
  const Acceptance& accepts = grouping_.acceptances[gpus.acceptance];
  for (std::size_t i = 0; i < gpus.items.size(); ++i) {
    const Item& item = gpus.items[i];
    view.at[i] = PlacementSet::of(item.placement);
    view.memory += view.model->memory[item.placement];
    view.existing.insert(item.placement);
    if (!accepts.takes(item.type)) continue;
    view.keepable |= static_cast<std::uint8_t>(1U << i);
    view.item_places.insert(item.placement);
    const auto& others = by_profile[view.model->profile_of[item.placement]];
    if (others.size() == 1 && others[0] == item.type && grouping_.types[item.type].group == none)
      set_plain(view, static_cast<std::uint8_t>(view.plain | 1U << i));
  }
  view.displaces = geometry.blocked(view.existing);
  return view;
}

PatternCost PatternMaker::cost(const View& view, const ModelState& state, std::uint8_t kept) const {
  const GpuClass& gpus = *view.gpus;
  const PlacementSet extra = state.layout - gpus.fixed;
  PatternCost cost;
  cost.used = state.layout.empty() ? 0 : 1;
  cost.waste = state.wasted;
  cost.chosen_again = gpus.held_before && (gpus.fixed_work || !extra.empty()) ? 1 : 0;
  cost.repartitioned = (extra - view.existing).meets(view.displaces) ? 1 : 0;
  PlacementSet stays = state.layout & view.plain_places;
  for (unsigned left = kept; left != 0; left &= left - 1)
    stays = stays | view.at[static_cast<std::size_t>(std::countr_zero(left))];
  cost.moved = view.memory;
  cost.moves = static_cast<std::int32_t>(gpus.items.size());
  for (const PlacementId id : stays) {
    cost.moved -= view.model->memory[id];
    --cost.moves;
  }
  if (order_.limits)
    for (const Item& item : gpus.items)
      if (!stays.contains(item.placement)) cost.moved_mib += item.moved_mib;
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
/// matter: a list for each such cell.
struct PatternMaker::Offers {
  std::size_t stride = 1;  // cells of one content
  std::vector<std::int32_t> heads, next;
  std::vector<Pattern> patterns;
  std::vector<std::uint16_t> contents;  // of each pattern

  [[nodiscard]] std::size_t cell(std::uint16_t content, std::uint8_t kept) const {
    return content * stride + (stride == 1 ? 0 : kept);
  }
};

void PatternMaker::offer(Offers& offers, std::uint16_t content, const Pattern& pattern) const {
  std::int32_t& head = offers.heads[offers.cell(content, pattern.kept)];
  for (std::int32_t i = head; i >= 0; i = offers.next[static_cast<std::size_t>(i)]) {
    Pattern& other = offers.patterns[static_cast<std::size_t>(i)];
    if (!order_.limits) {
      if (better(pattern.cost, other.cost)) other.cost = pattern.cost;
      return;
    }
    if (never_worse(other.cost, pattern.cost)) return;
  }
  offers.next.push_back(head);
  head = static_cast<std::int32_t>(offers.patterns.size());
  offers.patterns.push_back(pattern);
  offers.contents.push_back(content);
}

/// The states that a class may end in, content by content. Where nothing is weighed and only waste
/// and what moves differ between the states of one content, only those with the least waste matter.
const std::vector<StateId>& PatternMaker::candidates(const View& view, bool optional) const {
  const GpuClass& gpus = *view.gpus;
  const PlacementSet allowed = view.open | view.item_places | gpus.fixed;
  const bool all = optional || order_.limits || order_.weights != std::array<std::int64_t, 4>{};
  const auto [found, fresh] = candidates_.try_emplace(
      CandidateKey{gpus.kind, gpus.fixed.bits(), allowed.bits(), all}, std::vector<StateId>());
  std::vector<StateId>& list = found->second;
  if (!fresh) return list;
  const Model& model = *view.model;
  std::vector<std::int16_t> least(model.counts.size(), std::numeric_limits<std::int16_t>::max());
  std::vector<std::size_t> rank(model.counts.size(), 0);  // of contents, by their first state
  std::size_t ranks = 0;
  for (std::size_t s = 0; s < model.states.size(); ++s) {
    const ModelState& state = model.states[s];
    if (!(gpus.fixed - state.layout).empty() || !(state.layout - allowed).empty()) continue;
    if (rank[state.content] == 0) rank[state.content] = ++ranks;
    least[state.content] = std::min(least[state.content], state.wasted);
    list.push_back(static_cast<StateId>(s));
  }
  if (all) return list;
  std::erase_if(list,
                [&](StateId s) { return model.states[s].wasted > least[model.states[s].content]; });
  std::ranges::stable_sort(list, {}, [&](StateId s) { return rank[model.states[s].content]; });
  return list;
}

PatternMaker::Offers PatternMaker::all(const View& view) const {
  const GpuClass& gpus = *view.gpus;
  const Model& model = *view.model;
  const auto optional = static_cast<std::uint8_t>(view.keepable & ~view.plain);
  Offers offers;
  offers.stride = optional == 0 ? 1 : 256;
  offers.heads.assign(model.counts.size() * offers.stride, -1);
  offers.patterns.reserve(model.counts.size());
  offers.next.reserve(model.counts.size());
  offers.contents.reserve(model.counts.size());
  ProfileCounts fixed;
  for (const PlacementId id : gpus.fixed) fixed.add(model.profile_of[id]);
  for (const StateId number : candidates(view, optional != 0)) {
    const ModelState& state = model.states[number];
    std::uint8_t present = 0;
    for (unsigned left = optional; left != 0; left &= left - 1)
      if (state.layout.meets(view.at[static_cast<std::size_t>(std::countr_zero(left))]))
        present |= static_cast<std::uint8_t>(left & -left);
    for (std::uint8_t kept = present;; kept = static_cast<std::uint8_t>((kept - 1) & present)) {
      PlacementSet pooled = state.layout - gpus.fixed;
      Pattern pattern{model.counts[state.content].without(fixed), kept, {}};
      for (unsigned left = kept; left != 0; left &= left - 1) {
        const auto item = static_cast<std::size_t>(std::countr_zero(left));
        pooled = pooled - view.at[item];
        pattern.slots.remove(model.profile_of[gpus.items[item].placement]);
      }
      if ((pooled - view.open).empty() &&
          (kept == 0 || !same_group_twice(problem_, grouping_, gpus, kept))) {
        pattern.cost = cost(view, state, kept);
        offer(offers, state.content, pattern);
      }
      if (kept == 0) break;
    }
  }
  return offers;
}

/// Those that no other with the same kept items surpasses or equals in every respect.
std::vector<Pattern> PatternMaker::pruned(const View& view, const Offers& offers) const {
  const auto surpassed = [&](std::size_t number) {
    const Pattern& pattern = offers.patterns[number];
    for (const std::uint16_t content : view.model->covered_by[offers.contents[number]])
      for (std::int32_t i = offers.heads[offers.cell(content, pattern.kept)]; i >= 0;
           i = offers.next[static_cast<std::size_t>(i)]) {
        const auto other = static_cast<std::size_t>(i);
        if (other != number && never_worse(offers.patterns[other].cost, pattern.cost)) return true;
      }
    return false;
  };
  std::vector<Pattern> left;
  left.reserve(offers.patterns.size());
  for (std::size_t i = 0; i < offers.patterns.size(); ++i)
    if (!surpassed(i)) left.push_back(offers.patterns[i]);
  return left;
}

ClassPatterns PatternMaker::make(const GpuClass& gpus) const {
  const View view = look(gpus);
  return {view.plain, pruned(view, all(view))};
}

StateId PatternMaker::layout(const GpuClass& gpus, std::uint8_t plain, ProfileCounts slots,
                             std::uint8_t kept, const PatternCost& within) const {
  View view = look(gpus);
  set_plain(view, plain);
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
  StateId best = no_state;
  PatternCost least;
  for (const StateId state :
       model.with_content[static_cast<std::size_t>(found - model.counts.begin())]) {
    if (!(needed - model.states[state].layout).empty()) continue;
    const PatternCost here = cost(view, model.states[state], kept);
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
