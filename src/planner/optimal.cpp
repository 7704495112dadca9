#include "planner/optimal.hpp"

#include <algorithm>

#include "planner/count_model.hpp"
#include "planner/heuristic.hpp"
#include "planner/objective.hpp"

namespace cleave {

namespace {

/// The objectives that do not depend on where work runs now, and so can be settled with all of it
/// in one pool.
std::size_t settled_by_pool(const PlanProblem& problem) {
  const bool movable = std::ranges::any_of(problem.workloads,
                                           [](const PlanWorkload& w) { return w.now && !w.stays; });
  if (!movable || problem.limits.migrations || problem.limits.moved_mib) return 0;
  return problem.kind == ProblemKind::reconfigure ? 4 : 3;
}

std::string proof_text(MipProof proof) {
  switch (proof) {
    case MipProof::relaxation:
      return "linear relaxation of the pattern programme, rounded up";
    case MipProof::search:
      return "branch and bound over the pattern programme";
    case MipProof::known:
    case MipProof::unknown:
      break;
  }
  return "";
}

class Stages {
 public:
  Stages(const PlanProblem& problem, const std::optional<PlanWeights>& weights, Deadline deadline)
      : problem_(problem), weights_(weights), deadline_(deadline) {
    order_.limits = problem.limits.migrations || problem.limits.moved_mib;
    if (weights)
      order_.weights = problem.kind == ProblemKind::reconfigure
                           ? std::array{weights->waste, weights->repartition, weights->migration,
                                        std::int64_t{0}}
                           : std::array{weights->waste, std::int64_t{0}, weights->migration,
                                        weights->repartition};
  }

