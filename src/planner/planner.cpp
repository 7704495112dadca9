#include "planner/planner.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "planner/heuristic.hpp"
#include "planner/objective.hpp"
#include "planner/optimal.hpp"

namespace cleave {

namespace {

struct StatusRow {
  PlanStatus status;
  std::string_view name;
};
constexpr StatusRow statuses[] = {{PlanStatus::optimal, "optimal"},
                                  {PlanStatus::feasible, "feasible"},
                                  {PlanStatus::infeasible, "infeasible"}};

/// Every plan leaves through here: checked, measured, and optimal only if each value equals its
/// bound.
Result<Plan> finish(const PlanProblem& problem, Plan plan, const std::vector<Objective>& bounds) {
  if (std::string wrong = flaw(problem, plan.goal); !wrong.empty())
    return fail(ErrorKind::internal, "",
                fmt::format("the {} plan is wrong: {}", plan.method, wrong),
                "please report this with the fleet file");
  plan.values = objective_values(problem, plan.goal);
  plan.objective = bounds;
  const bool weighted = plan.weights.has_value();
  plan.status = PlanStatus::optimal;
  for (std::size_t o = 0; o < plan.objective.size(); ++o) {
    Objective& objective = plan.objective[o];
    objective.value = weighted ? weighted_sum(problem, *plan.weights, plan.values) : plan.values[o];
    if (plan.status == PlanStatus::feasible) {
      // The bound was for goals that are best by the objectives before it, and this goal is not.
      objective.bound = 0;
      objective.proof.clear();
    }
    if (objective.value != objective.bound) plan.status = PlanStatus::feasible;
  }
  plan.pending = pending_work(problem, plan.goal);
  plan.now = metrics(problem, goal_of_now(problem));
  plan.then = metrics(problem, plan.goal);
  plan.future_room = future_room(problem, plan.goal);
  if (std::string wrong = fault(problem, plan.moves); !wrong.empty())
    return fail(ErrorKind::internal, "",
                fmt::format("the moves of the {} plan are wrong: {}", plan.method, wrong),
                "please report this with the fleet file");
  return plan;
}

/// The goal with the moves that lead to it. If only undisturbed moves are asked for and there are
/// none, the best goal near it that has some.
Result<Plan> with_moves(const PlanProblem& problem, const PlanOptions& options, Plan plan,
                        const std::vector<Objective>& bounds) {
  plan.moves = plan_moves(problem, target_of(problem, plan.goal), {options.allow_disruptive});
  if (options.non_disruptive_only && !plan.moves.disruptive.empty()) {
    auto calm = undisturbing(problem, options.weights, plan.goal, plan.moves);
    if (!calm)
      return fail(
          ErrorKind::infeasible, problem.place,
          fmt::format(
              "every goal that was found needs an interruption: '{}' cannot get to its place; {}",
              shown(problem.workloads[plan.moves.disruptive.front().workload].name),
              plan.moves.disruptive.front().reason),
          "allow the interruption with --allow-disruptive");
    plan.goal = std::move(calm->goal);
    plan.moves = std::move(calm->moves);
  }
  return finish(problem, std::move(plan), bounds);
}

std::vector<Objective> bounds_of(const PlanProblem& problem, const PlanOptions& options,
                                 const Optimum& optimum) {
  std::vector<Objective> objective;
  const auto names = objective_names(problem.kind);
  for (std::size_t o = 0; o < optimum.bounds.size(); ++o)
    objective.push_back(
        {options.weights ? "weighted_sum" : names[o], 0, optimum.bounds[o], optimum.proofs[o]});
  return objective;
}

Result<Plan> optimal_plan(const PlanProblem& problem, const PlanOptions& options) {
  if (const auto solver = load_solver(); !solver) return std::unexpected(solver.error());
  const Deadline deadline = std::chrono::steady_clock::now() + options.time_limit;
  Optimum optimum = find_optimum(problem, options.weights, deadline);
  if (optimum.infeasible)
    return fail(ErrorKind::infeasible, problem.place,
                fmt::format("there is no plan: {}", why_impossible(problem)),
                "change one of these constraints, or let the work move");
  Plan plan;
  plan.method = options.method;
  plan.weights = options.weights;
  if (optimum.goal) {
    plan.goal = std::move(*optimum.goal);
  } else if (auto fallback = best_known(problem, options.weights)) {
    plan.goal = std::move(*fallback);
  } else {
    return fail(ErrorKind::infeasible, problem.place,
                fmt::format("no plan was found in {} s, nor proven impossible",
                            std::chrono::duration<double>(options.time_limit).count()),
                "allow more time with --time-limit");
  }
  return with_moves(problem, options, std::move(plan), bounds_of(problem, options, optimum));
}

/// The goal comes from the rules alone. The optimum is computed too, to say how far the goal is
/// from it.
Result<Plan> heuristic_plan(const PlanProblem& problem, const PlanOptions& options,
                            const Heuristic& heuristic) {
  Plan plan;
  plan.method = options.method;
  switch (problem.kind) {
    case ProblemKind::deploy:
      plan.goal = heuristic.deploy(problem).goal;
      break;
    case ProblemKind::compact:
      plan.goal = heuristic.compact(problem).goal;
      break;
    case ProblemKind::reconfigure:
      plan.goal = heuristic.reconfigure(problem).goal;
      break;
    case ProblemKind::joint:
      return fail(
          ErrorKind::bad_usage, "--method",
          fmt::format("{} places new work or moves old work, not both at once", heuristic.name),
          "use --method optimal, or plan deploy and compact one after the other");
  }
  if (const auto lost = evicted(problem, plan.goal); lost && !problem.may_evict)
    return fail(ErrorKind::infeasible, problem.place,
                fmt::format("{} finds no place for '{}', which runs", heuristic.name,
                            shown(problem.workloads[*lost].name)),
                "use --method optimal, or --may-evict to let it stop");
  if (const std::string wrong = flaw(problem, plan.goal); !wrong.empty())
    return fail(ErrorKind::infeasible, problem.place,
                fmt::format("{} finds no plan: {}", heuristic.name, wrong),
                "use --method optimal, or loosen the limits");
  if (const auto solver = load_solver(); !solver) return std::unexpected(solver.error());
  const Optimum optimum =
      find_optimum(problem, {}, std::chrono::steady_clock::now() + options.time_limit);
  if (optimum.infeasible)
    return fail(ErrorKind::infeasible, problem.place,
                fmt::format("there is no plan: {}", why_impossible(problem)),
                "change one of these constraints, or let the work move");
  return with_moves(problem, options, std::move(plan), bounds_of(problem, options, optimum));
}

}  // namespace

std::string_view name(PlanStatus status) {
  return std::ranges::find(statuses, status, &StatusRow::status)->name;
}

std::vector<std::string> plan_methods() {
  auto names = names_of(heuristics());
  names.insert(names.begin(), "optimal");
  return names;
}

std::int64_t future_room(const PlanProblem& problem, const Goal& goal) {
  std::vector<PlacementSet> taken;
  for (const PlanGpu& gpu : problem.gpus) taken.push_back(gpu.walls);
  for (const auto& seat : goal)
    if (seat) taken[index(seat->gpu)].insert(seat->placement);
  std::int64_t room = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const StateGraph& graph = *problem.graphs[problem.gpus[i].kind];
    room += graph.reachability(graph.find(taken[i]));
  }
  return room;
}

