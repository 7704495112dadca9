// A goal that can be reached without interrupting any work, by repeated planning.

#include "planner/objective.hpp"
#include "planner/optimal.hpp"

namespace cleave {

namespace {

constexpr int most_rounds = 12;
constexpr std::chrono::seconds each_round{10};

class Choice {
 public:
  Choice(const PlanProblem& problem, const std::optional<PlanWeights>& weights)
      : problem_(problem), weights_(weights) {}

  /// Keeps the goal if it is allowed, can be reached undisturbed and is better than the best so
  /// far.
  void offer(const Goal& goal) {
    if (!flaw(problem_, goal).empty()) return;
    std::vector<std::int64_t> values = objective_values(problem_, goal);
    if (weights_) values = {weighted_sum(problem_, *weights_, values)};
    if (found_ && values >= values_) return;
    Moves moves = plan_moves(problem_, target_of(problem_, goal), {});
    if (!moves.disruptive.empty()) return;
    best = {goal, std::move(moves)};
    values_ = std::move(values);
    found_ = true;
  }

  Undisturbed best;
  [[nodiscard]] bool found() const { return found_; }

 private:
  const PlanProblem& problem_;
  const std::optional<PlanWeights>& weights_;
  std::vector<std::int64_t> values_;
  bool found_ = false;
};

/// Only work that may stay where it is can be told to.
bool may_stay(const PlanProblem& problem, WorkloadIndex workload) {
  const PlanWorkload& work = problem.workloads[workload];
  return work.now && problem.allows(workload, work.now->gpu);
}

}  // namespace

std::optional<Undisturbed> undisturbing(const PlanProblem& problem,
                                        const std::optional<PlanWeights>& weights, const Goal& best,
                                        const Moves& moves) {
  Choice choice(problem, weights);
  choice.offer(goal_of_now(problem));
  choice.offer(moves.reached.goal);
  PlanProblem calmer = problem;
  Moves last = moves;
  Goal goal = best;
  for (int round = 0; round < most_rounds && !last.disruptive.empty(); ++round) {
    bool changed = false;
    for (const Disruption& one : last.disruptive) {
      PlanWorkload& work = calmer.workloads[one.workload];
      if (work.stays || !may_stay(calmer, one.workload)) continue;
      work.stays = changed = true;
    }
    if (!changed) break;
    const Optimum next =
        find_optimum(calmer, weights, std::chrono::steady_clock::now() + each_round);
    if (!next.goal) break;
    goal = *next.goal;
    choice.offer(goal);
    last = plan_moves(problem, target_of(problem, goal), {});
    choice.offer(last.reached.goal);
  }
  if (!choice.found()) return std::nullopt;
  return choice.best;
}

}  // namespace cleave
