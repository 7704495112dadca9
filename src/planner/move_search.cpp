#include "planner/move_search.hpp"

#include <algorithm>

namespace cleave {

namespace {

constexpr std::size_t largest_items = 16, largest_fleet = 16;
constexpr std::size_t most_tried = 20'000;

class Search {
 public:
  explicit Search(std::size_t gpus) : gpus_(gpus) {}

  void wave(const MoveState& state, int left) {
    if (!state.any_open()) return keep(state);
    if (left == 0 || over()) return;
    MoveState next = state;
    next.begin_wave();
    for (std::size_t i = 0; i < next.items().size(); ++i)
      if (next.open(i) && !next.items()[i].to) next.leave(i);
    choose(next, 0, left);
  }

  MoveSearch result;
  [[nodiscard]] bool complete() const { return tried_ <= most_tried; }

 private:
  bool over() { return ++tried_ > most_tried || (best_ && *best_ == 0); }

  /// What each item does in this wave, one item after the other.
  void choose(const MoveState& state, std::size_t item, int left) {
    if (over()) return;
    if (item == state.items().size()) {
      MoveState next = state;
      if (next.end_wave()) wave(next, left - 1);
      return;
    }
    if (!state.open(item) || state.moved(item)) return choose(state, item + 1, left);
    const std::size_t temporaries = state.temporaries();
    if (best_ && temporaries >= *best_) return;
    MoveState gone = state;
    const bool can = gone.go(item);
    if (can) choose(gone, item + 1, left);
    if (left == 1) return;
    choose(state, item + 1, left);
    if (!state.may_step_aside(item)) return;
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu)
      for (const PlacementId id : state.places(item, static_cast<GpuId>(gpu), left == 2)) {
        MoveState aside = state;
        if (aside.go_aside(item, {static_cast<GpuId>(gpu), id})) choose(aside, item + 1, left);
        if (over()) return;
      }
  }

  void keep(const MoveState& state) {
    if (best_ && state.temporaries() >= *best_) return;
    MoveState done = state;
    done.tidy();
    best_ = done.temporaries();
    result.found = true;
    result.moves.waves = done.waves();
    result.moves.temporary = done.temporaries();
    result.moves.reached = done.reached();
  }

  std::size_t gpus_, tried_ = 0;
  std::optional<std::size_t> best_;
};

}  // namespace

MoveSearch search_moves(const MoveState& start, int waves) {
  const std::size_t gpus = start.gpus();
  if (start.items().size() > largest_items || gpus > largest_fleet) return {};
  Search search(gpus);
  search.wave(start, waves);
  search.result.complete = search.complete();
  return search.result;
}

}  // namespace cleave
