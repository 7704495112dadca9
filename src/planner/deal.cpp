// From counts to a goal: patterns of the solution are given to GPUs, and seats to workloads.

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <tuple>

#include "planner/count_model.hpp"

namespace cleave {

namespace {

/// A GPU with the pattern it was given.
struct Dealt {
  GpuId gpu{};
  std::uint32_t family = 0, of_class = 0;
  const Family::Choice* choice = nullptr;
  std::uint8_t kept = 0;
  ProfileCounts slots;  // those of the choice that are left
  // Instances that several types may take: profile and taker.
  std::vector<std::pair<std::size_t, TypeIndex>> tokens;
};

/// An instance of the goal for a workload of a type.
struct OpenSeat {
  Seat seat;
  bool taken = false;
};

class Dealer {
 public:
  Dealer(const PlanProblem& problem, const PatternMaker& maker, const CountModel& model,
         const std::vector<std::int64_t>& solution, bool limits)
      : problem_(problem), maker_(maker), model_(model), solution_(solution), limits_(limits) {}

  std::optional<Goal> run() {
    for (std::uint32_t f = 0; f < model_.families.size(); ++f) deal_family(f);
    count_demand();
    if (!deal_slots()) return std::nullopt;
    if (!limits_) drop_surplus();
    goal_.resize(problem_.workloads.size());
    seats_.resize(model_.grouping.types.size());
    for (WorkloadIndex i = 0; i < goal_.size(); ++i)
      if (problem_.workloads[i].stays) goal_[i] = problem_.workloads[i].now;
    for (const Dealt& dealt : dealt_) lay_out(dealt);
    for (TypeIndex t = 0; t < seats_.size(); ++t) seat_type(t);
    return std::move(goal_);
  }

 private:
  [[nodiscard]] std::int64_t count(int column) const {
    return solution_[static_cast<std::size_t>(column)];
  }

  void deal_family(std::uint32_t number) {
    const Family& family = model_.families[number];
    std::vector<std::pair<GpuId, std::size_t>> gpus;  // with the member's index in the family
    for (std::size_t m = 0; m < family.members.size(); ++m)
      for (const GpuId gpu : model_.grouping.classes[family.members[m]].gpus)
        gpus.emplace_back(gpu, m);
    std::ranges::sort(gpus);
    // GPUs in use come first, so that those that fall or stay empty are the last of their kind.
    std::vector<const Family::Choice*> order;
    for (const Family::Choice& choice : family.choices) order.push_back(&choice);
    std::ranges::stable_sort(order, std::greater{},
                             [](const Family::Choice* c) { return c->cost.used; });
    std::size_t next = 0;
    for (const Family::Choice* choice : order)
      for (std::int64_t i = 0; i < count(choice->column); ++i) {
        const auto [gpu, member] = gpus[next++];
        dealt_.push_back(
            {gpu, number, family.members[member], choice, choice->kept[member], choice->slots, {}});
      }
    assert(next == gpus.size());
  }

  /// For each type, how many workloads could be seated in instances of patterns. Work that is
  /// pending in the solution counts too: a left-over instance may as well be used.
  void count_demand() {
    const Grouping& grouping = model_.grouping;
    demand_.assign(grouping.types.size(), 0);
    for (TypeIndex t = 0; t < demand_.size(); ++t)
      demand_[t] = static_cast<std::int64_t>(grouping.types[t].waiting.size());
    for (const Dealt& dealt : dealt_) {
      const auto& items = grouping.classes[dealt.of_class].items;
      for (std::size_t i = 0; i < items.size(); ++i)
        if ((dealt.kept >> i & 1U) == 0) ++demand_[items[i].type];
    }
  }

  struct Token {
    std::uint32_t slot;
    TypeIndex type;
  };

  /// Instances that several types may take are assigned to types, replicas of a group to different
  /// GPUs.
  bool deal_slots() {
    // Instances that only one type may take come first: running work may be in them already.
    std::vector<std::int64_t> given(demand_.size(), 0);
    for (const Dealt& dealt : dealt_) {
      const Family& family = model_.families[dealt.family];
      for (std::size_t p = 0; p < family.taker_of.size(); ++p)
        if (family.taker_of[p] != none) given[family.taker_of[p]] += dealt.slots.of(p);
    }
    std::vector<Token> tokens;
    for (std::uint32_t s = 0; s < model_.slots.size(); ++s)
      for (std::size_t k = 0; k < model_.slots[s].takers.size(); ++k) {
        const TypeIndex t = model_.slots[s].takers[k];
        for (std::int64_t i = 0; i < count(model_.flow[s][k]) && given[t] < demand_[t];
             ++i, ++given[t])
          tokens.push_back({s, t});
      }
    std::map<std::uint32_t, int> members;
    for (const Token& token : tokens) ++members[group_of(token.type)];
    // The largest group first, onto the GPUs with the most instances left: with one kind of
    // instance this finds an assignment whenever there is one.
    std::ranges::stable_sort(tokens, [&](const Token& a, const Token& b) {
      const auto key = [&](const Token& t) {
        const std::uint32_t group = group_of(t.type);
        return std::tuple(group == none, -members[group], group);
      };
      return key(a) < key(b);
    });
    find_holders();
    return std::ranges::all_of(tokens, [&](const Token& token) { return deal_token(token); });
  }

