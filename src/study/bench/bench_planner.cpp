#include "study/bench/bench_planner.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "planner/heuristic.hpp"
#include "planner/plan_text.hpp"
#include "study/wpm/paper_cases.hpp"

namespace cleave {

namespace {

using Clock = std::chrono::steady_clock;

constexpr ProblemKind kinds[] = {ProblemKind::deploy, ProblemKind::reconfigure,
                                 ProblemKind::compact, ProblemKind::joint};

FleetFile fleet_for(const PlannerBenchOptions& options, ProblemKind kind, std::size_t gpus,
                    std::uint64_t seed) {
  PaperCase wanted;
  wanted.gpus = gpus;
  wanted.seed = seed;
  wanted.new_work = kind == ProblemKind::deploy || kind == ProblemKind::joint;
  wanted.model = options.model;
  return paper_fleet(wanted);
}

struct Timed {
  Plan plan;
  double seconds = 0;
  std::size_t bytes = 0;
};

Result<Timed> timed_plan(const FleetFile& fleet, ProblemKind kind) {
  const auto begin = Clock::now();
  const auto problem = PlanProblem::make(fleet, kind, "case");
  if (!problem) return std::unexpected(problem.error());
  auto plan = make_plan(*problem, {});
  if (!plan) return std::unexpected(plan.error());
  const std::string text = plan_text(*problem, *plan);
  return Timed{std::move(*plan), in_seconds(Clock::now() - begin), text.size()};
}

/// What the paper's rules make of the case, for CBC to start from. Rules know no joint problem;
/// there new work is placed and what runs stays. Where they find no place for what runs, it starts
/// from what is now.
Result<Goal> start_of(const FleetFile& fleet, ProblemKind kind) {
  const auto problem =
      PlanProblem::make(fleet, kind == ProblemKind::joint ? ProblemKind::deploy : kind, "case");
  if (!problem) return std::unexpected(problem.error());
  const auto rules = std::ranges::find(heuristics(), "rules", &Heuristic::name);
  const auto by_rules = kind == ProblemKind::compact       ? rules->compact
                        : kind == ProblemKind::reconfigure ? rules->reconfigure
                                                           : rules->deploy;
  Goal goal = by_rules(*problem).goal;
  if (evicted(*problem, goal)) return goal_of_now(*problem);
  return goal;
}

Result<AssignmentBench> bench_assignment(const PlannerBenchOptions& options, ProblemKind kind,
                                         std::size_t gpus, std::uint64_t seed) {
  const FleetFile fleet = fleet_for(options, kind, gpus, seed);
  const auto problem = PlanProblem::make(fleet, kind, "case");
  if (!problem) return std::unexpected(problem.error());
  const auto start = start_of(fleet, kind);
  if (!start) return std::unexpected(start.error());
  const auto timed = timed_plan(fleet, kind);
  if (!timed) return std::unexpected(timed.error());
  WpmOptions wpm;
  wpm.time_limit = options.assignment_limit;
  wpm.start = &*start;
  auto counted = solve_wpm(*problem, wpm);
  if (!counted) return std::unexpected(counted.error());
  wpm.counted = false;
  auto binary = solve_wpm(*problem, wpm);
  if (!binary) return std::unexpected(binary.error());
  return AssignmentBench{kind,
                         gpus,
                         seed,
                         *counted,
                         *binary,
                         timed->seconds,
                         timed->plan.status,
                         timed->plan.objective};
}

Result<PlannerBench> bench_one(const PlannerBenchOptions& options, ProblemKind kind,
                               std::size_t gpus) {
  PlannerBench bench;
  bench.problem = kind;
  bench.gpus = gpus;
  bench.cases = options.cases;
  std::vector<double> seconds;
  for (std::uint64_t seed = 1; seed <= options.cases; ++seed) {
    const FleetFile fleet = fleet_for(options, kind, gpus, seed);
    const auto timed = timed_plan(fleet, kind);
    if (!timed) return std::unexpected(timed.error());
    seconds.push_back(timed->seconds);
    bench.text_bytes = timed->bytes;
    bench.status = std::max(bench.status, timed->plan.status);
    if (timed->plan.status == PlanStatus::optimal) ++bench.optimal;
  }
  std::ranges::sort(seconds);
  bench.seconds_median = seconds[seconds.size() / 2];
  bench.seconds_max = seconds.back();
  return bench;
}

}  // namespace

const WpmResult& AssignmentBench::quicker() const {
  const auto rank = [](const WpmResult& result) {
    return std::pair(result.seconds_to_gap.value_or(std::numeric_limits<double>::infinity()),
                     result.seconds);
  };
  return rank(binary) < rank(counted) ? binary : counted;
}

std::array<std::int64_t, 3> AssignmentBench::of_planner() const {
  return {planner[0].value, planner[1].value, planner[2].value};
}

std::string_view AssignmentBench::planner_is(const WpmResult& result) const {
  if (result.status == WpmStatus::unsolved) return "";
  const std::array<std::int64_t, 3> model = {result.values.pending, result.values.gpus,
                                             result.values.waste};
  return of_planner() < model ? "better" : of_planner() > model ? "worse" : "same";
}

Result<PlannerBenches> bench_planner(const PlannerBenchOptions& options) {
  PlannerBenches benches;
  for (const std::size_t gpus : options.gpus)
    for (const ProblemKind kind : kinds) {
      const auto bench = bench_one(options, kind, gpus);
      if (!bench) return std::unexpected(bench.error());
      benches.runs.push_back(*bench);
    }
  if (options.assignment_limit <= Duration::zero()) return benches;
  for (const std::size_t gpus : options.gpus)
    for (const ProblemKind kind : kinds)
      for (std::uint64_t seed = 1;
           seed <= options.assignment_cases && gpus <= options.assignment_gpus; ++seed) {
        const auto bench = bench_assignment(options, kind, gpus, seed);
        if (!bench) return std::unexpected(bench.error());
        benches.assignment.push_back(*bench);
      }
  return benches;
}

}  // namespace cleave
