// The fewest waves, by trying everything. A length that was searched without success is proven
// impossible.

#include <map>
#include <set>
#include <vector>

#include "planner/moves/move_state.hpp"

namespace cleave {

namespace {

constexpr std::size_t largest_problem = 16, largest_fleet = 16;
// On one GPU. With more GPUs each try takes longer and tells less.
constexpr std::size_t most_tried = 60'000;

/// Where every item is: two orders that lead to the same state have the same future.
using Key = std::vector<std::uint32_t>;

class Search {
 public:
  explicit Search(const MoveState& start)
      : gpus_(start.gpus()), most_(most_tried / (gpus_ * gpus_)) {
    layer_.emplace(key_of(start), start).first->second.step_aside_as_often_as_it_takes();
  }

  MoveSearch run(int longest) {
    for (int waves = 0; waves <= longest; ++waves) {
      for (const auto& [key, state] : layer_)
        if (!state.any_open()) keep(state);
      result_.bound = result_.found ? waves : waves + 1;
      if (result_.found || waves == longest || !expand()) break;
    }
    return std::move(result_);
  }

 private:
  static Key key_of(const MoveState& state) {
    Key key;
    for (const MoveItem& item : state.items())
      key.push_back(item.at
                        ? static_cast<std::uint32_t>(index(item.at->gpu)) << 8 | item.at->placement
                        : 0xffffffff);
    return key;
  }

  [[nodiscard]] bool too_much() const { return tried_ > most_; }

  /// All states one wave later. False if that was too much, or nothing new came.
  bool expand() {
    next_.clear();
    for (const auto& [key, state] : layer_) {
      MoveState wave = state;
      wave.begin_wave();
      for (std::size_t i = 0; i < wave.items().size(); ++i)
        if (wave.open(i) && !wave.items()[i].to) wave.stop(i);
      choose(wave, 0);
      if (too_much()) return false;
    }
    for (const auto& [key, state] : layer_) seen_.insert(key);
    layer_ = std::move(next_);
    return !layer_.empty();
  }

  /// What each item does in this wave, one item after the other.
  void choose(const MoveState& state, std::size_t item) {
    if (++tried_ > most_) return;
    if (item == state.items().size()) {
      MoveState after = state;
      if (after.end_wave()) offer(std::move(after));
      return;
    }
    choose(state, item + 1);
    if (state.moved(item)) return;
    if (state.open(item)) {
      MoveState gone = state;
      if (gone.go(item)) choose(gone, item + 1);
    }
    if (!state.may_step_aside(item)) return;
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu)
      for (const PlacementId id : state.places(item, static_cast<GpuId>(gpu), false)) {
        const Seat seat{static_cast<GpuId>(gpu), id};
        if (state.items()[item].to == seat || too_much()) continue;
        MoveState aside = state;
        if (aside.go_aside(item, seat)) choose(aside, item + 1);
      }
  }

  void offer(MoveState state) {
    Key key = key_of(state);
    if (seen_.contains(key)) return;
    const auto found = next_.find(key);
    if (found == next_.end()) {
      next_.emplace(std::move(key), std::move(state));
    } else if (state.temporaries() < found->second.temporaries()) {
      found->second = std::move(state);
    }
  }

  void keep(const MoveState& state) {
    if (result_.found && state.temporaries() >= result_.moves.temporary) return;
    MoveState done = state;
    done.tidy();
    result_.found = true;
    result_.moves.waves = done.waves();
    result_.moves.temporary = done.temporaries();
    result_.moves.reached = done.reached();
  }

  std::size_t gpus_, most_, tried_ = 0;
  std::map<Key, MoveState> layer_, next_;
  std::set<Key> seen_;
  MoveSearch result_;
};

}  // namespace

MoveSearch search_moves(const PlanProblem& problem, const Target& target, int longest) {
  if (problem.gpus.size() > largest_fleet) return {};
  const MoveState everybody(problem, target, true), those_who_move(problem, target);
  if (everybody.items().size() <= largest_problem) return Search(everybody).run(longest);
  if (those_who_move.items().size() > largest_problem) return {};
  // Other work might step aside for them: a result is an order of moves, but no result proves
  // nothing.
  MoveSearch search = Search(those_who_move).run(longest);
  search.bound = 0;
  return search;
}

}  // namespace cleave