  Optimum run() {
    if (!weights_) formula_ = closed_form(problem_);
    // Counted together, GPUs that take replicas of a group bound the optimum and mostly reach it.
    // Where they do not, each GPU is modelled by itself.
    const bool exact =
        std::ranges::none_of(problem_.groups, [](const PlanGroup& g) { return !g.over_nodes; });
    if (!run_with({true, false}, exact) && !exact && !late()) run_with({true, true}, true);
    const std::size_t objectives = weights_ ? 1 : 5;
    result_.bounds.resize(objectives, 0);
    result_.proofs.resize(objectives);
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool late() const { return std::chrono::steady_clock::now() >= deadline_; }

  /// True if nothing better can be found. `exact`: a goal has the values of the programme;
  /// otherwise they are bounds.
  bool run_with(Fineness fineness, bool exact) {
    known_.clear();
    if (formula_) known_ = {0, formula_->gpus};
    const std::size_t pooled = weights_ ? 0 : settled_by_pool(problem_);
    if (pooled > 0) {
      settle_pool({false, fineness.individual}, pooled);
      if (result_.infeasible || late()) return true;
    }
    return solve(fineness, exact);
  }

  /// The first objectives, with all movable work in one pool.
  void settle_pool(Fineness fineness, std::size_t objectives) {
    const ModelPlan plan{fineness, order_, objectives, std::nullopt};
    Grouping grouping = group_gpus(problem_, plan.fineness);
    const PatternMaker maker(problem_, grouping, order_);
    CountModel model = build_model(problem_, maker, grouping, plan);
    const MipOutcome outcome = minimise(model.mip, known_for(model), deadline_);
    if (outcome.end == MipEnd::infeasible) {
      // The pool has fewer constraints than the problem, and they cannot be satisfied.
      result_.infeasible = true;
      return;
    }
    note(outcome, model);
    if (outcome.end == MipEnd::proven)
      for (std::size_t o = known_.size(); o < objectives; ++o)
        known_.push_back(outcome.values[o] + model.constants[o]);
  }

  /// The known objectives, as the programme counts them.
  [[nodiscard]] std::vector<std::int64_t> known_for(const CountModel& model) const {
    std::vector<std::int64_t> known = known_;
    for (std::size_t o = 0; o < known.size(); ++o) known[o] -= model.constants[o];
    return known;
  }

  /// Turns bounds of a programme into bounds of the problem. Each holds for goals that reach the
  /// bounds before it: from the first objective for which one programme has the higher bound, the
  /// bounds of the other no longer apply.
  void note(const MipOutcome& outcome, const CountModel& model) {
    bool better = false;
    for (std::size_t o = 0; o < outcome.bounds.size(); ++o) {
      const std::int64_t bound =
          outcome.bounds[o] + (outcome.proofs[o] == MipProof::unknown ? 0 : model.constants[o]);
      std::string proof = formula_ && o < 2 ? formula_->proof : proof_text(outcome.proofs[o]);
      if (o == result_.bounds.size()) {
        result_.bounds.push_back(bound);
        result_.proofs.push_back(std::move(proof));
      } else if (better || bound > result_.bounds[o]) {
        if (!better) {
          result_.bounds.resize(outcome.bounds.size());
          result_.proofs.resize(outcome.bounds.size());
        }
        better = true;
        result_.bounds[o] = bound;
        result_.proofs[o] = std::move(proof);
      } else if (bound < result_.bounds[o]) {
        return;
      }
    }
  }

  /// All objectives. False if that brought no goal, or one that is not proven the best and might be
  /// improved by modelling GPUs one by one.
  bool solve(Fineness fineness, bool exact) {
    const ModelPlan plan{fineness, order_, 5, weights_};
    Grouping grouping = group_gpus(problem_, fineness);
    const PatternMaker maker(problem_, grouping, order_);
    CountModel model = build_model(problem_, maker, grouping, plan);
    MipOutcome outcome = minimise(model.mip, known_for(model), deadline_);
    if (outcome.end == MipEnd::infeasible && exact && !known_.empty()) {
      known_.clear();
      outcome = minimise(model.mip, {}, deadline_);
    }
    if (outcome.end == MipEnd::infeasible) {
      result_.infeasible = known_.empty();
      return result_.infeasible;
    }
    note(outcome, model);
    if (outcome.solution.empty()) return false;
    auto goal = deal(problem_, maker, model, outcome.solution, order_.limits);
    if (!goal || !flaw(problem_, *goal).empty()) return false;
    result_.goal = std::move(goal);
    return outcome.end == MipEnd::proven;
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

namespace {

/// Running work first, then new work in the room that is left.
Goal compacted_and_deployed(const PlanProblem& problem, const Heuristic& heuristic) {
  const Goal first = heuristic.compact(problem).goal;
  PlanProblem settled = problem;
  settled.kind = ProblemKind::deploy;
  for (WorkloadIndex i = 0; i < first.size(); ++i) {
    settled.workloads[i].now = first[i];
    settled.workloads[i].stays = first[i].has_value();
  }
  return heuristic.deploy(settled).goal;
}

}  // namespace

std::optional<Goal> best_known(const PlanProblem& problem,
                               const std::optional<PlanWeights>& weights) {
  std::vector<Goal> goals = {goal_of_now(problem)};
  for (const Heuristic& heuristic : heuristics()) {
    if (problem.kind == ProblemKind::deploy || problem.kind == ProblemKind::joint)
      goals.push_back(heuristic.deploy(problem).goal);
    if (problem.kind == ProblemKind::compact) goals.push_back(heuristic.compact(problem).goal);
    if (problem.kind == ProblemKind::joint)
      goals.push_back(compacted_and_deployed(problem, heuristic));
    if (problem.kind == ProblemKind::reconfigure)
      goals.push_back(heuristic.reconfigure(problem).goal);
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
  const bool reconfigures = problem.kind == ProblemKind::reconfigure;
  return weights.pending * values[0] + weights.gpus * values[1] + weights.waste * values[2] +
         weights.migration * values[reconfigures ? 4 : 3] +
         weights.repartition * values[reconfigures ? 3 : 4];
}

Optimum find_optimum(const PlanProblem& problem, const std::optional<PlanWeights>& weights,
                     Deadline deadline) {
  return Stages(problem, weights, deadline).run();
}

}  // namespace cleave
