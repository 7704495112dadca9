#pragma once
// A second simulator, slow and plain: it knows only the definitions of docs/simulated-world.md and
// goes through time in small steps. It takes no decisions: which job is put where, and when, it
// reads from the events of the simulator under test. How fast jobs then are, when they end and what
// they draw it finds by itself; it shares no code of physics/ or simulate/ but the tables of GPUs.

#include <optional>
#include <vector>

#include "model/fleet_file.hpp"
#include "model/job.hpp"
#include "simulate/run_observer.hpp"
#include "simulate/simulator.hpp"

namespace cleave {

/// Keeps the events of a run.
class EventList final : public RunObserver {
 public:
  void on(const RunEvent& event) override { events.push_back(event); }
  std::vector<RunEvent> events;
};

/// What the slow simulator finds.
struct SlowRun {
  std::vector<std::optional<double>> ends_s;  // by job, where all its work was done
  std::vector<double> joules;                 // by job
  double energy_j = 0, idle_j = 0;            // of the fleet until `until_s`
  double most_link = 0;                       // the highest mean use of a link
  /// Steps that a job made on a shared instance whose memory did not hold it, and jobs that ran out
  /// of memory though it did.
  std::size_t misjudged = 0;
  double most_over_cap_w = -1e9;  // the most that a GPU drew above its cap
};

/// Runs until `until_s` after the first arrival in steps of `step_s`.
SlowRun run_slowly(const FleetFile& fleet, const Workload& workload,
                   const SimulationOptions& options, const std::vector<RunEvent>& events,
                   double until_s, double step_s);

}  // namespace cleave