Result<Plan> plan_to(const PlanProblem& problem, const Target& target, const MoveOptions& options) {
  Plan plan;
  plan.method = "given";
  plan.goal = target.goal;
  if (std::string wrong = flaw(problem, plan.goal); !wrong.empty())
    return fail(ErrorKind::infeasible, problem.place,
                fmt::format("the goal is not possible: {}", wrong));
  plan.moves = plan_moves(problem, target, options);
  auto finished = finish(problem, std::move(plan), {});
  if (!finished) return finished;
  finished->status = PlanStatus::feasible;  // not proven to be the best
  for (Pending& one : finished->pending) one.reason = "the goal leaves it out: it ends";
  return finished;
}

Result<Plan> make_plan(const PlanProblem& problem, const PlanOptions& options) {
  if (options.method == "optimal") return optimal_plan(problem, options);
  const auto all = heuristics();
  const auto heuristic = std::ranges::find(all, options.method, &Heuristic::name);
  if (heuristic == all.end())
    return fail(ErrorKind::bad_usage, "--method",
                fmt::format("'{}' is not a method of planning", shown(options.method)),
                suggestion(options.method, plan_methods()));
  if (options.weights)
    return fail(ErrorKind::bad_usage, "--weights",
                fmt::format("{} takes no weights", heuristic->name), "use --method optimal");
  return heuristic_plan(problem, options, *heuristic);
}

}  // namespace cleave
