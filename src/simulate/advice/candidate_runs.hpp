#pragma once
// Candidates on draws of a workload, in several threads.

#include <memory>
#include <span>
#include <vector>

#include "simulate/advice/advise.hpp"

namespace cleave {

/// What is run at one level.
struct LevelRuns {
  const FleetFile* fleet;
  std::vector<FurnishedCandidate> candidates;
  std::span<const Workload> draws;
  std::span<const std::uint64_t> seeds;  // by draw
  const SimulationOptions* simulation;
};

/// By candidate. Times are over the jobs that all finish that are not left out in that draw. A
/// candidate is left out where it cannot do with what is known or allowed, and where it finishes
/// fewer jobs than another in any draw: whoever turns the long jobs away looks quick.
[[nodiscard]] Result<std::vector<CandidateRuns>> run_candidates(const LevelRuns& level,
                                                                std::size_t most_threads,
                                                                const ProgressOfRun& progress);

}  // namespace cleave
