#include "study/reproduce/claim_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/format.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave {

SeedSpread seed_spread(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], place - static_cast<double>(below));
  };
  return {at(0.5), at(0.25), at(0.75)};
}

std::string SweptClaim::verdict() const {
  // A figure of one run may lie anywhere in the spread; a sentence must be typical.
  const bool figure = is_figure();
  if (figure ? stated.within(usual.low, usual.high) : stated.within(usual.median, usual.median))
    return "agrees";
  const bool possible = figure ? stated.within(least, most) : stated.within(nearest, nearest);
  return possible ? "in range" : "outside";
}

namespace {

/// How far a value is from what is stated.
double distance(const Stated& stated, double value) {
  if (stated.least && value < *stated.least) return *stated.least - value;
  if (stated.most && value > *stated.most) return value - *stated.most;
  return 0;
}

/// Takes in what one combination gives, of which `changed` inputs are not the usual ones.
void take(SweptClaim& claim, const std::vector<double>& by_seed, const std::vector<std::size_t>& at,
          std::size_t changed, bool first) {
  const SeedSpread spread = seed_spread(by_seed);
  if (changed == 0) claim.usual = spread;
  claim.least = first ? spread.median : std::min(claim.least, spread.median);
  claim.most = first ? spread.median : std::max(claim.most, spread.median);
  const std::pair now(distance(claim.stated, spread.median), changed);
  const std::pair before(distance(claim.stated, claim.nearest), claim.changed);
  if (!first && now >= before) return;
  claim.nearest = spread.median;
  claim.at = at;
  claim.changed = changed;
}

}  // namespace

Result<void> sweep(SweptExperiment& experiment, const PredictClaims& predict) {
  const std::vector<OpenInput>& inputs = experiment.inputs;
  std::vector<std::size_t> at(inputs.size(), 0);
  for (bool first = true;; first = false) {
    std::vector<double> values;
    std::size_t changed = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values.push_back(inputs[i].values[at[i]]);
      changed += at[i] == inputs[i].usual ? 0 : 1;
    }
    const auto found = predict(values);
    if (!found) return std::unexpected(found.error());
    for (std::size_t i = 0; i < experiment.claims.size(); ++i)
      take(experiment.claims[i], (*found)[i], at, changed, first);
    std::size_t next = 0;
    while (next < inputs.size() && ++at[next] == inputs[next].values.size()) at[next++] = 0;
    if (next == inputs.size()) return {};
  }
}

std::string inputs_text(const SweptExperiment& experiment, const std::vector<std::size_t>& at) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const OpenInput& input = experiment.inputs[i];
    if (at[i] == input.usual) continue;
    parts.push_back(input.words.empty() ? fmt::format("{} {:g}", input.name, input.values[at[i]])
                                        : fmt::format("{} {}", input.name, input.words[at[i]]));
  }
  return parts.empty() ? "usual inputs" : fmt::format("{}", fmt::join(parts, ", "));
}

Result<const std::vector<RunSummary>*> PairedRuns::of(const PairedRun& run) {
  if (const auto known = known_.find(run); known != known_.end()) return &known->second;
  ComparisonPlan plan;
  const auto profiles = ProfileChoice::parse(run.profiles);
  if (!profiles) return std::unexpected(profiles.error());
  auto fleet = parse_fleet_in_short(run.fleet, *profiles);
  if (!fleet) return std::unexpected(fleet.error());
  plan.fleet = std::move(*fleet);
  auto spec = parse_scheduler(run.scheduler);
  if (!spec) return std::unexpected(spec.error());
  plan.specs.push_back(std::move(*spec));
  for (std::uint64_t seed = 1; seed <= seeds_; ++seed) {
    auto workload = generate_workload(run.workload, seed);
    if (!workload) return std::unexpected(workload.error());
    plan.workloads.push_back(std::move(*workload));
    plan.seeds.push_back(seed);
  }
  const auto checkpoint = duration_from_seconds(run.checkpoint_s);
  if (!checkpoint) return std::unexpected(checkpoint.error());
  plan.simulation.stops.checkpoint = *checkpoint;
  plan.simulation.forecaster = run.forecaster;
  if (run.reconfiguration_s) {
    const auto change = duration_from_seconds(*run.reconfiguration_s);
    if (!change) return std::unexpected(change.error());
    plan.simulation.reconfiguration = *change;
  }
  plan.simulation.world.link = run.link;
  plan.simulation.world.slow_allocation = run.slow_allocation;
  plan.simulation.world.has_power = run.power;
  if (run.cap_w)
    plan.simulation.world.power.cap =
        Milliwatts{static_cast<std::int64_t>(std::llround(*run.cap_w * 1000))};
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  auto ran = run_side_by_side(plan, threads, [](std::size_t) { return Progress{}; });
  if (!ran) return std::unexpected(ran.error());
  std::vector<RunSummary> by_seed;
  for (SeedRuns& seed : ran->seeds) by_seed.push_back(std::move(seed.runs.front()));
  return &known_.emplace(run, std::move(by_seed)).first->second;
}

}  // namespace cleave
