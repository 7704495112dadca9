#pragma once
// What a picture of a plan shows, before anything has a size: which GPUs change, the boxes on each
// before and after, and the trips between them. All pages draw from this.

#include <optional>
#include <string>
#include <vector>

#include "planner/moves/moves.hpp"
#include "planner/planner.hpp"

namespace cleave {

/// One wave's part of a trip: the workload is at `seat` after it. Waves count from 1; 0: no wave
/// does it.
struct Hop {
  std::size_t wave = 0;
  Seat seat;
};

/// What becomes of one workload that does not simply stay.
struct Trip {
  WorkloadIndex workload = none;
  std::optional<Seat> from;  // empty: new work
  /// The last hop is where it ends, those before are temporary. Empty: it is stopped.
  std::vector<Hop> hops;
  std::size_t stop_wave = 0;  // if it is stopped
  std::size_t colour = 0;     // if it moves: its colour, counted from 0

  [[nodiscard]] bool is_new() const { return !from; }
  [[nodiscard]] bool is_stopped() const { return hops.empty(); }
  [[nodiscard]] bool moves() const { return from && !hops.empty(); }
  /// The wave in which it first does anything.
  [[nodiscard]] std::size_t first_wave() const {
    return hops.empty() ? stop_wave : hops.front().wave;
  }
};

/// What happens to the instance of a box.
enum class BoxKind { stays, moves, starts, stops, idle, locked };

/// One instance on a GPU, before or after.
struct PictureBox {
  PlacementId placement = 0;
  BoxKind kind = BoxKind::stays;
  WorkloadIndex workload = none;  // except in idle instances and walls
  std::uint32_t trip = none;      // index into PlanPicture::trips, if it moves, starts or stops
  Waste waste;                    // of work and walls
};

/// One GPU that changes.
struct PictureGpu {
  GpuId gpu{};
  std::vector<PictureBox> before, after;         // by start
  std::vector<std::uint32_t> visitors;           // trips that stop here on their way
  bool used_before = false, used_after = false;  // holds work or a wall
};

/// All GPUs that change, and all trips.
struct PlanPicture {
  /// By first wave, then in the order of the workloads; a trip's number is its index + 1.
  std::vector<Trip> trips;
  std::vector<PictureGpu> gpus;  // those that change, in the fleet's order
  std::size_t unchanged = 0;
  std::int64_t used_before = 0, used_after = 0;  // GPUs that hold work or a wall
  bool short_of_goal = false;                    // whether the waves end before the plan's goal
};

/// If the moves do not say where they end, the plan's goal is the end.
PlanPicture picture_of(const PlanProblem& problem, const Plan& plan, const Moves& moves);

/// What the plan achieves, in one line: "compact: 3 GPUs in use now, 2 after; ..."
std::string headline(const PlanProblem& problem, const Plan& plan, const Moves& moves,
                     const PlanPicture& picture);

/// "speech: 2g.20gb, from n0/1 at 4 to n0/2 at 2 in wave 1"
std::string told(const PlanProblem& problem, const Trip& trip);

}  // namespace cleave
