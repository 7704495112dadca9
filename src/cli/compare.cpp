// `cleave compare`: several schedulers on the same workloads and fleet, one workload for each seed.

#include "simulate/comparison.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/assumed_range.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "cli/history_replay.hpp"
#include "cli/run_outcomes.hpp"
#include "cli/workload_arguments.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave::cli {

namespace {

struct Options {
  RunArguments run;
  HistoryArguments history;
  std::string schedulers, outcomes;
  std::uint64_t seeds = 1, threads = 0;
  Options() { run.fleet_may_be_asked = true; }
};

/// A comparison, and the past that it replays, if it does.
struct Question {
  ComparisonPlan plan;
  std::optional<HistoryReplay> replay;
  std::optional<std::size_t> ran;  // index of the scheduler that ran
};

/// The past as the workload; the scheduler that ran is compared too.
Result<void> read_past(const Options& options, Question& question) {
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

Result<Question> read_question(const Options& options) {
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
    plan.workloads.push_back(*std::move(workload));
  }
  if (!options.history.source.empty())
    if (const auto past = read_past(options, question); !past) return std::unexpected(past.error());
  return question;
}

// Words.

const FigureComparison& figure(const SchedulerComparison& scheduler, std::string_view name) {
  return *std::ranges::find(scheduler.figures, name, &FigureComparison::figure);
}

std::string median_of(const FigureComparison& figure) {
  return figure.value ? in_unit(figure.unit, figure.value->median) : "-";
}

/// The figures of the overview, from left to right.
constexpr std::pair<const char*, const char*> overview[] = {{"done", "finished"},
                                                            {"makespan", "makespan_s"},
                                                            {"mean wait", "wait_mean_s"},
                                                            {"95 % wait", "wait_p95_s"},
                                                            {"turnaround", "turnaround_mean_s"},
                                                            {"compute", "compute_utilization"},
                                                            {"fragmented", "fragmentation_mean"},
                                                            {"creates", "creates"}};
/// Columns that are shown only where schedulers differ in them.
constexpr std::pair<const char*, const char*> where_they_differ[] = {
    {"memory", "memory_allocated_utilization"},
    {"energy", "energy_j"},
    {"changes", "reconfigurations"}};

std::string bound_of(const FigureComparison& figure) {
  return figure.bound ? in_unit(figure.unit, figure.bound->median) : "-";
}

constexpr const char* bounded[] = {"makespan_s", "turnaround_mean_s"};

bool same_bounds(const SchedulerComparison& a, const SchedulerComparison& b) {
  return std::ranges::all_of(
      bounded, [&](const char* name) { return figure(a, name).bound == figure(b, name).bound; });
}

/// What no scheduler can beat, in the place of a scheduler: of those that put one job on an
/// instance, or of all where there are none. Nothing where no job is finished by all.
std::optional<SchedulerComparison> bound_row(const RunComparison& comparison) {
  std::optional<SchedulerComparison> highest;
  for (const SchedulerComparison& scheduler : comparison.schedulers) {
    const auto& bound = figure(scheduler, "turnaround_mean_s").bound;
    if (!bound) continue;
    if (!highest || bound->median > figure(*highest, "turnaround_mean_s").bound->median)
      highest = scheduler;
  }
  if (!highest) return highest;
  highest->scheduler = "lower bound";
  for (FigureComparison& of : highest->figures)
    of.value = std::ranges::find(bounded, of.figure) == std::end(bounded) ? std::nullopt : of.bound;
  return highest;
}

void print_overview(const RunComparison& comparison, const std::optional<HistoryReplay>& replay) {
  Columns<SchedulerComparison> columns = {
      {text_only, "scheduler", &SchedulerComparison::scheduler}};
  const auto add = [&](const char* heading, const char* name) {
    columns.emplace_back(text_only, heading, [name](const SchedulerComparison& scheduler) {
      return median_of(figure(scheduler, name));
    });
  };
  for (const auto& [heading, name] : overview) add(heading, name);
  for (const auto& [heading, name] : where_they_differ) {
    std::set<std::string> values;
    for (const SchedulerComparison& scheduler : comparison.schedulers)
      values.insert(median_of(figure(scheduler, name)));
    if (values.size() > 1) add(heading, name);
  }
  std::vector<SchedulerComparison> rows = comparison.schedulers;
  if (replay) rows.push_back(seen_row(*replay, rows.front()));
  if (const auto bound = bound_row(comparison)) rows.push_back(*bound);
  fmt::print("\n{}\n", text_rows(columns, rows));
}

/// The bounds of schedulers that share instances, where others do not.
void print_other_bounds(const RunComparison& comparison) {
  const auto bound = bound_row(comparison);
  if (!bound) return;
  std::vector<std::string> sharing;
  const SchedulerComparison* one = nullptr;
  for (const SchedulerComparison& scheduler : comparison.schedulers)
    if (figure(scheduler, "turnaround_mean_s").bound && !same_bounds(scheduler, *bound)) {
      sharing.push_back(scheduler.scheduler);
      one = &scheduler;
    }
  if (one == nullptr) return;
  fmt::print("jobs share instances under {}: bounds there are {} and {}\n",
             fmt::join(sharing, ", "), bound_of(figure(*one, "makespan_s")),
             bound_of(figure(*one, "turnaround_mean_s")));
}

/// Jobs that did not finish, and which jobs the times are of where it is not all that anyone
/// finished.
void print_jobs(const RunComparison& comparison) {
  for (const SchedulerComparison& scheduler : comparison.schedulers) {
    std::vector<std::string> ends;
    for (const char* name : {"failed", "rejected", "waiting"})
      if (const auto& value = figure(scheduler, name).value; value && value->high > 0)
        ends.push_back(fmt::format("{:g} {}", value->median, name));
    if (!ends.empty()) fmt::print("{}: {}\n", scheduler.scheduler, fmt::join(ends, ", "));
  }
  for (const SchedulerComparison& scheduler : comparison.schedulers)
    if (scheduler.without_times > 0)
      fmt::print("{} finishes fewer than half as many jobs as the best{}: it is not in the times\n",
                 scheduler.scheduler,
                 comparison.seeds.size() == 1
                     ? ""
                     : fmt::format(" with {} of {}", scheduler.without_times,
                                   counted(comparison.seeds.size(), "seed")));
  if (comparison.same_jobs_always()) return;
  const auto [least, most] = std::ranges::minmax(comparison.compared_jobs);
  const std::string jobs =
      least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
  fmt::print(
      "the schedulers do not all finish the same jobs: waiting and turnaround are over the {} jobs "
      "that all finish,\nand makespans are not compared\n",
      jobs);
}

/// One seed: a line each, no word on chance.
void print_ratios(const RunComparison& comparison) {
  const SchedulerComparison& base = comparison.schedulers.front();
  for (const SchedulerComparison& other : std::span(comparison.schedulers).subspan(1)) {
    std::vector<std::string> said;
    if (const auto& ratio = figure(other, "makespan_s").ratio)
      said.push_back(fmt::format("{:.2f} times the makespan of {}", ratio->median, base.scheduler));
    if (const auto& ratio = figure(other, "turnaround_mean_s").ratio)
      said.push_back(said.empty() ? fmt::format("{:.2f} times the mean turnaround of {}",
                                                ratio->median, base.scheduler)
                                  : fmt::format("{:.2f} times its mean turnaround", ratio->median));
    if (!said.empty()) fmt::print("{} needs {}\n", other.scheduler, fmt::join(said, ", and "));
  }
}

/// "makespan_s" as "makespan", "oom_restarts" as "oom restarts".
std::string words_of(const FigureComparison& figure) {
  std::string words(figure.figure);
  for (const std::string_view unit : {"_jobs_per_s", "_s", "_j"})
    if (words.ends_with(unit)) words.resize(words.size() - unit.size());
  std::ranges::replace(words, '_', ' ');
  return words;
}

void print_against_first(const SchedulerComparison& first, const SchedulerComparison& other) {
  fmt::print("\n{} against {}\n", other.scheduler, first.scheduler);
  using F = FigureComparison;
  const Columns<F> columns = {
      {text_only, " ", words_of},  // no heading
      {text_only, "first", [&](const F& here) { return median_of(figure(first, here.figure)); }},
      {text_only, "this", median_of},
      {text_only, "ratio",
       [](const F& here) {
         return here.ratio ? fmt::format("{:.2f} ({:.2f} to {:.2f})", here.ratio->median,
                                         here.ratio->low, here.ratio->high)
                           : "-";
       }},
      {text_only, "lower/higher",
       [](const F& here) { return fmt::format("{}/{}", here.lower, here.higher); }},
      {text_only, "beyond spread", &F::exceeds_spread}};
  std::vector<F> differing;
  std::ranges::copy_if(other.figures, std::back_inserter(differing),
                       [](const F& here) { return here.lower + here.higher > 0; });
  fmt::print("{}", text_rows(columns, differing));
}

void print_seeds(const RunComparison& comparison) {
  const std::size_t seeds = comparison.seeds.size(), distinct = comparison.distinct_seeds;
  if (distinct == 1) {
    fmt::print("the {} seeds make no difference: nothing in this run is random\n", seeds);
    return print_ratios(comparison);
  }
  if (distinct < seeds)
    fmt::print("only {} of the {} seeds make a difference; the others are left out\n", distinct,
               seeds);
  fmt::print("medians over the seeds {} to {}; in brackets after the ratios, {}\n",
             comparison.seeds.front(), comparison.seeds.back(),
             distinct >= seeds_for_quartiles ? "the quartiles" : "the lowest and the highest");
  for (const SchedulerComparison& other : std::span(comparison.schedulers).subspan(1))
    print_against_first(comparison.schedulers.front(), other);
  fmt::print(
      "\nratio: this over first, with the same seed; lower/higher: in how many seeds this is so\n");
  if (distinct >= seeds_for_a_statement) {
    fmt::print("beyond spread: a sign test over the seeds gives at most 5 %\n");
  } else {
    fmt::print(
        "beyond spread: too few seeds to tell a difference from chance; at least 6 are needed\n");
  }
}

void print_text(const Question& question, const RunComparison& comparison,
                const AssumedRange& range, const std::vector<SeedRuns>& runs,
                const std::optional<ReplayErrors>& errors) {
  const ComparisonPlan& plan = question.plan;
  fmt::print("{}{}{}{}", introduction(plan.fleet, plan.workloads.front()),
             question.replay ? introduction_of(question.replay->past, plan.fleet) : "",
             run_text(plan.simulation, plan.fleet), assumed_text(range.counts, plan.fleet));
  print_overview(comparison, question.replay);
  print_other_bounds(comparison);
  print_jobs(comparison);
  comparison.seeds.size() == 1 ? print_ratios(comparison) : print_seeds(comparison);
  if (const std::string text = range_text(range); !text.empty()) fmt::print("\n{}", text);
  if (question.replay) fmt::print("\n{}", errors_text(*question.replay, errors));
  std::string said;
  for (const RunSummary& summary : runs.front().runs) {
    const std::string all = remarks(summary, !plan.simulation.reconfiguration);
    for (const std::string_view line : split(all, '\n'))
      if (!line.empty() && said.find(line) == std::string::npos) said += fmt::format("{}\n", line);
  }
  if (runs.size() > 1 && !said.empty())
    said = fmt::format("with seed {}:\n{}", runs.front().seed, said);
  fmt::print("\n{}", said);
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

/// `of_past`: becomes the outcomes of the scheduler that ran, with the first seed.
Result<ComparedRuns> run_with_progress(const Question& question, std::size_t most_threads,
                                       OutcomeFiles* files, std::vector<JobOutcome>& of_past) {
  const ComparisonPlan& plan = question.plan;
  ProgressLine progress("simulating", plan.seeds.size() * plan.specs.size());
  OutcomesOfSeed outcomes;
  if (files != nullptr || question.ran)
    outcomes = [&](std::size_t seed,
                   const std::vector<std::vector<JobOutcome>>& by_scheduler) -> Result<void> {
      if (question.ran && seed == 0) of_past = by_scheduler[*question.ran];
      if (files == nullptr) return {};
      return files->write(plan.seeds[seed], plan.specs, plan.workload(seed), by_scheduler);
    };
  return run_side_by_side(
      plan, most_threads, [&](std::size_t run) { return progress.of_run(run); }, outcomes);
}

/// Null where nobody wants them.
Result<std::unique_ptr<OutcomeFiles>> open_outcomes(const Options& options) {
  if (options.outcomes.empty()) return nullptr;
  if (const auto apart = options.run.not_read("--outcomes", options.outcomes); !apart)
    return std::unexpected(apart.error());
  return OutcomeFiles::open(options.outcomes);
}

Result<int> compare_command(const Options& options) {
  const auto question = read_question(options);
  if (!question) return std::unexpected(question.error());
  const ComparisonPlan* const plan = &question->plan;
  report_without_predictions(plan->simulation, plan->fleet, plan->workloads.front());
  const std::size_t cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  const auto files = open_outcomes(options);
  if (!files) return std::unexpected(files.error());
  const std::size_t threads = options.threads > 0 ? options.threads : cores;
  std::vector<JobOutcome> of_past;
  const auto results = run_with_progress(*question, threads, files->get(), of_past);
  if (!results) return std::unexpected(results.error());
  if (*files != nullptr)
    if (const auto done = (*files)->finish(); !done) return std::unexpected(done.error());
  const RunComparison comparison = compare(results->seeds);
  const auto& replay = question->replay;
  const auto range =
      run_range(*plan, comparison, replay ? replay->others : assumptions_for(*plan), threads);
  if (!range) return std::unexpected(range.error());
  std::optional<ReplayErrors> errors;
  if (question->ran)
    errors =
        replay_errors(replay->past, results->seeds.front().runs[*question->ran].makespan, of_past);
  if (options.run.json) {
    Json json{{"runs", runs_json(*plan, *results, options.run.timing)},
              {"comparison", to_json(comparison)},
              {"assumed", to_json(*range)}};
    if (replay) json["history"] = to_json(*replay, errors);
    print(json);
    return 0;
  }
  print_text(*question, comparison, *range, results->seeds, errors);
  double seconds = 0;
  for (const auto& seed : results->seconds)
    for (const double run : seed) seconds += run;
  if (options.run.timing) fmt::print("simulated in {:.3f} s\n", seconds);
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
          "Write what became of each job in each run to FILE, one line of JSON each, or to "
          "a folder (there already, or with / at its end) as a file for each run")
      ->check(not_empty())
      ->type_name("FILE");
}

}  // namespace cleave::cli
