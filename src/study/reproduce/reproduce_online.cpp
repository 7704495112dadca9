#include "study/reproduce/reproduce_online.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "base/format.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/simulator.hpp"

namespace cleave {

namespace {

constexpr std::string_view fleet_text = "4xA100-40GB";

/// The specs of OnlineParts; those without partitioning run on standing instances, as do the others
/// at first.
constexpr std::string_view specs[online_parts] = {
    "online:policy=first-fit;dynamic=off;migration=off",
    "online:dynamic=off;migration=off",
    "online:policy=first-fit;migration=off",
    "online:policy=first-fit;dynamic=off",
    "online:migration=off",
    "online",
};

/// A profile at a start.
struct Standing {
  std::string_view profile;
  int start;
};
using StandingGpu = std::vector<Standing>;

/// The same instances on four GPUs in different places: three of 4g, 3g and 1g and two of 2g, all
/// 28 compute slices, as near to equal numbers as fits.
std::vector<std::vector<StandingGpu>> placements() {
  const StandingGpu pair = {{"4g.20gb", 0}, {"3g.20gb", 4}};
  const std::vector<StandingGpu> mixed = {
      pair,
      pair,
      {{"4g.20gb", 0}, {"2g.10gb", 4}, {"1g.5gb", 6}},
      {{"3g.20gb", 4}, {"2g.10gb", 0}, {"1g.5gb", 2}, {"1g.5gb", 3}}};
  const std::vector<StandingGpu> alike = {
      pair,
      pair,
      {{"4g.20gb", 0}, {"1g.5gb", 4}, {"1g.5gb", 5}, {"1g.5gb", 6}},
      {{"3g.20gb", 4}, {"2g.10gb", 0}, {"2g.10gb", 2}}};
  return {mixed, {mixed.rbegin(), mixed.rend()}, alike, {alike.rbegin(), alike.rend()}};
}

Result<std::vector<FleetFile>> standing_fleets() {
  std::vector<FleetFile> fleets;
  for (const auto& placed : placements()) {
    auto fleet = parse_fleet_in_short(fleet_text, ProfileChoice());
    if (!fleet) return std::unexpected(fleet.error());
    for (std::size_t gpu = 0; gpu < placed.size(); ++gpu)
      for (const Standing& one : placed[gpu]) {
        const auto placement = fleet->geometries[0].find(one.profile, one.start);
        if (!placement) return std::unexpected(placement.error());
        InstanceEntry instance;
        instance.placement = *placement;
        fleet->gpus[gpu].instances.push_back(instance);
      }
    fleets.push_back(std::move(*fleet));
  }
  return fleets;
}

/// Calls `work` with every number below `count` on some threads; the first error in the order of
/// the numbers counts.
Result<void> in_parallel(std::size_t count, std::size_t threads,
                         const std::function<Result<void>(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::optional<Error>> errors(count);
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++)
      if (auto done = work(i); !done) errors[i] = done.error();
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run);
    run();
  }
  for (const auto& error : errors)
    if (error) return std::unexpected(*error);
  return {};
}

/// Means of one run.
struct RunMeans {
  double wait = 0, execution = 0, held = 0, migrations = 0, token = 0;
};

Result<RunMeans> run_once(const FleetFile& fleet, const Workload& workload, std::string_view spec,
                          std::uint64_t seed, LinkSharing link) {
  const auto scheduler = parse_scheduler(spec);
  if (!scheduler) return std::unexpected(scheduler.error());
  SimulationOptions options;
  options.seed = seed;
  options.world.link = link;
  options.world.has_power = false;
  const auto summary = simulate(fleet, workload, *scheduler, options);
  if (!summary) return std::unexpected(summary.error());
  if (summary->finished != summary->jobs)
    return fail(ErrorKind::internal, "reproduce online", "a job has not finished");
  return RunMeans{in_seconds(summary->wait.mean), in_seconds(summary->execution.mean),
                  summary->compute_utilization, static_cast<double>(summary->migrations),
                  summary->time_per_output_token_s.value_or(0)};
}

/// The runs of one seed of one workload.
struct SeedMeans {
  std::array<RunMeans, online_parts> parts;
  std::vector<RunMeans> standing;  // balancing, by placement
};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// One figure over the seeds.
std::vector<double> over_seeds(const std::vector<SeedMeans>& seeds,
                               const std::function<double(const SeedMeans&)>& figure) {
  std::vector<double> values;
  for (const SeedMeans& seed : seeds) values.push_back(figure(seed));
  return values;
}

std::vector<double> waits_at(const std::vector<SeedMeans>& seeds, std::size_t placement) {
  return over_seeds(seeds, [&](const SeedMeans& seed) { return seed.standing[placement].wait; });
}

