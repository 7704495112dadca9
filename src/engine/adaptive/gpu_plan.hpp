#pragma once
// The best use of one GPU by the jobs that run on it and a few that wait: a layout around what must
// stay, and which job gets which instance of it, so that what they get done in the time to come is
// worth most. A job that is stopped, moved or restored does nothing meanwhile, which is its price.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/adaptive/assignment.hpp"
#include "graph/state_graph.hpp"

namespace cleave {

/// Seconds to destroy an instance and to make another.
inline constexpr double change_s = 1;

/// What it is worth that a job gets something done: its weight, and how much it has to do, which
/// is worth less the later it comes.
struct WorkWorth {
  double weight = 1, rest_s = 1;
  /// To run at this speed for so long.
  [[nodiscard]] double of(double speed, double seconds) const;
};

/// A job that may have an instance of the GPU.
struct PlanJob {
  WorkWorth worth;
  std::span<const double> speed;  // by profile; of the fastest anywhere
  PlacementSet allowed;
  std::optional<PlacementId> at;  // where it runs on this GPU now
  bool may_stop = false;          // it can be saved, and go on elsewhere; of one that runs
  bool moves_live = false;        // a replica can take over on what is free now
  bool may_wait = false;          // it can be left out, of one that runs
  double checkpoint_s = 0;        // to save and to restore it
  double restore_s = 0;           // before it goes on, of one that waits and was saved
};

/// What is asked about one GPU.
struct PlanQuestion {
  PlacementSet fixed;            // stays as it is
  PlacementSet held;             // where jobs run now, `fixed` included
  double horizon_s = 0;          // the time that is looked ahead
  double disturbance = 0;        // what it must gain besides that a job is stopped or moved
  std::span<const double> rent;  // by placement: what holding it for that time costs others
};

/// The answer.
struct GpuPlan {
  std::vector<std::optional<PlacementId>> places;  // by job
  double worth = 0;
};

/// The best plans for GPUs of one model.
class GpuPlanner {
 public:
  explicit GpuPlanner(std::shared_ptr<const StateGraph> graph) : graph_(std::move(graph)) {}

  /// What is worth most. Jobs that may neither stop nor move are not among these, but in `fixed`.
  [[nodiscard]] GpuPlan best(const PlanQuestion& question, std::span<const PlanJob> jobs);
  /// What it is worth to leave everything as it is.
  [[nodiscard]] double present(const PlanQuestion& question, std::span<const PlanJob> jobs) const;
  /// What the job is worth in that place; below 0 where it cannot be there.
  [[nodiscard]] double worth(const PlanQuestion& question, const PlanJob& job,
                             PlacementId place) const;
  /// What it costs to stop a job that runs, for the time being; 0 for one that waits.
  [[nodiscard]] static double left_out(const PlanQuestion& question, const PlanJob& job);

  /// Layouts with these instances that leave no room for another one; the others of each.
  [[nodiscard]] const std::vector<PlacementSet>& layouts_around(PlacementSet fixed);

  [[nodiscard]] const Geometry& geometry() const { return graph_->geometry(); }

 private:
  [[nodiscard]] bool leaves_out_what_must_run(std::span<const PlanJob> jobs) const;
  [[nodiscard]] bool is_free(const PlanQuestion& question, PlacementId place) const;
  [[nodiscard]] double speed_in(const PlanJob& job, PlacementId place) const;

  std::shared_ptr<const StateGraph> graph_;
  std::map<std::uint32_t, std::vector<PlacementSet>> layouts_;
  Assignment assignment_;
  WorthTable table_;
};

}  // namespace cleave
