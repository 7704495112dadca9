#include "planner/moves/moves.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "planner/moves/move_state.hpp"

namespace cleave {

std::string_view name(Op op) {
  constexpr std::array<std::string_view, 5> names = {"destroy", "create", "start", "drain", "stop"};
  return names[static_cast<std::size_t>(op)];
}

Target target_of(const PlanProblem& problem, const Goal& goal) {
  Target target{goal, {}};
  std::vector<PlacementSet> taken(problem.gpus.size());
  for (const auto& seat : goal)
    if (seat) taken[index(seat->gpu)].insert(seat->placement);
  for (std::size_t gpu = 0; gpu < taken.size(); ++gpu) {
    const Geometry& geometry = problem.graphs[problem.gpus[gpu].kind]->geometry();
    target.idle.push_back(problem.gpus[gpu].idle - geometry.blocked(taken[gpu]));
  }
  return target;
}

namespace {

constexpr int no_horizon = 1 << 30;

/// Which items wait for which, among those that still have to move, and which must step aside so
/// that the waiting ends in time.
class Dependencies {
 public:
  Dependencies(const MoveState& state, int horizon) : state_(state), horizon_(horizon) {
    find_blockers();
    aside_.assign(state.items().size(), false);
    while (break_circles()) {
    }
    if (horizon_ < no_horizon) shorten_chains();
  }

  /// Whether the item should go to a temporary placement if it cannot go to its goal.
  [[nodiscard]] bool aside(std::size_t item) const { return aside_[item]; }
  [[nodiscard]] const std::vector<std::size_t>& blockers(std::size_t item) const {
    return blockers_[item];
  }
  [[nodiscard]] bool any() const {
    return std::ranges::any_of(blockers_, [](const auto& list) { return !list.empty(); });
  }

 private:
  void find_blockers() {
    blockers_.resize(state_.items().size());
    waiting_.assign(state_.items().size(), 0);
    for (std::size_t i = 0; i < blockers_.size(); ++i) {
      if (!state_.open(i)) continue;
      blockers_[i] = state_.blockers(i);
      for (const std::size_t other : blockers_[i]) ++waiting_[other];
    }
  }

  /// Leaves its placement in this wave whatever the others do.
  [[nodiscard]] bool leaves_now(std::size_t item) const {
    return aside_[item] || !state_.items()[item].to.has_value();
  }

  /// Depth-first search for strongly connected parts (Tarjan), without recursion: chains may be
  /// long.
  struct Frame {
    std::size_t item, next;
  };
  bool break_circles() {
    const std::size_t count = blockers_.size();
    order_.assign(count, 0);
    low_.assign(count, 0);
    on_stack_.assign(count, false);
    stack_.clear();
    counter_ = 0;
    bool found = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!state_.open(i) || order_[i] != 0 || leaves_now(i)) continue;
      if (blockers_[i].empty()) {
        order_[i] = low_[i] = ++counter_;  // a part of its own, which waits for nothing
      } else {
        found |= visit(i);
      }
    }
    return found;
  }

  bool visit(std::size_t root) {
    std::vector<Frame>& frames = frames_;
    const auto enter = [&](std::size_t item) {
      order_[item] = low_[item] = ++counter_;
      stack_.push_back(item);
      on_stack_[item] = true;
      frames.push_back({item, 0});
    };
    bool found = false;
    enter(root);
    while (!frames.empty()) {
      auto& [item, next] = frames.back();
      if (next < blockers_[item].size()) {
        const std::size_t other = blockers_[item][next++];
        if (leaves_now(other)) continue;
        if (order_[other] == 0) {
          enter(other);
        } else if (on_stack_[other]) {
          low_[item] = std::min(low_[item], order_[other]);
        }
        continue;
      }
      const std::size_t done = item;
      frames.pop_back();
      if (!frames.empty())
        low_[frames.back().item] = std::min(low_[frames.back().item], low_[done]);
      if (low_[done] == order_[done]) found |= close_part(done);
    }
    return found;
  }

  /// A part of the graph in which all items wait for each other: one of them has to step aside.
  bool close_part(std::size_t root) {
    std::vector<std::size_t> part;
    while (true) {
      part.push_back(stack_.back());
      on_stack_[stack_.back()] = false;
      stack_.pop_back();
      if (part.back() == root) break;
    }
    if (part.size() == 1 && std::ranges::find(blockers_[root], root) == blockers_[root].end())
      return false;
    std::ranges::sort(part);
    const auto rank = [&](std::size_t item) {
      const bool itself = std::ranges::find(blockers_[item], item) != blockers_[item].end();
      return std::tuple(!itself, !state_.may_step_aside(item), state_.size(item), -waiting_[item]);
    };
    aside_[std::ranges::min(part, {}, rank)] = true;
    return true;
  }

