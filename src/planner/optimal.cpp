#include "planner/optimal.hpp"

#include <algorithm>
#include <cassert>

#include "base/format.hpp"
#include "planner/closed_form.hpp"
#include "planner/count_model.hpp"
#include "planner/deal.hpp"
#include "planner/heuristic.hpp"
#include "planner/objective.hpp"

namespace cleave {

namespace {

constexpr std::string_view by_relaxation = "linear relaxation of the pattern programme, rounded up";
constexpr std::string_view by_search = "branch and bound over the pattern programme";

/// The objectives that do not depend on what runs where now, and so can be settled with all of it in one
/// pool.
std::size_t settled_by_pool(const PlanProblem& problem) {
  const bool movable =
      std::ranges::any_of(problem.workloads, [](const PlanWorkload& w) { return w.now && !w.stays; });
  if (!movable || problem.limits.migrations || problem.limits.moved_mib) return 0;
  return problem.kind == ProblemKind::reconfigure ? 4 : 3;
}

class Stages {
 public:
  Stages(const PlanProblem& problem, const std::optional<PlanWeights>& weights, Deadline deadline)
      : problem_(problem), weights_(weights), deadline_(deadline) {
    order_.limits = problem.limits.migrations || problem.limits.moved_mib;
    if (weights)
      order_.weights =
          problem.kind == ProblemKind::reconfigure
              ? std::array{weights->waste, weights->repartition, weights->migration, std::int64_t{0}}
              : std::array{weights->waste, std::int64_t{0}, weights->migration, weights->repartition};
  }

  Optimum run() {
    if (!weights_) formula_ = closed_form(problem_);
    if (formula_) known_ = {0, formula_->gpus};
    const std::size_t pooled = weights_ ? 0 : settled_by_pool(problem_);
    if (pooled > 0 && !settle_pool(pooled)) return std::move(result_);
    Fineness fineness;
    if (solve(fineness)) return std::move(result_);
    fineness.individual = true;
    solve(fineness);
    return std::move(result_);
  }

 private:
  /// The first objectives, with everything that may move in one pool.
  bool settle_pool(std::size_t objectives) {
    const ModelPlan plan{{false, false}, order_, objectives, std::nullopt};
    Grouping grouping = group_gpus(problem_, plan.fineness);
    const PatternMaker maker(problem_, grouping, order_);
    CountModel model = build_model(problem_, maker, grouping, plan);
    const MipOutcome outcome = minimise(model.mip, known_for(model), deadline_);
    if (outcome.end == MipEnd::infeasible) {
      result_.infeasible = true;
      return false;
    }
    note(outcome, model);
    if (outcome.end == MipEnd::proven)
      for (std::size_t o = known_.size(); o < objectives; ++o)
        known_.push_back(outcome.values[o] + model.constants[o]);
    return true;
  }

  /// What is known of the objectives, as the programme counts them.
  [[nodiscard]] std::vector<std::int64_t> known_for(const CountModel& model) const {
    std::vector<std::int64_t> known = known_;
    for (std::size_t o = 0; o < known.size(); ++o) known[o] -= model.constants[o];
    return known;
  }

  /// Bounds of a programme become bounds of the problem.
  void note(const MipOutcome& outcome, const CountModel& model) {
    for (std::size_t o = 0; o < outcome.bounds.size(); ++o) {
      const std::int64_t bound = outcome.bounds[o] + model.constants[o];
      std::string proof(outcome.by_relaxation[o] ? by_relaxation : by_search);
      if (formula_ && o < 2) proof = formula_->proof;
      if (o == result_.bounds.size()) {
        result_.bounds.push_back(bound);
        result_.proofs.push_back(proof);
      } else if (bound > result_.bounds[o]) {
        result_.bounds[o] = bound;
        result_.proofs[o] = proof;
      }
    }
  }

  /// False when the counts were solved but could not be dealt out.
  bool solve(Fineness fineness) {
    const ModelPlan plan{fineness, order_, 5, weights_};
    Grouping grouping = group_gpus(problem_, fineness);
    const PatternMaker maker(problem_, grouping, order_);
    CountModel model = build_model(problem_, maker, grouping, plan);
    const MipOutcome outcome = minimise(model.mip, known_for(model), deadline_);
    if (outcome.end == MipEnd::infeasible) {
      result_.infeasible = true;
      return true;
    }
    note(outcome, model);
    if (outcome.solution.empty()) return fineness.individual;
    result_.goal = deal(problem_, maker, model, outcome.solution, order_.limits);
    return result_.goal.has_value();
  }

  const PlanProblem& problem_;
  const std::optional<PlanWeights>& weights_;
  Deadline deadline_;
  PatternOrder order_;
  std::optional<ClosedForm> formula_;
  std::vector<std::int64_t> known_;
  Optimum result_;
};

}  // namespace

std::optional<Goal> best_known(const PlanProblem& problem, const std::optional<PlanWeights>& weights) {
  std::vector<Goal> goals = {goal_of_now(problem)};
  for (const Heuristic& heuristic : heuristics()) {
    if (problem.kind == ProblemKind::deploy || problem.kind == ProblemKind::joint)
      goals.push_back(heuristic.deploy(problem).goal);
    if (problem.kind == ProblemKind::compact) goals.push_back(heuristic.compact(problem).goal);
    if (problem.kind == ProblemKind::reconfigure) goals.push_back(heuristic.reconfigure(problem).goal);
  }
  std::optional<Goal> best;
  std::vector<std::int64_t> least;
  for (Goal& goal : goals) {
    if (!flaw(problem, goal).empty()) continue;
    std::vector<std::int64_t> values = objective_values(problem, goal);
    if (weights) values = {weighted_sum(problem, *weights, values)};
    if (best && values >= least) continue;
    best = std::move(goal);
    least = std::move(values);
  }
  return best;
}

std::int64_t weighted_sum(const PlanProblem& problem, const PlanWeights& weights,
                          const std::vector<std::int64_t>& values) {
  const bool anew = problem.kind == ProblemKind::reconfigure;
  return weights.pending * values[0] + weights.gpus * values[1] + weights.waste * values[2] +
         weights.migration * values[anew ? 4 : 3] + weights.repartition * values[anew ? 3 : 4];
}

Optimum find_optimum(const PlanProblem& problem, const std::optional<PlanWeights>& weights,
                     Deadline deadline) {
  return Stages(problem, weights, deadline).run();
}

}  // namespace cleave
