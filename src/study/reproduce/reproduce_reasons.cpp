// Runs what the reasons on the page of *Optimal Workload Placement* claim, so that none is only
// said.

#include <algorithm>

#include "planner/method.hpp"
#include "study/reproduce/reproduce_optimal_placement.hpp"

namespace cleave {

namespace {

/// Pending work first, then GPUs, migration, waste; each unit outweighs all that follows it on
/// eight GPUs.
constexpr PlanWeights moving_less{1'000'000, 10'000, 1, 100, 0};

FleetFile fleet_of(std::size_t gpus, std::uint64_t seed, bool new_work, bool preferred = false) {
  PaperCase wanted;
  wanted.gpus = gpus;
  wanted.seed = seed;
  wanted.new_work = new_work;
  wanted.preferred = preferred;
  return paper_fleet(wanted);
}

Result<PlanMetrics> planned(const FleetFile& fleet, ProblemKind kind,
                            const std::optional<PlanWeights>& weights = {}) {
  const auto problem = PlanProblem::make(fleet, kind, "case");
  if (!problem) return std::unexpected(problem.error());
  PlanOptions options;
  options.weights = weights;
  const auto plan = make_plan(*problem, options);
  if (!plan) return std::unexpected(plan.error());
  return plan->then;
}

Result<double> compacted_on_first(const ReproductionOptions& options, std::size_t gpus) {
  const Method method{{GpuOrder::first, StartOrder::preferred}, sort_by_size};
  double used = 0;
  for (std::uint64_t seed = 1; seed <= options.cases; ++seed) {
    const FleetFile fleet = fleet_of(gpus, seed, false);
    const auto problem = PlanProblem::make(fleet, ProblemKind::compact, "case");
    if (!problem) return std::unexpected(problem.error());
    used += static_cast<double>(metrics(*problem, compact_by(*problem, method).goal).gpus);
  }
  return used / static_cast<double>(options.cases);
}

/// Sums over the cases.
struct Deployed {
  double gpus = 0, memory = 0, compute = 0, availability = 0;

  void add(const PlanMetrics& metrics) {
    gpus += static_cast<double>(metrics.gpus);
    memory += metrics.memory_utilization.value();
    compute += metrics.compute_utilization.value();
    availability += static_cast<double>(metrics.availability);
  }
};

Result<void> deploy_at_preferred(const ReproductionOptions& options, std::size_t gpus,
                                 ReasonChecks& checks) {
  Deployed apart, joint;
  for (std::uint64_t seed = 1; seed <= options.cases; ++seed) {
    const FleetFile fleet = fleet_of(gpus, seed, true, true);
    for (const ProblemKind kind : {ProblemKind::deploy, ProblemKind::joint}) {
      const auto then = planned(fleet, kind);
      if (!then) return std::unexpected(then.error());
      (kind == ProblemKind::joint ? joint : apart).add(*then);
    }
  }
  checks.preferred_gpus.push_back(apart.gpus / static_cast<double>(options.cases));
  checks.preferred_share.push_back(
      std::min(apart.memory / joint.memory, apart.compute / joint.compute));
  checks.preferred_availability.push_back(apart.availability / joint.availability);
  return {};
}

Result<double> waste_moving_less(const ReproductionOptions& options, ProblemKind kind) {
  const std::size_t gpus = std::ranges::min(options.gpus);
  double wasted = 0;
  for (std::uint64_t seed = 1; seed <= options.cases; ++seed) {
    const auto then = planned(fleet_of(gpus, seed, kind == ProblemKind::joint), kind, moving_less);
    if (!then) return std::unexpected(then.error());
    wasted += static_cast<double>(then->memory_wastage + then->compute_wastage);
  }
  return wasted / static_cast<double>(options.cases);
}

}  // namespace

Result<ReasonChecks> check_reasons(const ReproductionOptions& options) {
  ReasonChecks checks;
  for (const std::size_t gpus : options.gpus) {
    const auto first = compacted_on_first(options, gpus);
    if (!first) return std::unexpected(first.error());
    checks.compacted_on_first.push_back(*first);
    const auto deployed = deploy_at_preferred(options, gpus, checks);
    if (!deployed) return std::unexpected(deployed.error());
  }
  const auto compacted = waste_moving_less(options, ProblemKind::compact);
  if (!compacted) return std::unexpected(compacted.error());
  const auto joint = waste_moving_less(options, ProblemKind::joint);
  if (!joint) return std::unexpected(joint.error());
  checks.compacted_moving_less = *compacted;
  checks.joint_moving_less = *joint;
  return checks;
}

}  // namespace cleave
