#pragma once
// The runs of an arena: every contestant in every cell that it can run in, with every seed, in
// several threads.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulate/lower_bounds.hpp"
#include "simulate/simulator.hpp"
#include "study/arena/arena_cell.hpp"
#include "study/arena/arena_contestants.hpp"

namespace cleave {

/// A cell with its files read.
struct OpenArenaCell {
  ArenaCell cell;
  FleetFile fleet;
  std::vector<Workload> workloads;  // by seed
  SimulationOptions options;
  std::vector<std::string> inputs;  // by seed: all that decides a run, but for the scheduler
};
[[nodiscard]] Result<OpenArenaCell> open_arena_cell(const ArenaCell& cell);

/// What one run came to.
struct ArenaRun {
  bool finished = false;  // all jobs did
  double turnaround_s = 0, p95_slowdown = 0, makespan_s = 0, disruptions = 0, longest_wait_s = 0;
  double wait_s = 0, execution_s = 0;       // the two parts of turnaround_s
  double plans = 0, moves = 0, served = 0;  // of compactions; not kept
  bool shares = false;                      // jobs shared instances, so that other bounds hold
  double seconds = 0;                       // that it took to simulate
  std::optional<Error> why;                 // it did not run

  /// All but how long it took.
  [[nodiscard]] bool same_as(const ArenaRun& other) const;
};

/// Simulates one.
[[nodiscard]] ArenaRun run_in_arena(const OpenArenaCell& cell, std::size_t seed,
                                    const ArenaContestant& contestant);

/// The results of everything.
struct ArenaResults {
  /// Those of a cell.
  struct Of {
    ArenaCell cell;
    std::vector<LowerBounds> bounds;          // by seed
    std::vector<std::vector<ArenaRun>> runs;  // by contestant and seed
  };
  std::vector<ArenaContestant> contestants;
  std::vector<Of> cells;
  std::size_t kept = 0;             // runs that were not repeated
  std::size_t kept_of_another = 0;  // of these, made by another program
};

/// Hears how many of how many runs are done; from any thread, one at a time.
using ArenaProgress = std::function<void(std::size_t done, std::size_t all)>;

class KeptRuns;
/// How the runs are made.
struct ArenaRunOptions {
  std::size_t most_threads = 1;  // the answer does not depend on it, except for the seconds
  KeptRuns* kept = nullptr;      // may be null
  bool own_runs_only = false;    // what another program kept does not count
  ArenaProgress progress = {};   // may be empty
};
[[nodiscard]] ArenaResults run_arena(const std::vector<OpenArenaCell>& cells,
                                     const std::vector<ArenaContestant>& contestants,
                                     const ArenaRunOptions& options);

}  // namespace cleave