  /// Items that would leave too late for those that wait for them step aside at once.
  void shorten_chains() {
    level_.assign(blockers_.size(), 0);
    for (std::size_t i = 0; i < blockers_.size(); ++i)
      if (state_.open(i)) level_of(i);
  }
  int level_of(std::size_t root) {
    std::vector<Frame> frames{{root, 0}};
    while (!frames.empty()) {
      auto& [item, next] = frames.back();
      if (level_[item] != 0) {
        frames.pop_back();
        continue;
      }
      bool entered = false;
      while (next < blockers_[item].size()) {
        const std::size_t other = blockers_[item][next++];
        if (leaves_now(other) || level_[other] != 0) continue;
        frames.push_back({other, 0});
        entered = true;
        break;
      }
      if (entered) continue;
      int level = 1;
      for (const std::size_t other : blockers_[item])
        level = std::max(level, 1 + (leaves_now(other) ? 1 : level_[other]));
      level_[item] = level;
      if (level >= horizon_ && waiting_[item] > 0 && state_.may_step_aside(item))
        aside_[item] = true;
      frames.pop_back();
    }
    return level_[root];
  }

  const MoveState& state_;
  int horizon_;
  std::vector<std::vector<std::size_t>> blockers_;
  std::vector<int> waiting_;  // how many items wait for the item
  std::vector<bool> aside_;
  std::vector<int> order_, low_, level_;
  std::vector<bool> on_stack_;
  std::vector<std::size_t> stack_;
  std::vector<Frame> frames_;  // of visit; empty between calls
  int counter_ = 0;
};

/// One way through: wave after wave, every item that can goes to its goal, and those that must step
/// aside do.
class Journey {
 public:
  Journey(MoveState state, int horizon, bool disruptive)
      : state_(std::move(state)), horizon_(horizon), disruptive_(disruptive) {}

  void run() {
    while (state_.any_open() && waves() < horizon_) {
      if (wave()) continue;
      if (!disruptive_ || !stop_one()) break;
    }
    state_.tidy();
  }

  [[nodiscard]] bool arrived() const { return !state_.any_open(); }
  [[nodiscard]] int waves() const { return static_cast<int>(state_.waves().size()); }
  [[nodiscard]] const MoveState& state() const { return state_; }
  [[nodiscard]] MoveState& state() { return state_; }
  [[nodiscard]] const std::vector<Disruption>& stopped() const { return stopped_; }

 private:
  bool wave() {
    const int left = horizon_ == no_horizon ? no_horizon : horizon_ - waves();
    const Dependencies dependencies(state_, left);
    state_.begin_wave();
    for (std::size_t i = 0; i < state_.items().size(); ++i)
      if (state_.open(i) && !state_.items()[i].to) state_.stop(i);
    for (std::size_t i = 0; i < state_.items().size(); ++i)
      if (state_.open(i)) state_.go(i);
    for (std::size_t i = 0; i < state_.items().size(); ++i)
      if (state_.open(i) && !state_.moved(i) && dependencies.aside(i) && left > 1 &&
          state_.may_step_aside(i))
        state_.step_aside(i);
    return state_.end_wave();
  }

  /// Nothing moves any more: an item in the way is stopped, the one that can be restarted soonest.
  bool stop_one() {
    const Dependencies dependencies(state_, no_horizon);
    std::optional<std::size_t> least;
    state_.begin_wave();
    for (std::size_t i = 0; i < state_.items().size(); ++i) {
      if (!state_.open(i) || !state_.items()[i].at || !state_.group_may_move(i)) continue;
      const bool better =
          !least || std::pair(!dependencies.aside(i), state_.moved_mib(i)) <
                        std::pair(!dependencies.aside(*least), state_.moved_mib(*least));
      if (better) least = i;
    }
    if (!least) return false;
    stopped_.push_back({state_.items()[*least].workload, state_.why_stuck(*least)});
    state_.begin_wave();
    state_.stop(*least);
    return state_.end_wave();
  }

  MoveState state_;
  int horizon_;
  bool disruptive_;
  std::vector<Disruption> stopped_;
};

/// Which items have to leave, one wave earlier, before this item can have its placement. An idle
/// instance of the goal may be left behind there in the same wave.
std::vector<std::size_t> must_be_gone(const MoveState& start, std::size_t item) {
  std::vector<std::size_t> list = start.blockers(item);
  if (start.items()[item].workload == none)
    std::erase_if(
        list, [&](std::size_t other) { return start.items()[other].at == start.items()[item].to; });
  return list;
}

