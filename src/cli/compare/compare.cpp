// `cleave compare`: several schedulers on the same workloads and fleet, one workload for each seed.

#include "simulate/comparison.hpp"

#include <algorithm>
#include <optional>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/ratio.hpp"
#include "base/terminal.hpp"
#include "cli/blocks.hpp"
#include "cli/command.hpp"
#include "cli/compare/compare_csv.hpp"
#include "cli/compare/compare_report.hpp"
#include "cli/compare/compare_text.hpp"
#include "cli/compare/sweep.hpp"
#include "cli/compare/wait_chart.hpp"
#include "cli/output_files.hpp"
#include "cli/report_file.hpp"
#include "cli/run_outcomes.hpp"
#include "cli/say.hpp"
#include "cli/workload_arguments.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave::cli {

namespace {

struct Options {
  RunArguments run;
  std::string schedulers, outcomes, csv, report, sweep, charts = when_charts.front();
  std::uint64_t seeds = 1, threads = 0;
};

/// Arrivals of workloads that are not traces come `faster`.
Result<ComparisonPlan> read_plan(const Options& options, double faster) {
  ComparisonPlan plan;
  auto specs = parse_schedulers(options.schedulers);
  if (!specs) return std::unexpected(specs.error());
  plan.specs = *std::move(specs);
  auto fleet = options.run.read_fleet();
  if (!fleet) return std::unexpected(fleet.error());
  plan.fleet = *std::move(fleet);
  auto simulation = options.run.read_simulation(plan.fleet);
  if (!simulation) return std::unexpected(simulation.error());
  plan.simulation = *std::move(simulation);
  constexpr std::uint64_t most_seeds = 10'000;
  if (options.seeds > most_seeds)
    return fail(ErrorKind::bad_usage, "--seeds", fmt::format("more than {} seeds", most_seeds),
                "a few dozen tell a difference from chance");
  for (std::uint64_t k = 0; k < options.seeds; ++k) {
    plan.seeds.push_back(options.run.seed + k);
    if (k > 0 && !options.run.workload_is_drawn()) continue;
    auto workload = options.run.read_workload(plan.seeds.back());
    if (!workload) return std::unexpected(workload.error());
    if (faster != 1)
      if (const auto done = compress_arrivals(*workload, faster); !done)
        return std::unexpected(done.error());
    plan.workloads.push_back(*std::move(workload));
  }
  return plan;
}

Json runs_json(const ComparisonPlan& plan, const ComparedRuns& results, bool timing) {
  Json json = Json::array();
  for (std::size_t k = 0; k < results.seeds.size(); ++k)
    for (std::size_t s = 0; s < plan.specs.size(); ++s) {
      json.push_back(to_json(results.seeds[k].runs[s]));
      json.back()["run"] = run_json(plan.simulation, plan.fleet, plan.specs[s]);
      json.back()["world"] = world_json(plan.simulation.world, plan.workloads.front());
      if (timing) json.back()["seconds"] = results.seconds[k][s];
    }
  return json;
}

/// The comparison with one value of what is swept.
struct Point {
  std::string value;
  ComparisonPlan plan;
  ComparedRuns results;
  WaitChart waits;
  std::string page;  // where a report is wanted
};

Result<ComparedRuns> run_with_progress(Point& point, const Options& options, OutcomeFiles* files,
                                       FirstSeed* first) {
  const ComparisonPlan& plan = point.plan;
  const std::size_t cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  ProgressLine progress("simulating", plan.seeds.size() * plan.specs.size());
  const OutcomesOfSeed outcomes =
      [&](std::size_t seed,
          const std::vector<std::vector<JobOutcome>>& by_scheduler) -> Result<void> {
    point.waits.add(by_scheduler);
    if (first != nullptr) first->hear(seed, by_scheduler);
    if (files == nullptr) return {};
    return files->write(plan.seeds[seed], plan.specs, plan.workload(seed), by_scheduler);
  };
  return run_side_by_side(
      plan, options.threads > 0 ? options.threads : cores,
      [&](std::size_t run) { return progress.of_run(run); }, outcomes);
}

/// Null where nobody wants them.
Result<std::unique_ptr<OutcomeFiles>> open_outcomes(const Options& options) {
  const std::vector<OutputOption> outputs = {
      {"--outcomes", options.outcomes}, {"--csv", options.csv}, {"--report", options.report}};
  if (const auto apart = written_once(outputs); !apart) return std::unexpected(apart.error());
  for (const auto& [name, path] : outputs)
    if (const auto apart = options.run.not_read(name.c_str(), path); !apart)
      return std::unexpected(apart.error());
  if (options.outcomes.empty()) return nullptr;
  return OutcomeFiles::open(options.outcomes);
}

/// Null where nobody wants it.
Result<std::unique_ptr<WholeFile>> open_report(const Options& options) {
  if (options.report.empty()) return nullptr;
  return WholeFile::open(options.report);
}

Result<Point> run_point(const Options& given, const Sweep& sweep, const std::string& value,
                        OutcomeFiles* files) {
  Options options = given;
  double faster = 1;
  if (!value.empty()) {
    auto arguments = with_value(sweep, value, given.run);
    if (!arguments) return std::unexpected(arguments.error());
    options.run = *std::move(arguments);
    if (sweep.option == "compress" && options.run.trace.empty())
      faster = Ratio::parse(value)->value();
  }
  auto plan = read_plan(options, faster);
  if (!plan) return std::unexpected(plan.error());
  report_without_predictions(plan->simulation, plan->fleet, plan->workloads.front());
  if (files != nullptr) files->begin(sweep.option, value);
  Point point{value, *std::move(plan), {}, {}, {}};
  std::optional<FirstSeed> first;
  if (!options.report.empty()) {
    first.emplace(point.plan);
    point.plan.observer = [&](std::size_t seed, std::size_t scheduler) {
      return first->observer(seed, scheduler);
    };
  }
  auto results = run_with_progress(point, options, files, first ? &*first : nullptr);
  if (!results) return std::unexpected(results.error());
  point.results = *std::move(results);
  point.plan.observer = {};
  if (first) point.page = first->page(point.results);
  // The others are not read again, and a sweep has many.
  point.plan.workloads.erase(point.plan.workloads.begin() + 1, point.plan.workloads.end());
  return point;
}

Json point_json(const Point& point, bool timing) {
  return {{"runs", runs_json(point.plan, point.results, timing)},
          {"comparison", to_json(compare(point.results.seeds))}};
}

Json sweep_json(const std::string& option, const std::vector<Point>& points, bool timing) {
  Json all = Json::array();
  for (const Point& point : points) {
    Json json = {{"value", point.value}};
    json.update(point_json(point, timing));
    all.push_back(std::move(json));
  }
  return {{"sweep", option}, {"points", std::move(all)}};
}

void print_points(const Options& options, const Sweep& sweep, const std::vector<Point>& points) {
  const bool charts = wants_charts(options.charts);
  const Point& first = points.front();
  if (sweep.values.empty()) {
    print_text(first.plan, compare(first.results.seeds), first.results.seeds);
    std::vector<std::string> names;
    for (const SchedulerSpec& spec : first.plan.specs) names.push_back(spec.text);
    if (charts) say("\n{}", first.waits.text(names, shows_unicode(), terminal_width()));
  } else {
    std::vector<SweptComparison> comparisons;
    for (const Point& point : points)
      comparisons.push_back({point.value, compare(point.results.seeds)});
    say("{}{}{}", introduction(first.plan.fleet, first.plan.workloads.front()),
        run_text(first.plan.simulation, first.plan.fleet),
        sweep_text(sweep.option, comparisons, charts));
  }
  double seconds = 0;
  for (const Point& point : points)
    for (const auto& seed : point.results.seconds)
      for (const double run : seed) seconds += run;
  if (options.run.timing) say("simulated in {:.3f} s\n", seconds);
}

Result<void> write_csv(const std::string& path, const Sweep& sweep,
                       const std::vector<Point>& points) {
  std::vector<SweptRuns> runs;
  for (const Point& point : points) runs.push_back({point.value, point.results.seeds});
  return write_whole(path, compare_csv(sweep.option, runs));
}

Result<int> compare_command(const Options& options) {
  const auto sweep = parse_sweep(options.sweep);
  if (!sweep) return std::unexpected(sweep.error());
  if (!options.report.empty() && !sweep->values.empty())
    return fail(ErrorKind::bad_usage, "--report",
                "a report is of one comparison, and --sweep has several",
                "leave out one of the two");
  const auto files = open_outcomes(options);
  if (!files) return std::unexpected(files.error());
  const auto report = open_report(options);
  if (!report) return std::unexpected(report.error());
  std::vector<Point> points;
  for (const std::string& value :
       sweep->values.empty() ? std::vector<std::string>{""} : sweep->values) {
    auto point = run_point(options, *sweep, value, files->get());
    if (!point) return std::unexpected(point.error());
    points.push_back(*std::move(point));
  }
  if (*files != nullptr)
    if (const auto done = (*files)->finish(); !done) return std::unexpected(done.error());
  if (*report != nullptr) {
    (*report)->stream() << points.front().page;
    if (const auto done = (*report)->finish(); !done) return std::unexpected(done.error());
  }
  if (!options.csv.empty())
    if (const auto done = write_csv(options.csv, *sweep, points); !done)
      return std::unexpected(done.error());
  if (options.run.json) {
    print(sweep->values.empty() ? point_json(points.front(), options.run.timing)
                                : sweep_json(sweep->option, points, options.run.timing));
    return 0;
  }
  print_points(options, *sweep, points);
  return 0;
}

}  // namespace

