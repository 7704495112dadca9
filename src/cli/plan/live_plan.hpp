#pragma once
// Plans for the jobs that a daemon runs: the fleet is asked of it, and what is found can be handed
// to it.

#include <string>
#include <vector>

#include "api/plan_documents.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "planner/planner.hpp"

namespace cleave::cli {

/// How the daemon stands: its fleet, and what is known of each job on it.
struct LiveState {
  FleetFile file;
  std::string text;  // of the fleet file
  ApiFleet fleet;
};
[[nodiscard]] Result<LiveState> ask_fleet(const DaemonOptions& options);

/// What carries the plan out. Fails where it stops jobs, or starts some itself.
[[nodiscard]] Result<PlanOrder> order_of(const PlanProblem& problem, const Plan& plan,
                                         const LiveState& state, const std::string& kind);

/// Why a plan without moves is not kept in this file.
[[nodiscard]] std::string not_written(const std::string& file);

/// Who moves, how, what is interrupted, what becomes free and how long it may take.
[[nodiscard]] std::string order_for_people(const PlanProblem& problem, const Plan& plan,
                                           const PlanOrder& order, const LiveState& state,
                                           const std::string& file);

}  // namespace cleave::cli
