#pragma once
// What a picture of a plan shows, before anything has a size: which GPUs change, the boxes on each
// before and after, and the trips between them. Every page that draws a plan reads this.

#include <optional>
#include <string>
#include <vector>

#include "planner/moves/moves.hpp"
#include "planner/planner.hpp"

namespace cleave {

/// One wave's part of a trip: the workload is at `seat` after it. Waves count from 1; 0: no wave
/// has it.
struct Hop {
  std::size_t wave = 0;
  Seat seat;
};

/// What becomes of one workload that does not just stay.
struct Trip {
  WorkloadIndex workload = none;
  std::optional<Seat> from;  // empty: new work
  std::vector<Hop>
      hops;  // the last is where it ends; those before are temporary; empty: it is stopped
  std::size_t stop_wave = 0;  // of one that is stopped
  std::size_t colour = 0;     // of one that moves: which, counted from 0

  [[nodiscard]] bool is_new() const { return !from; }
  [[nodiscard]] bool is_stopped() const { return hops.empty(); }
  [[nodiscard]] bool moves() const { return from && !hops.empty(); }
  /// In which it first does anything.
  [[nodiscard]] std::size_t first_wave() const {
    return hops.empty() ? stop_wave : hops.front().wave;
  }
};

enum class BoxKind { stays, moves, starts, stops, idle, locked };

struct PictureBox {
  PlacementId placement = 0;
  BoxKind kind = BoxKind::stays;
  WorkloadIndex workload = none;  // of all but idle instances and walls
  std::uint32_t trip = none;      // index into PlanPicture::trips, of what moves, starts or stops
  Waste waste;                    // by work and walls
};

struct PictureGpu {
  GpuId gpu{};
  std::vector<PictureBox> before, after;         // by start
  std::vector<std::uint32_t> visitors;           // trips that stop here on their way
  bool used_before = false, used_after = false;  // holds work or a wall
};

struct PlanPicture {
  std::vector<Trip>
      trips;  // by first wave, then as the workloads are; a trip's number is its place + 1
  std::vector<PictureGpu> gpus;  // those that change, in the fleet's order
  std::size_t unchanged = 0;
  std::int64_t used_before = 0, used_after = 0;  // GPUs that hold work or a wall
  bool short_of_goal = false;                    // whether the waves end before the plan's goal
};

/// Where the moves say nothing of where they end, the plan's goal is the end.
PlanPicture picture_of(const PlanProblem& problem, const Plan& plan, const Moves& moves);

/// What the plan achieves, in one line: "compact: 3 GPUs in use now, 2 after; ..."
std::string headline(const PlanProblem& problem, const Plan& plan, const Moves& moves,
                     const PlanPicture& picture);

/// "speech: 2g.20gb, from n0/1 at 4 to n0/2 at 2 in wave 1"
std::string told(const PlanProblem& problem, const Trip& trip);

}  // namespace cleave