OnlineOutcome outcome_of(const std::vector<SeedMeans>& seeds) {
  const auto all = [&](std::size_t parts, double RunMeans::*figure) {
    return over_seeds(seeds, [&](const SeedMeans& seed) { return seed.parts[parts].*figure; });
  };
  const auto makespan = [&](std::size_t parts) {
    return over_seeds(seeds, [&](const SeedMeans& seed) {
      return seed.parts[parts].wait + seed.parts[parts].execution;
    });
  };
  std::size_t best = 0;
  for (std::size_t p = 1; p < seeds.front().standing.size(); ++p)
    if (mean_of(waits_at(seeds, p)) < mean_of(waits_at(seeds, best))) best = p;
  OnlineOutcome outcome;
  outcome.held = mean_of(all(everything, &RunMeans::held));
  outcome.wait_s = mean_of(all(everything, &RunMeans::wait));
  outcome.static_wait_s = mean_of(waits_at(seeds, best));
  outcome.execution_s = mean_of(all(everything, &RunMeans::execution));
  outcome.migrations = mean_of(all(everything, &RunMeans::migrations));
  outcome.wait = paired_change(all(everything, &RunMeans::wait), waits_at(seeds, best));
  outcome.execution =
      paired_change(all(everything, &RunMeans::execution), all(no_migration, &RunMeans::execution));
  outcome.token =
      paired_change(all(everything, &RunMeans::token), all(no_migration, &RunMeans::token));
  for (std::size_t parts = 0; parts < online_parts; ++parts)
    outcome.makespan[parts] = paired_change(makespan(parts), makespan(base));
  return outcome;
}

/// All runs of one workload.
Result<OnlineOutcome> run_workload(const OnlineReproductionOptions& options,
                                   const OnlineInputs& inputs, const OnlineWorkloadRow& row,
                                   double unit_s) {
  const auto fleets = standing_fleets();
  if (!fleets) return std::unexpected(fleets.error());
  const std::string spec = online_generator(row.generator, inputs, options.jobs, row.gap * unit_s);
  std::vector<SeedMeans> seeds(options.seeds);
  const auto done = in_parallel(options.seeds, options.threads, [&](std::size_t i) -> Result<void> {
    const std::uint64_t seed = i + 1;
    const auto workload = generate_workload(spec, seed);
    if (!workload) return std::unexpected(workload.error());
    for (std::size_t parts = 0; parts < online_parts; ++parts) {
      const auto means = run_once(fleets->front(), *workload, specs[parts], seed, inputs.link);
      if (!means) return std::unexpected(means.error());
      seeds[i].parts[parts] = *means;
    }
    for (const FleetFile& fleet : *fleets) {
      const auto means = run_once(fleet, *workload, specs[balancing], seed, inputs.link);
      if (!means) return std::unexpected(means.error());
      seeds[i].standing.push_back(*means);
    }
    return {};
  });
  if (!done) return std::unexpected(done.error());
  return outcome_of(seeds);
}

/// How much is held under Long(25) at this unit, on seeds of its own.
Result<double> held_at(const OnlineReproductionOptions& options, const OnlineInputs& inputs,
                       double unit_s) {
  constexpr std::size_t seeds = 6;
  constexpr std::uint64_t first = 100'001;
  const auto fleet = parse_fleet_in_short(fleet_text, ProfileChoice());
  if (!fleet) return std::unexpected(fleet.error());
  const OnlineWorkloadRow& row = online_workloads[1];
  const std::string spec = online_generator(row.generator, inputs, options.jobs, row.gap * unit_s);
  std::vector<double> held(seeds);
  const auto done = in_parallel(seeds, options.threads, [&](std::size_t i) -> Result<void> {
    const auto workload = generate_workload(spec, first + i);
    if (!workload) return std::unexpected(workload.error());
    const auto means = run_once(*fleet, *workload, specs[everything], first + i, inputs.link);
    if (!means) return std::unexpected(means.error());
    held[i] = means->held;
    return {};
  });
  if (!done) return std::unexpected(done.error());
  return mean_of(held);
}

/// The unit of the arrival times at which as much is held as the inputs say: the shorter, the more.
Result<double> find_unit(const OnlineReproductionOptions& options, const OnlineInputs& inputs) {
  double shortest = 0.01, longest = 100;
  for (int step = 0; step < 14; ++step) {
    const double middle = std::sqrt(shortest * longest);
    const auto held = held_at(options, inputs, middle);
    if (!held) return std::unexpected(held.error());
    (*held > inputs.held ? shortest : longest) = middle;
  }
  return std::round(longest * 1000) / 1000;
}

