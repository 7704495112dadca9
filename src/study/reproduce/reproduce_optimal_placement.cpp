#include "study/reproduce/reproduce_optimal_placement.hpp"

#include <algorithm>
#include <cassert>

#include "study/wpm/paper_cases.hpp"

namespace cleave {

namespace {

constexpr ProblemKind use_cases[] = {ProblemKind::deploy, ProblemKind::compact,
                                     ProblemKind::reconfigure};
constexpr std::string_view joint = "joint";

template <auto Member>
double whole(const PlanMetrics& metrics) {
  return static_cast<double>(metrics.*Member);
}

/// One method on one case.
Result<void> run_one(const FleetFile& fleet, ProblemKind problem, const std::string& method,
                     MethodFigures& into, bool beside_running = false) {
  auto made = PlanProblem::make(fleet, problem, "case");
  if (!made) return std::unexpected(made.error());
  made->beside_running = beside_running;
  // A method that finds no place for what runs leaves it pending (2e), and that is counted, not
  // refused.
  made->may_evict = method != "optimal";
  PlanOptions options;
  options.method = method;
  const auto plan = make_plan(*made, options);
  if (!plan) return std::unexpected(plan.error());
  for (std::size_t i = 0; i < table3_metrics; ++i) into.mean[i] += table3()[i].value(plan->then);
  if (plan->then.pending_size > 0) ++into.pending_cases;
  if (plan->then.sequential_migrations > 0) ++into.sequential_cases;
  if (plan->status == PlanStatus::optimal) ++into.proven;
  return {};
}

void normalise(UseCaseFigures& figures) {
  for (std::size_t i = 0; i < table3_metrics; ++i) {
    double highest = 0;
    for (const MethodFigures& method : figures.methods) highest = std::max(highest, method.mean[i]);
    for (MethodFigures& method : figures.methods)
      method.normalised[i] = highest > 0 ? method.mean[i] / highest : 0;
  }
}

Result<UseCaseFigures> run_use_case(ProblemKind problem, std::size_t gpus, std::size_t cases) {
  UseCaseFigures figures;
  figures.problem = problem;
  figures.gpus = gpus;
  const bool deploys = problem == ProblemKind::deploy;
  for (const std::string_view method : compared_methods) {
    figures.methods.emplace_back();
    figures.methods.back().method = method;
  }
  if (deploys) {
    figures.methods.emplace_back();
    figures.methods.back().method = joint;
  }
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    PaperCase wanted;
    wanted.gpus = gpus;
    wanted.seed = seed;
    wanted.new_work = deploys;
    const FleetFile fleet = paper_fleet(wanted);
    for (MethodFigures& method : figures.methods) {
      const bool all_at_once = method.method == joint;
      const auto ran = run_one(fleet, all_at_once ? ProblemKind::joint : problem,
                               all_at_once ? "optimal" : method.method, method);
      if (!ran) return std::unexpected(ran.error());
    }
  }
  for (MethodFigures& method : figures.methods)
    for (double& mean : method.mean) mean /= static_cast<double>(cases);
  normalise(figures);
  return figures;
}

/// The reconfigurations again, with the baselines' replicas beside the running work.
Result<UseCaseFigures> run_beside(UseCaseFigures figures, std::size_t cases) {
  for (MethodFigures& method : figures.methods) {
    if (method.method != "first-fit" && method.method != "load-balanced") continue;
    method = {.method = method.method};
    for (std::uint64_t seed = 1; seed <= cases; ++seed) {
      PaperCase wanted;
      wanted.gpus = figures.gpus;
      wanted.seed = seed;
      const auto ran =
          run_one(paper_fleet(wanted), ProblemKind::reconfigure, method.method, method, true);
      if (!ran) return std::unexpected(ran.error());
    }
    for (double& mean : method.mean) mean /= static_cast<double>(cases);
  }
  normalise(figures);
  return figures;
}

const UseCaseFigures& of_size(const std::vector<UseCaseFigures>& figures, ProblemKind problem,
                              std::size_t gpus) {
  const auto found = std::ranges::find_if(figures, [&](const UseCaseFigures& one) {
    return one.problem == problem && one.gpus == gpus;
  });
  assert(found != figures.end());
  return *found;
}

}  // namespace

const std::array<Table3Metric, table3_metrics>& table3() {
  static const std::array<Table3Metric, table3_metrics> rows = {{
      {"gpus", "GPUs", whole<&PlanMetrics::gpus>},
      {"memory_wastage", "memory wastage", whole<&PlanMetrics::memory_wastage>},
      {"compute_wastage", "compute wastage", whole<&PlanMetrics::compute_wastage>},
      {"availability", "availability", whole<&PlanMetrics::availability>},
      {"migration_size", "migration size", whole<&PlanMetrics::migration_size>},
      {"pending_size", "pending size", whole<&PlanMetrics::pending_size>},
      {"sequential_migrations", "sequential migrations",
       whole<&PlanMetrics::sequential_migrations>},
      {"memory_utilization", "memory utilization",
       [](const PlanMetrics& metrics) { return metrics.memory_utilization.value(); }},
      {"compute_utilization", "compute utilization",
       [](const PlanMetrics& metrics) { return metrics.compute_utilization.value(); }},
  }};
  return rows;
}

std::size_t table3_index(std::string_view key) {
  const auto row = std::ranges::find(table3(), key, &Table3Metric::key);
  assert(row != table3().end());
  return static_cast<std::size_t>(row - table3().begin());
}

const MethodFigures& UseCaseFigures::of(std::string_view method) const {
  const auto found = std::ranges::find(methods, method, &MethodFigures::method);
  assert(found != methods.end());
  return *found;
}

const UseCaseFigures& Reproduction::of(ProblemKind problem, std::size_t gpus) const {
  return of_size(figures, problem, gpus);
}

const UseCaseFigures& Reproduction::beside_of(std::size_t gpus) const {
  return of_size(beside, ProblemKind::reconfigure, gpus);
}

Result<Reproduction> reproduce_optimal_placement(const ReproductionOptions& options) {
  Reproduction reproduction{options, {}, {}, {}, {}};
  for (const ProblemKind problem : use_cases)
    for (const std::size_t gpus : options.gpus) {
      auto figures = run_use_case(problem, gpus, options.cases);
      if (!figures) return std::unexpected(figures.error());
      reproduction.figures.push_back(std::move(*figures));
    }
  for (const std::size_t gpus : options.gpus) {
    auto figures = run_beside(reproduction.of(ProblemKind::reconfigure, gpus), options.cases);
    if (!figures) return std::unexpected(figures.error());
    reproduction.beside.push_back(std::move(*figures));
  }
  auto choices = try_choices(options);
  if (!choices) return std::unexpected(choices.error());
  reproduction.choices = std::move(*choices);
  auto checks = check_reasons(options);
  if (!checks) return std::unexpected(checks.error());
  reproduction.checks = std::move(*checks);
  return reproduction;
}

}  // namespace cleave
