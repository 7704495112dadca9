// `cleave bench planner`: seconds from a fleet that has been read to the text of the optimal plan
// in memory, on the paper's test cases (study/wpm/paper_cases.hpp), and what CBC needs for the
// paper's own assignment model of the same cases (study/wpm/wpm.hpp), as far as fleets are small
// enough for that.

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "cli/columns.hpp"
#include "planner/heuristic.hpp"
#include "planner/plan_text.hpp"
#include "study/bench/bench_parts.hpp"
#include "study/wpm/paper_cases.hpp"
#include "study/wpm/wpm.hpp"

namespace cleave::cli {

namespace {

struct BenchPlannerCommandOptions {
  std::vector<std::size_t> gpus = {8, 80, 1000, 10000, 100000};
  std::size_t cases = 5;             // seeds 1, 2, ...
  std::size_t assignment_cases = 1;  // of these, how many go through the assignment model
  double assignment_limit = 30;      // seconds; 0: without the assignment model
  std::vector<std::string> problems = {"deploy", "reconfigure", "compact", "joint"};
  std::string model = "A100-80GB";
  bool json = false;
};

constexpr std::size_t largest_assignment = 80;  // GPUs; larger ones are left out

/// The options with their names looked up.
struct Measuring {
  std::size_t cases;
  Duration assignment_limit;
  const GpuModel* model;
};

struct PlannerBench {
  ProblemKind problem = ProblemKind::deploy;
  std::size_t gpus = 0, cases = 0;
  double seconds_median = 0, seconds_max = 0;
  PlanStatus status = PlanStatus::optimal;  // the worst of all cases
  std::size_t optimal = 0;                  // cases proven
  std::size_t text_bytes = 0;               // of the last plan
};

struct AssignmentBench {
  ProblemKind problem = ProblemKind::deploy;
  std::size_t gpus = 0;
  std::uint64_t seed = 0;
  WpmResult counted;  // equal workloads as counts: the model without the symmetry of its workloads
  WpmResult binary;   // a binary for each workload and bin, as the paper writes it
  double planner_seconds = 0;
  PlanStatus planner_status = PlanStatus::optimal;
  std::vector<Objective> planner;  // what the planner reached on the same case

