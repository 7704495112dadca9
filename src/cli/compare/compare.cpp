// `cleave compare`: several schedulers on the same workloads and fleet, one workload for each seed.

#include "simulate/comparison.hpp"

#include <algorithm>
#include <optional>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/ratio.hpp"
#include "base/terminal.hpp"
#include "cli/assumed_range.hpp"
#include "cli/blocks.hpp"
#include "cli/command.hpp"
#include "cli/compare/compare_csv.hpp"
#include "cli/compare/compare_report.hpp"
#include "cli/compare/compare_text.hpp"
#include "cli/compare/sweep.hpp"
#include "cli/compare/wait_chart.hpp"
#include "cli/history_replay.hpp"
#include "cli/nothing_ran.hpp"
#include "cli/output_files.hpp"
#include "cli/report_file.hpp"
#include "cli/run_outcomes.hpp"
#include "cli/say.hpp"
#include "cli/workload_arguments.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave::cli {

namespace {

struct CompareCommandOptions {
  RunArguments run;
  HistoryArguments history;
  std::string schedulers, outcomes, csv, report, sweep, charts = when_charts.front();
  std::uint64_t seeds = 1, threads = 0;
  CompareCommandOptions() { run.fleet_may_be_asked = true; }
};

/// A comparison, and the past that it replays, if it does.
struct Question {
  ComparisonPlan plan;
  std::optional<HistoryReplay> replay;
  std::optional<std::size_t> ran;  // index of the scheduler that ran
};

/// The past as the workload; the scheduler that ran is compared too.
Result<void> read_past(const CompareCommandOptions& options, Question& question) {
  ComparisonPlan& plan = question.plan;
  auto replay = read_replay(options.history, plan.fleet);
  if (!replay) return std::unexpected(replay.error());
  plan.workloads.push_back(replay->workload);
  if (!replay->ran.empty()) {
    auto ran = parse_scheduler(replay->ran);
    if (!ran) return fail_at("--ran", ran.error());
    const auto at = std::ranges::find_if(plan.specs, [&](const SchedulerSpec& spec) {
      return spec.row == ran->row && spec.options == ran->options;
    });
    question.ran = static_cast<std::size_t>(at - plan.specs.begin());
    if (at == plan.specs.end()) plan.specs.push_back(*std::move(ran));
  }
  question.replay = *std::move(replay);
  return {};
}

/// Arrivals of workloads that are not traces come `faster`.
Result<Question> read_question(const CompareCommandOptions& options, double faster) {
  Question question;
  ComparisonPlan& plan = question.plan;
  const auto fits = options.history.check(options.run.names_workload());
  if (!fits) return std::unexpected(fits.error());
  auto specs = parse_schedulers(options.schedulers);
  if (!specs) return std::unexpected(specs.error());
  plan.specs = *std::move(specs);
  auto fleet = options.history.read_fleet(options.run.fleet, options.run.profiles);
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
    const bool drawn = options.run.workload_is_drawn();
    if (!options.history.source.empty() || (k > 0 && !drawn)) continue;
    auto workload = options.run.read_workload(plan.seeds.back());
    if (!workload) return std::unexpected(workload.error());
    if (faster != 1)
      if (const auto done = compress_arrivals(*workload, faster); !done)
        return std::unexpected(done.error());
    plan.workloads.push_back(*std::move(workload));
  }
  if (!options.history.source.empty())
    if (const auto past = read_past(options, question); !past) return std::unexpected(past.error());
  return question;
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
  Question question;
  ComparedRuns results;
  WaitChart waits;
  std::vector<JobOutcome> of_past = {};  // of the scheduler that ran, with the first seed
  AssumedRange range = {};
  std::optional<ReplayErrors> errors = {};

  [[nodiscard]] const ComparisonPlan& plan() const { return question.plan; }
  std::string page = {};  // where a report is wanted
};

std::size_t threads_of(const CompareCommandOptions& options) {
  const std::size_t cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  return options.threads > 0 ? options.threads : cores;
}

Result<ComparedRuns> run_with_progress(Point& point, const CompareCommandOptions& options,
                                       OutcomeFiles* files, FirstSeed* first) {
  const ComparisonPlan& plan = point.plan();
  ProgressLine progress("simulating", plan.seeds.size() * plan.specs.size());
  const OutcomesOfSeed outcomes =
      [&](std::size_t seed,
          const std::vector<std::vector<JobOutcome>>& by_scheduler) -> Result<void> {
    point.waits.add(by_scheduler);
    if (first != nullptr) first->hear(seed, by_scheduler);
    if (point.question.ran && seed == 0) point.of_past = by_scheduler[*point.question.ran];
    if (files == nullptr) return {};
    return files->write(plan.seeds[seed], plan.specs, plan.workload(seed), by_scheduler);
  };
  return run_side_by_side(
      plan, threads_of(options), [&](std::size_t run) { return progress.of_run(run); }, outcomes);
}

