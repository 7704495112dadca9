#pragma once
// A fleet on its way from one layout to another: where everything is after the waves so far, which
// instances exist, and what a wave may do. The rules of moves.hpp are enforced here and only here.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/moves/moves.hpp"

namespace cleave {

/// Something that has to be elsewhere in the end: a workload, or an idle instance to be made.
struct MoveItem {
  WorkloadIndex workload = none;  // none: an idle instance
  std::optional<Seat> at;         // where it is; empty: nowhere yet, or stopped
  std::optional<Seat> to;         // where it has to be; empty: it ends
};

/// One state of the fleet, with the operations that change it wave by wave.
class MoveState {
 public:
  /// `everybody`: work that is already at its goal may step aside too, and come back.
  MoveState(const PlanProblem& problem, const Target& target, bool everybody = false);

  [[nodiscard]] const std::vector<MoveItem>& items() const { return items_; }
  /// Whether the item is not yet at its goal.
  [[nodiscard]] bool open(std::size_t item) const { return items_[item].at != items_[item].to; }
  [[nodiscard]] std::size_t gpus() const { return held_.size(); }
  [[nodiscard]] bool any_open() const { return open_ > 0; }
  /// Items that now hold slices of this item's goal, itself included.
  [[nodiscard]] std::vector<std::size_t> blockers(std::size_t item) const;
  [[nodiscard]] std::uint32_t group(std::size_t item) const;
  /// Memory slices it holds, and those of its smallest possible instance.
  [[nodiscard]] int size(std::size_t item) const;
  [[nodiscard]] int least_size(std::size_t item) const;
  [[nodiscard]] std::int64_t moved_mib(std::size_t item) const;
  [[nodiscard]] bool may_step_aside(std::size_t item) const;
  /// For the exhaustive search, which cannot go round in circles.
  void step_aside_as_often_as_it_takes() { temporaries_of_.assign(items_.size(), -(1 << 20)); }
  void forbid_stepping_aside(std::size_t item) { temporaries_of_[item] = 1 << 20; }
  /// Memory slices that no item has now or needs in the end.
  [[nodiscard]] std::int64_t free_now_and_then() const;
  /// Placements at which the item could stand beside everything that was there when the wave began
  /// or came in it. `avoid_targets`: without placements that items on their way need in the end.
  [[nodiscard]] PlacementSet places(std::size_t item, GpuId gpu, bool avoid_targets) const;

  // One wave.
  void begin_wave();
  /// Whether its group allows one more in motion in this wave.
  [[nodiscard]] bool group_may_move(std::size_t item) const;
  bool go(std::size_t item);                   // to its goal, if that is free
  bool go_to(std::size_t item, Seat seat);     // to this placement, if that is free
  bool step_aside(std::size_t item);           // to a temporary placement, if there is one
  bool go_aside(std::size_t item, Seat seat);  // to this temporary placement
  /// It ends, or is interrupted; its placement is free in the next wave.
  void stop(std::size_t item);
  [[nodiscard]] bool moved(std::size_t item) const { return moved_[item]; }
  /// Writes the wave down. False if nothing happened in it.
  bool end_wave();
  /// Destroys idle instances that do not belong to the goal, with the last wave.
  void tidy();

  [[nodiscard]] const std::vector<Wave>& waves() const { return waves_; }
  [[nodiscard]] std::size_t temporaries() const { return temporaries_; }
  /// Whether it is neither where it began nor at its goal.
  [[nodiscard]] bool aside(std::size_t item) const {
    return open(item) && items_[item].workload != none && items_[item].at &&
           items_[item].at != (*now_)[items_[item].workload];
  }
  [[nodiscard]] Target reached() const;
  [[nodiscard]] std::string why_stuck(std::size_t item) const;

 private:
  /// What one item did in the current wave.
  struct Change {
    std::size_t item;
    std::optional<Seat> from, to;
    bool stopped;
  };
  void add_items(const Target& target, bool everybody);
  void add_item(MoveItem item);
  void leave_idle(Seat seat);
  [[nodiscard]] bool interrupted(std::size_t item) const;
  [[nodiscard]] const StateGraph& graph(GpuId gpu) const { return problem_->graph(gpu); }
  void record(std::size_t item, std::optional<Seat> to, bool stopped);
  void make_room(Seat seat, Wave& wave);
  void set_place(std::size_t item, std::optional<Seat> to);
  [[nodiscard]] bool wanted_later(Seat seat) const;

  const PlanProblem* problem_;
  std::shared_ptr<const Target> target_;
  std::vector<MoveItem> items_;
  std::vector<WorkloadIndex> of_workload_;
  std::vector<std::vector<std::size_t>> here_;    // items that hold an instance of each GPU now
  std::vector<std::vector<std::size_t>> coming_;  // items whose goal is on each GPU
  std::vector<PlacementSet> held_;                // walls and work, of each GPU
  std::vector<PlacementSet> idle_;                // instances of ours without work
  std::vector<StateId> taken_;                    // in this wave: held when it began, and what came
  std::vector<Change> changes_;
  std::vector<bool> moved_;
  std::vector<int> temporaries_of_;
  std::vector<int> group_moving_;
  std::size_t open_ = 0, temporaries_ = 0;
  std::size_t next_room_ = 0;
  std::vector<Wave> waves_;
  std::shared_ptr<const Goal> now_;
};

/// What a search for the fewest waves found.
struct MoveSearch {
  /// True: `moves` is a shortest way, with the fewest temporary placements among those.
  bool found = false;
  int bound = 0;  // no order has fewer waves
  Moves moves;
};

/// Looks for the fewest waves by trying everything, wave by wave; for small problems. Considers at
/// most `longest` waves. Gives up if there is too much to try, and returns what is known by then.
MoveSearch search_moves(const PlanProblem& problem, const Target& target, int longest);

}  // namespace cleave