/// A lower bound on the waves of any order.
int least_waves(const PlanProblem& problem, const MoveState& start) {
  if (!start.any_open()) return 0;
  int least = 1;
  std::map<std::uint32_t, int> moving;  // of each group
  std::vector<bool> in_the_way(start.items().size(), false);
  for (std::size_t i = 0; i < start.items().size(); ++i) {
    for (const std::size_t other : must_be_gone(start, i)) {
      in_the_way[other] = true;
      least = 2;
    }
    if (const std::uint32_t group = start.group(i);
        group != none && start.items()[i].at && start.items()[i].to)
      ++moving[group];
  }
  for (const auto& [group, count] : moving)
    if (const auto most = problem.groups[group].max_moving; most && *most > 0)
      least = std::max(least, (count + *most - 1) / *most);
  // In two waves, every item that is in the way of another and cannot go to its goal at once must
  // step aside, to slices that are free now and in the end.
  std::int64_t aside = 0;
  for (std::size_t i = 0; i < in_the_way.size(); ++i)
    if (in_the_way[i] && start.items()[i].to && !start.blockers(i).empty())
      aside += start.least_size(i);
  if (aside > start.free_now_and_then()) least = std::max(least, 3);
  return least;
}

Moves result_of(const Journey& journey) {
  Moves moves;
  moves.waves = journey.state().waves();
  moves.temporary = journey.state().temporaries();
  moves.reached = journey.state().reached();
  moves.disruptive = journey.stopped();
  return moves;
}

/// As far as possible without interruptions. Items that cannot arrive have no reason to step aside.
/// When they are told to stay, others may arrive after all, or need not leave.
Journey as_far_as_it_goes(const MoveState& start, Journey stuck) {
  constexpr int rounds = 4;
  MoveState calm = start;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < start.items().size(); ++i)
      if (stuck.state().open(i)) calm.forbid_stepping_aside(i);
    Journey again(calm, no_horizon, false);
    again.run();
    stuck = std::move(again);
    bool left_aside = false;
    for (std::size_t i = 0; i < start.items().size(); ++i) left_aside |= stuck.state().aside(i);
    if (!left_aside) break;
  }
  return stuck;
}

Moves disturbing(const MoveState& start, const Journey& stuck, bool allowed, int bound) {
  Journey last = as_far_as_it_goes(start, stuck);
  if (allowed) {
    // No work is interrupted for a goal that is out of reach anyway.
    Journey through(start, no_horizon, true);
    through.run();
    if (through.arrived()) last = std::move(through);
  }
  Moves moves = result_of(last);
  // With interruptions, a placement in use is still free only in the next wave; no other bound
  // holds.
  if (!last.stopped().empty()) bound = std::min(bound, 2);
  moves.waves_bound = std::min<std::int64_t>(bound, static_cast<std::int64_t>(moves.waves.size()));
  for (std::size_t i = 0; i < start.items().size(); ++i)
    if (last.state().open(i) && start.items()[i].workload != none)
      moves.disruptive.push_back({start.items()[i].workload, last.state().why_stuck(i)});
  return moves;
}

}  // namespace

Moves plan_moves(const PlanProblem& problem, const Target& target, const MoveOptions& options) {
  const MoveState start(problem, target);
  int bound = least_waves(problem, start);
  Journey best(start, no_horizon, false);
  best.run();
  if (best.arrived()) {
    constexpr int attempts = 6;
    for (int waves = bound; waves < std::min(best.waves(), bound + attempts); ++waves) {
      Journey shorter(start, waves, false);
      shorter.run();
      if (!shorter.arrived()) continue;
      best = std::move(shorter);
      break;
    }
    if (bound == 0) bound = best.waves();  // only idle instances to destroy
    if (best.waves() == bound) {
      Moves moves = result_of(best);
      moves.waves_bound = bound;
      return moves;
    }
  }
  // Small problems are searched for something shorter, or for any order at all.
  constexpr int longest = 12;
  MoveSearch search = search_moves(problem, target, best.arrived() ? best.waves() - 1 : longest);
  bound = std::max(bound, search.bound);
  if (!search.found && !best.arrived())
    return disturbing(start, best, options.allow_disruptive, bound);
  Moves moves = search.found ? std::move(search.moves) : result_of(best);
  moves.waves_bound = bound;
  return moves;
}

}  // namespace cleave