/// Null where nobody wants them.
Result<std::unique_ptr<OutcomeFiles>> open_outcomes(const CompareCommandOptions& options) {
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
Result<std::unique_ptr<WholeFile>> open_report(const CompareCommandOptions& options) {
  if (options.report.empty()) return nullptr;
  return WholeFile::open(options.report);
}

/// What the answer rests on: over a range of what was assumed where there is one comparison alone,
/// and beside the past that it replays.
Result<void> judge(Point& point, const CompareCommandOptions& options, bool alone) {
  const Question& question = point.question;
  if (alone) {
    const auto& others = question.replay ? question.replay->others : assumptions_for(question.plan);
    auto range =
        run_range(question.plan, compare(point.results.seeds), others, threads_of(options));
    if (!range) return std::unexpected(range.error());
    point.range = *std::move(range);
  }
  if (question.ran)
    point.errors =
        replay_errors(question.replay->past,
                      point.results.seeds.front().runs[*question.ran].makespan, point.of_past);
  return {};
}

std::optional<ReplayedPast> past_of(const Point& point) {
  if (!point.question.replay) return std::nullopt;
  return ReplayedPast{*point.question.replay, point.errors};
}

Result<Point> run_point(const CompareCommandOptions& given, const Sweep& sweep,
                        const std::string& value, OutcomeFiles* files) {
  CompareCommandOptions options = given;
  double faster = 1;
  if (!value.empty()) {
    auto arguments = with_value(sweep, value, given.run);
    if (!arguments) return std::unexpected(arguments.error());
    options.run = *std::move(arguments);
    if (sweep.option == "compress" && options.run.trace.empty())
      faster = Ratio::parse(value)->value();
  }
  auto question = read_question(options, faster);
  if (!question) return std::unexpected(question.error());
  Point point{value, *std::move(question), {}, {}};
  ComparisonPlan& plan = point.question.plan;
  report_without_predictions(plan.simulation, plan.fleet, plan.workloads.front());
  if (files != nullptr) files->begin(sweep.option, value);
  std::optional<FirstSeed> first;
  if (!options.report.empty()) {
    first.emplace(plan);
    plan.observer = [&](std::size_t seed, std::size_t scheduler) {
      return first->observer(seed, scheduler);
    };
  }
  auto results = run_with_progress(point, options, files, first ? &*first : nullptr);
  if (!results) return std::unexpected(results.error());
  point.results = *std::move(results);
  plan.observer = {};
  if (const auto judged = judge(point, options, sweep.values.empty()); !judged)
    return std::unexpected(judged.error());
  if (first) point.page = first->page(point.results, past_of(point));
  // The others are not read again, and a sweep has many.
  plan.workloads.erase(plan.workloads.begin() + 1, plan.workloads.end());
  return point;
}

Json point_json(const Point& point, bool timing) {
  Json json{{"runs", runs_json(point.plan(), point.results, timing)},
            {"comparison", to_json(compare(point.results.seeds))},
            {"assumed", to_json(point.range)}};
  if (point.question.replay) json["history"] = to_json(*point.question.replay, point.errors);
  return json;
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

void print_points(const CompareCommandOptions& options, const Sweep& sweep,
                  const std::vector<Point>& points) {
  const bool charts = wants_charts(options.charts);
  const Point& first = points.front();
  if (sweep.values.empty()) {
    print_text({first.plan(), compare(first.results.seeds), first.results.seeds, first.range,
                first.question.replay, first.errors});
    std::vector<std::string> names;
    for (const SchedulerSpec& spec : first.plan().specs) names.push_back(spec.text);
    if (charts) say("\n{}", first.waits.text(names, shows_unicode(), terminal_width()));
  } else {
    std::vector<SweptComparison> comparisons;
    for (const Point& point : points)
      comparisons.push_back({point.value, compare(point.results.seeds)});
    say("{}{}{}", introduction(first.plan().fleet, first.plan().workloads.front()),
        run_text(first.plan().simulation, first.plan().fleet),
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

/// The answer is there whatever it says; where no job could run under any scheduler, the command
/// has failed all the same.
int exit_code_of(const std::vector<Point>& points) {
  std::vector<const RunSummary*> runs;
  for (const Point& point : points)
    for (const SeedRuns& seed : point.results.seeds)
      for (const RunSummary& run : seed.runs) runs.push_back(&run);
  const auto nothing = nothing_ran(runs);
  return nothing ? report_error(*nothing, false) : 0;
}

Result<int> compare_command(const CompareCommandOptions& options) {
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
    return exit_code_of(points);
  }
  print_points(options, *sweep, points);
  return exit_code_of(points);
}

}  // namespace

void add_compare(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "compare", "Compare several schedulers on the same workload and fleet",
      "cleave compare --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl --schedulers "
      "full-gpu,online",
      compare_command);
  options.run.add(*command);
  options.history.add(*command);
  command
      ->add_option("--ran", options.history.ran,
                   "With --history: the scheduler that ran, to be compared with what was seen; "
                   "of a daemon that is asked, the one that it has now")
      ->check(not_empty());
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
                   "Compare for each of several values: compress=5,10,20 (arrivals come 5, 10 and "
                   "20 times faster), or gpus=2,4,8 (of a fleet in short)")
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
