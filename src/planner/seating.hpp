#pragma once
// A fleet while a plan for it is built: which seats are taken, and where a workload may still go.
// The heuristics and the last step of the exact method build their goals with this.

#include <map>
#include <vector>

#include "planner/problem.hpp"

namespace cleave {

/// A partial goal with the state that it puts every GPU into.
class Seating {
 public:
  /// Only what must stay is seated: walls, and workloads that stay.
  static Seating of_what_stays(const PlanProblem& problem);
  /// Everything that runs is where it is now.
  static Seating of_now(const PlanProblem& problem);

  [[nodiscard]] const PlanProblem& problem() const { return *problem_; }
  [[nodiscard]] const Goal& goal() const { return goal_; }
  /// Instances that are taken: walls and seated work. Idle instances give way.
  [[nodiscard]] StateId occupied(GpuId gpu) const { return occupied_[index(gpu)]; }

  /// Whether no rule or group of the problem keeps the workload off this GPU.
  [[nodiscard]] bool allowed(WorkloadIndex workload, GpuId gpu) const;
  /// Free placements on this GPU that satisfy the workload; empty if it is not allowed there.
  [[nodiscard]] PlacementSet places(WorkloadIndex workload, GpuId gpu) const;

  /// The workload must have no seat, and the seat must be one of `places`.
  void seat(WorkloadIndex workload, Seat where);
  void unseat(WorkloadIndex workload);

 private:
  explicit Seating(const PlanProblem& problem);
  [[nodiscard]] std::uint64_t place_of(std::uint32_t group, GpuId gpu) const;

  const PlanProblem* problem_;
  Goal goal_;
  std::vector<StateId> occupied_;
  std::map<std::uint64_t, int> members_;  // of a group in a domain
};

}  // namespace cleave