  [[nodiscard]] std::uint32_t group_of(TypeIndex type) const {
    return model_.grouping.types[type].group;
  }

  /// For each kind of slot, the GPUs that have some, and which groups already have a member on
  /// them.
  void find_holders() {
    holders_.resize(model_.slots.size());
    used_.resize(dealt_.size());
    const bool groups = !problem_.groups.empty();
    if (model_.slots.empty() && !groups) return;
    for (std::size_t d = 0; d < dealt_.size(); ++d) {
      const Dealt& dealt = dealt_[d];
      const Family& family = model_.families[dealt.family];
      std::map<std::uint32_t, int> free;
      for (std::size_t p = 0; p < family.slot_of.size(); ++p)
        if (family.slot_of[p] != none && dealt.slots.of(p) > 0)
          free[family.slot_of[p]] += dealt.slots.of(p);
      for (const auto& [slot, instances] : free) holders_[slot].insert({-instances, d});
      const auto& items = model_.grouping.classes[dealt.of_class].items;
      for (std::size_t i = 0; i < items.size(); ++i)
        if ((dealt.kept >> i & 1U) != 0 && group_of(items[i].type) != none)
          present_.insert({group_of(items[i].type), d});
    }
  }

  bool deal_token(const Token& token) {
    auto& holders = holders_[token.slot];
    const std::uint32_t group = group_of(token.type);
    for (auto at = holders.begin(); at != holders.end(); ++at) {
      const auto [less_instances, d] = *at;
      if (less_instances == 0) break;
      if (group != none && present_.contains({group, d})) continue;
      holders.erase(at);
      holders.insert({less_instances + 1, d});
      if (group != none) present_.insert({group, d});
      Dealt& dealt = dealt_[d];
      const Family& family = model_.families[dealt.family];
      for (std::size_t p = 0; p < family.slot_of.size(); ++p) {
        if (family.slot_of[p] != token.slot || dealt.slots.of(p) == used_[d].of(p)) continue;
        used_[d].add(p);
        dealt.tokens.emplace_back(p, token.type);
        return true;
      }
    }
    return false;
  }

  /// Instances that no workload will take are left out, so that the rest of the layout can be the
  /// best for the remaining work.
  void drop_surplus() {
    std::vector<std::int64_t> left = demand_;
    for (const Dealt& dealt : dealt_)
      for (const auto& [p, type] : dealt.tokens) --left[type];
    std::vector<std::int64_t> surplus(left.size(), 0);
    for (TypeIndex t = 0; t < left.size(); ++t) surplus[t] = -left[t];
    for (const Dealt& dealt : dealt_) {
      const Family& family = model_.families[dealt.family];
      for (std::size_t p = 0; p < family.taker_of.size(); ++p)
        if (family.taker_of[p] != none) surplus[family.taker_of[p]] += dealt.slots.of(p);
    }
    for (const bool also_held : {false, true})
      for (std::size_t d = dealt_.size(); d-- > 0;) drop_from(d, surplus, also_held);
  }

  void drop_from(std::size_t d, std::vector<std::int64_t>& surplus, bool also_held) {
    Dealt& dealt = dealt_[d];
    const Family& family = model_.families[dealt.family];
    const GpuClass& gpus = model_.grouping.classes[dealt.of_class];
    const std::uint8_t plain = model_.patterns[dealt.of_class].plain;
    for (std::size_t p = 0; p < family.slot_of.size(); ++p) {
      if (family.slot_of[p] != none) {
        while (dealt.slots.of(p) > used_[d].of(p)) dealt.slots.remove(p);
        continue;
      }
      if (family.taker_of[p] == none) continue;
      int held = 0;
      for (std::size_t i = 0; i < gpus.items.size(); ++i)
        if ((plain >> i & 1U) != 0 && maker_.profile_of(gpus.kind, gpus.items[i].placement) == p)
          ++held;
      const int keep = also_held ? 0 : held;
      while (surplus[family.taker_of[p]] > 0 && dealt.slots.of(p) > keep) {
        dealt.slots.remove(p);
        --surplus[family.taker_of[p]];
      }
    }
  }