void add_compare(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "compare", "Compare several schedulers on the same workload and fleet",
      "cleave compare --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl --schedulers "
      "full-gpu,online",
      compare_command);
  options.run.add(*command);
  command
      ->add_option("--schedulers", options.schedulers,
                   "SPEC,SPEC,...; the others are compared with the first one")
      ->required();
  command
      ->add_option("--seeds", options.seeds,
                   "Number of seeds, counting up from --seed; each draws the random parts again")
      ->check(whole_number(1))
      ->default_str("1");
  command
      ->add_option("--threads", options.threads,
                   "Number of runs at a time; the answer does not depend on it")
      ->check(whole_number(1))
      ->default_str("one for each core");
  command
      ->add_option(
          "--outcomes", options.outcomes,
          "Write what became of each job in each run to FILE, one line of JSON each, or a row of "
          "CSV where FILE ends with .csv; or to a folder (there already, or with / at its end) as "
          "a file for each run")
      ->check(not_empty())
      ->type_name("FILE");
  command
      ->add_option("--csv", options.csv,
                   "Write a row for each scheduler and seed to FILE, with every figure")
      ->check(not_empty())
      ->type_name("FILE");
  add_report_option(*command, options.report);
  command
      ->add_option("--sweep", options.sweep,
                   "Compare for each of several values: compress=5,10,20 (arrivals come so many "
                   "times faster), or gpus=2,4,8 (of a fleet in short)")
      ->check(not_empty())
      ->type_name("OPTION=VALUE,...");
  command
      ->add_option("--charts", options.charts,
                   "Small charts: how long jobs waited, how times go with a sweep; auto: on a "
                   "terminal")
      ->check(Check::one_of(when_charts))
      ->default_str(options.charts);
}

}  // namespace cleave::cli