Result<OnlinePoint> run_point(const OnlineReproductionOptions& options,
                              const OnlineInputs& inputs) {
  OnlinePoint point;
  point.inputs = inputs;
  const auto unit = find_unit(options, inputs);
  if (!unit) return std::unexpected(unit.error());
  point.unit_s = *unit;
  for (std::size_t w = 0; w < online_workloads.size(); ++w) {
    auto outcome = run_workload(options, inputs, online_workloads[w], *unit);
    if (!outcome) return std::unexpected(outcome.error());
    point.workloads[w] = *outcome;
  }
  return point;
}

/// The traces of query lengths that are at hand.
std::vector<OnlineInputs> with_traces(const std::string& data) {
  struct Known {
    std::string_view lengths, file;
  };
  constexpr Known known[] = {
      {"BurstGPT", "burstgpt/BurstGPT_1.csv"},
      {"BurstGPT, first rows", "burstgpt/BurstGPT_1_first_42_rows.csv"},
      {"Azure, conversation", "azure-llm-2023/AzureLLMInferenceTrace_conv.csv.gz"}};
  std::vector<OnlineInputs> inputs;
  if (data.empty()) return inputs;
  for (const Known& one : known) {
    const auto file = std::filesystem::path(data) / one.file;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    OnlineInputs with;
    with.trace = file.string();
    with.lengths = one.lengths;
    inputs.push_back(with);
  }
  return inputs;
}

/// The stated point first, then each open input varied.
std::vector<OnlineInputs> all_inputs(const OnlineReproductionOptions& options) {
  std::vector<OnlineInputs> inputs(1);
  if (!options.surface) return inputs;
  for (const double held : {0.35, 0.5, 0.65})
    for (const std::int64_t queries : {1, 4, 16}) {
      OnlineInputs one;
      one.held = held;
      one.queries = queries;
      if (held != inputs[0].held || queries != inputs[0].queries) inputs.push_back(one);
    }
  for (const LinkSharing link : {LinkSharing::together, LinkSharing::off}) {
    OnlineInputs one;
    one.link = link;
    inputs.push_back(one);
  }
  for (const OnlineInputs& one : with_traces(options.data)) inputs.push_back(one);
  return inputs;
}

}  // namespace

std::string_view name_of(OnlineParts parts) {
  constexpr std::string_view names[online_parts] = {"first fit, nothing else",    "load balancing",
                                                    "dynamic partitioning",       "migration",
                                                    "balancing and partitioning", "all three"};
  return names[parts];
}

std::string online_generator(std::string_view generator, const OnlineInputs& inputs,
                             std::size_t jobs, double gap_s) {
  std::string spec = fmt::format("{}:jobs={};queries={};gap={:.6f};shared=on", generator, jobs,
                                 inputs.queries, gap_s);
  if (!inputs.trace.empty()) spec += fmt::format(";trace={}", inputs.trace);
  return spec;
}

PairedChange paired_change(const std::vector<double>& ours, const std::vector<double>& theirs) {
  PairedChange change;
  const std::size_t n = ours.size();
  change.seeds = n;
  const double a = std::accumulate(ours.begin(), ours.end(), 0.0);
  const double b = std::accumulate(theirs.begin(), theirs.end(), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    change.lower += ours[i] < theirs[i] ? 1 : 0;
    change.higher += ours[i] > theirs[i] ? 1 : 0;
  }
  if (!(b > 0)) return change;
  change.mean = 100 * (a / b - 1);
  change.low = change.high = change.mean;
  if (n < 3) return change;
  std::vector<double> without;
  for (std::size_t i = 0; i < n; ++i)
    without.push_back(b > theirs[i] ? 100 * ((a - ours[i]) / (b - theirs[i]) - 1) : change.mean);
  const double middle = mean_of(without);
  double sum = 0;
  for (const double value : without) sum += (value - middle) * (value - middle);
  const double count = static_cast<double>(n);
  // Student's t at 97.5 %, within 1 % from five degrees of freedom on.
  const double freedom = count - 1, t = 1.96 + 2.37 / freedom + 2.8 / (freedom * freedom);
  const double half = t * std::sqrt(sum * (count - 1) / count);
  change.low = change.mean - half;
  change.high = change.mean + half;
  return change;
}

Result<OnlineReproduction> reproduce_online(const OnlineReproductionOptions& options) {
  OnlineReproduction reproduction;
  reproduction.options = options;
  for (const OnlineInputs& inputs : all_inputs(options)) {
    auto point = run_point(options, inputs);
    if (!point) return std::unexpected(point.error());
    reproduction.points.push_back(std::move(*point));
  }
  auto concurrent = concurrent_tokens(reproduction.points[0].inputs, options.seeds);
  if (!concurrent) return std::unexpected(concurrent.error());
  reproduction.concurrent = std::move(*concurrent);
  auto series = online_series(reproduction.points[0], options.jobs);
  if (!series) return std::unexpected(series.error());
  reproduction.series = std::move(*series);
  return reproduction;
}

}  // namespace cleave