  StateId layout_of(const Dealt& dealt) {
    const std::tuple key{dealt.of_class, dealt.slots.bits(), dealt.kept,
                         limits_ ? dealt.choice : nullptr};
    const auto [found, fresh] = layouts_.try_emplace(key, no_state);
    if (fresh) {
      PatternCost within = dealt.choice->cost;
      const PatternCost& common = model_.common[dealt.of_class];
      within.used += common.used;
      within.waste += common.waste;
      within.chosen_again += common.chosen_again;
      found->second =
          maker_.layout(model_.grouping.classes[dealt.of_class],
                        model_.patterns[dealt.of_class].plain, dealt.slots, dealt.kept, within);
    }
    return found->second;
  }

  /// The layout of one GPU: which work stays on it, and which seats it offers.
  void lay_out(const Dealt& dealt) {
    const GpuClass& gpus = model_.grouping.classes[dealt.of_class];
    const Family& family = model_.families[dealt.family];
    const StateId state = layout_of(dealt);
    assert(state != no_state);
    const std::uint8_t plain = model_.patterns[dealt.of_class].plain;
    PlacementSet open = problem_.graphs[gpus.kind]->state(state) - gpus.fixed;
    std::size_t item = 0;
    for (const WorkloadIndex i : problem_.running_on(dealt.gpu)) {
      const PlanWorkload& work = problem_.workloads[i];
      if (work.stays) continue;
      const bool is_plain = (plain >> item & 1U) != 0;
      if (is_plain ? open.contains(work.now->placement) : (dealt.kept >> item & 1U) != 0) {
        goal_[i] = work.now;
        open.erase(work.now->placement);
      }
      ++item;
    }
    std::vector<std::pair<std::size_t, TypeIndex>> tokens = dealt.tokens;
    for (const PlacementId id : open) {
      const std::size_t p = maker_.profile_of(gpus.kind, id);
      TypeIndex type = family.taker_of[p];
      if (type == none) {
        const auto token = std::ranges::find(tokens, p, &std::pair<std::size_t, TypeIndex>::first);
        if (token == tokens.end()) continue;
        type = token->second;
        tokens.erase(token);
      }
      seats_[type].push_back({{dealt.gpu, id}, false});
    }
  }

  /// Work that loses its place gets another one on its own GPU if that can be made beside the old
  /// one, else anywhere; then new work in its order.
  void seat_type(TypeIndex type) {
    std::vector<OpenSeat>& seats = seats_[type];
    std::ranges::sort(seats, {},
                      [](const OpenSeat& s) { return std::pair(s.seat.gpu, s.seat.placement); });
    std::vector<WorkloadIndex> others;
    for (const WorkloadIndex i : leaving(type)) {
      const Seat now = *problem_.workloads[i].now;
      auto at = std::ranges::lower_bound(seats, now.gpu, {},
                                         [](const OpenSeat& s) { return s.seat.gpu; });
      for (; at != seats.end() && at->seat.gpu == now.gpu; ++at)
        if (!at->taken && !problem_.placement(now).conflicts.contains(at->seat.placement)) break;
      if (at != seats.end() && at->seat.gpu == now.gpu) {
        goal_[i] = at->seat;
        at->taken = true;
      } else {
        others.push_back(i);
      }
    }
    const auto& waiting = model_.grouping.types[type].waiting;
    others.insert(others.end(), waiting.begin(), waiting.end());
    auto next = others.begin();
    for (const OpenSeat& seat : seats) {
      if (seat.taken) continue;
      if (next == others.end()) break;
      goal_[*next++] = seat.seat;
    }
  }

  /// Running workloads of a type that have no seat yet.
  const std::vector<WorkloadIndex>& leaving(TypeIndex type) {
    if (leaving_.empty()) {
      leaving_.resize(seats_.size());
      for (WorkloadIndex i = 0; i < goal_.size(); ++i)
        if (problem_.workloads[i].now && !goal_[i])
          leaving_[model_.grouping.type_of[i]].push_back(i);
    }
    return leaving_[type];
  }

  const PlanProblem& problem_;
  const PatternMaker& maker_;
  const CountModel& model_;
  const std::vector<std::int64_t>& solution_;
  bool limits_;
  std::vector<Dealt> dealt_;
  std::vector<std::int64_t> demand_;
  // By free instances, the most first: an index into dealt_.
  std::vector<std::set<std::pair<int, std::size_t>>> holders_;
  std::vector<ProfileCounts> used_;
  std::set<std::pair<std::uint32_t, std::size_t>> present_;  // group, index into dealt_
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint8_t, const Family::Choice*>, StateId>
      layouts_;
  std::vector<std::vector<OpenSeat>> seats_;
  std::vector<std::vector<WorkloadIndex>> leaving_;
  Goal goal_;
};

}  // namespace

std::optional<Goal> deal(const PlanProblem& problem, const PatternMaker& maker,
                         const CountModel& model, const std::vector<std::int64_t>& solution,
                         bool limits) {
  return Dealer(problem, maker, model, solution, limits).run();
}

}  // namespace cleave