  /// The one that was sooner within the gap, else sooner at its end.
  [[nodiscard]] const WpmResult& quicker() const;
  /// Pending memory slices, GPUs in use, wasted slices: what means the same in both.
  [[nodiscard]] std::array<std::int64_t, 3> of_planner() const;
  /// "same", "better" or "worse": the planner's of these beside the model's, the first that
  /// differs; empty where CBC has no solution.
  [[nodiscard]] std::string_view planner_is(const WpmResult& result) const;
};

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

constexpr ProblemKind all_kinds[] = {ProblemKind::deploy, ProblemKind::reconfigure,
                                     ProblemKind::compact, ProblemKind::joint};

FleetFile fleet_for(const Measuring& options, ProblemKind kind, std::size_t gpus,
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
  const auto begin = ProcessorClock::now();
  const auto problem = PlanProblem::make(fleet, kind, "case");
  if (!problem) return std::unexpected(problem.error());
  auto plan = make_plan(*problem, {});
  if (!plan) return std::unexpected(plan.error());
  const std::string text = plan_text(*problem, *plan);
  return Timed{std::move(*plan), seconds_since(begin), text.size()};
}

/// What the paper's rules make of the case, for CBC to start from. Rules know no joint problem;
/// there new work is placed and what runs stays. Where they find no place for what runs, it starts
/// from what is now.
Result<Goal> start_of(const FleetFile& fleet, ProblemKind kind) {
  const auto problem =
      PlanProblem::make(fleet, kind == ProblemKind::joint ? ProblemKind::deploy : kind, "case");
  if (!problem) return std::unexpected(problem.error());
  const auto rules = std::ranges::find(heuristics(), "rules", &Heuristic::name);
  Goal goal = kind == ProblemKind::compact       ? rules->compact(*problem).goal
              : kind == ProblemKind::reconfigure ? rules->reconfigure(*problem).goal
                                                 : rules->deploy(*problem).goal;
  if (evicted(*problem, goal)) return goal_of_now(*problem);
  return goal;
}

Result<AssignmentBench> bench_assignment(const Measuring& options, ProblemKind kind,
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

Result<PlannerBench> bench_one(const Measuring& options, ProblemKind kind, std::size_t gpus) {
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
  bench.seconds_median = median(seconds);
  bench.seconds_max = std::ranges::max(seconds);
  return bench;
}

const Columns<PlannerBench> columns = {
    {"problem", "problem", [](const PlannerBench& run) { return name(run.problem); }},
    {"gpus", "GPUs", &PlannerBench::gpus},
    {"cases", "cases", &PlannerBench::cases},
    {"seconds_median", "median s", &PlannerBench::seconds_median, decimals(4)},
    {"seconds_max", "most s", &PlannerBench::seconds_max, decimals(4)},
    {"status", json_only, [](const PlannerBench& run) { return name(run.status); }},
    {"optimal", "proven", &PlannerBench::optimal},
    {"text_bytes", "plan KiB", &PlannerBench::text_bytes,
     [](const Json& bytes) { return fmt::format("{}", bytes.get<std::size_t>() / 1024); }}};

using W = WpmResult;
const Columns<WpmResult> model_columns = {
    {"seconds_to_gap", json_only, &W::seconds_to_gap},
    {"seconds", json_only, &W::seconds},
    {"status", json_only, [](const W& result) { return name(result.status); }},
    {"objective", json_only, &W::objective},
    {"bound", json_only, &W::bound},
    {"start_objective", json_only, &W::start_objective},
    {"pending_memory_slices", json_only, [](const W& result) { return result.values.pending; }},
    {"gpus_used", json_only, [](const W& result) { return result.values.gpus; }},
    {"wasted_slices", json_only, [](const W& result) { return result.values.waste; }},
    {"migration_memory_slices", json_only, [](const W& result) { return result.values.migration; }},
    {"repartitioned_gpus", json_only, [](const W& result) { return result.values.repartitioned; }},
    {"unmerged_gpus", json_only, &W::unmerged},
    {"columns", json_only, &W::columns},
    {"integers", json_only, &W::integers},
    {"rows", json_only, &W::rows}};

Json model_json(const AssignmentBench& run, const WpmResult& result) {
  Json json = json_row(model_columns, result);
  const std::string_view is = run.planner_is(result);
  json["planner_is"] = is.empty() ? Json(nullptr) : Json(is);
  return json;
}

Json to_json(const AssignmentBench& run) {
  Json row = {{"problem", name(run.problem)}, {"gpus", run.gpus}, {"seed", run.seed}};
  row.update(json_row(model_columns, run.quicker()));
  row["counted"] = model_json(run, run.counted);
  row["binary"] = model_json(run, run.binary);
  row["planner_is"] = model_json(run, run.quicker())["planner_is"];
  Json objective = Json::array();
  for (const Objective& part : run.planner)
    objective.push_back({{"name", part.name}, {"value", part.value}, {"bound", part.bound}});
  const auto [pending, used, wasted] = run.of_planner();
  row["planner"] = {{"seconds", run.planner_seconds},   {"status", name(run.planner_status)},
                    {"pending_memory_slices", pending}, {"gpus_used", used},
                    {"wasted_slices", wasted},          {"objective", std::move(objective)}};
  return row;
}

/// What CBC made of one form of a case, beside what the planner made of it.
struct ModelRun {
  const AssignmentBench* bench;
  const WpmResult* result;
};

std::string three(const std::array<std::int64_t, 3>& figures) {
  return fmt::format("{}", fmt::join(figures, " "));
}

const Columns<ModelRun> text_columns = {
    {text_only, "problem", [](const ModelRun& run) { return name(run.bench->problem); }},
    {text_only, "GPUs", [](const ModelRun& run) { return run.bench->gpus; }},
    {text_only, "seed", [](const ModelRun& run) { return run.bench->seed; }},
    {text_only, "equal work",
     [](const ModelRun& run) { return run.result == &run.bench->counted ? "counted" : "apart"; }},
    {text_only, "columns", [](const ModelRun& run) { return run.result->columns; }},
    {text_only, "rows", [](const ModelRun& run) { return run.result->rows; }},
    {text_only, "s to 0.2 %", [](const ModelRun& run) { return run.result->seconds_to_gap; },
     decimals(2)},
    {text_only, "s", [](const ModelRun& run) { return run.result->seconds; }, decimals(2)},
    {text_only, "status", [](const ModelRun& run) { return name(run.result->status); }},
    {text_only, "model",
     [](const ModelRun& run) {
       const WpmValues& values = run.result->values;
       return run.bench->planner_is(*run.result).empty()
                  ? "-"
                  : three({values.pending, values.gpus, values.waste});
     }},
    {text_only, "planner", [](const ModelRun& run) { return three(run.bench->of_planner()); }},
    {text_only, "planner is",
     [](const ModelRun& run) {
       const std::string_view is = run.bench->planner_is(*run.result);
       return is.empty() ? "-" : is;
     }},
    {text_only, "planner s", [](const ModelRun& run) { return run.bench->planner_seconds; },
     decimals(4)}};

void print_text(const std::vector<PlannerBench>& runs,
                const std::vector<AssignmentBench>& assignment, double limit) {
  fmt::print("From a fleet that has been read to the text of the optimal plan\n\n{}",
             text_rows(columns, runs));
  if (assignment.empty()) return;
  std::vector<ModelRun> rows;
  for (const AssignmentBench& run : assignment) {
    rows.push_back({&run, &run.counted});
    rows.push_back({&run, &run.binary});
  }
  fmt::print(
      "\nThe paper's assignment model given to CBC, from the rules' solution, {} s at most\n"
      "model, planner: pending memory slices, GPUs in use, wasted slices; the first that differs "
      "decides\n\n{}",
      limit, text_rows(text_columns, rows));
}

Result<int> planner(const BenchPlannerCommandOptions& given) {
  const auto model = find_gpu_model(given.model);
  if (!model) return std::unexpected(model.error());
  const auto limit = duration_from_seconds(given.assignment_limit);
  if (!limit) return std::unexpected(limit.error());
  const Measuring measuring{given.cases, *limit, *model};
  std::vector<PlannerBench> runs;
  std::vector<AssignmentBench> assignment;
  std::vector<ProblemKind> kinds;
  for (const ProblemKind kind : all_kinds)
    if (std::ranges::find(given.problems, name(kind)) != given.problems.end())
      kinds.push_back(kind);
  for (const std::size_t gpus : given.gpus)
    for (const ProblemKind kind : kinds) {
      const auto bench = bench_one(measuring, kind, gpus);
      if (!bench) return std::unexpected(bench.error());
      runs.push_back(*bench);
    }
  for (const std::size_t gpus : given.gpus) {
    if (*limit <= Duration::zero() || gpus > largest_assignment) continue;
    for (const ProblemKind kind : kinds)
      for (std::uint64_t seed = 1; seed <= given.assignment_cases; ++seed) {
        const auto bench = bench_assignment(measuring, kind, gpus, seed);
        if (!bench) return std::unexpected(bench.error());
        assignment.push_back(*bench);
      }
  }
  if (!given.json) {
    print_text(runs, assignment, given.assignment_limit);
    return 0;
  }
  Json list = Json::array();
  for (const AssignmentBench& run : assignment) list.push_back(to_json(run));
  print(Json{{"runs", json_rows(columns, runs)}, {"assignment", list}});
  return 0;
}

}  // namespace

void add_bench_planner(CommandLine& bench, Run& run) {
  const auto [command, options] = add_command(
      bench, run, "planner", "Optimal plans, and the paper's assignment model beside them",
      "cleave bench planner --gpus 8,80 --cases 3 --assignment-limit 5", planner);
  add_fleet_sizes(*command, options.gpus);
  command->add_option("--problems", options.problems, "Which of the problems")
      ->delimiter(',')
      ->check(Check::one_of({"deploy", "reconfigure", "compact", "joint"}))
      ->default_str("all");
  command->add_option("--cases", options.cases, "Test cases of each size and problem")
      ->check(Check::range(1, 1000000))
      ->default_str("5");
  command
      ->add_option("--assignment-limit", options.assignment_limit,
                   "Seconds for the assignment model, which gets fleets of up to 80 GPUs; 0: leave "
                   "it out")
      ->check(number_from(0, 86400))
      ->default_str("30");
  command
      ->add_option("--assignment-cases", options.assignment_cases,
                   "Number of the cases that go through the assignment model")
      ->check(Check::range(0, 1000000))
      ->default_str("1");
  add_bench_model(*command, options.model);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
