// `cleave bench NAME`: every speed that is claimed, measured on the product's own path.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "cli/study/bench_daemon.hpp"
#include "study/bench/bench_admission.hpp"
#include "study/bench/bench_graph.hpp"
#include "study/bench/bench_placement.hpp"
#include "study/bench/bench_planner.hpp"
#include "study/bench/bench_simulation.hpp"

namespace cleave::cli {

namespace {

struct Options {
  int repeats = 101;
  bool json = false;
};

Result<int> graph(const Options& options) {
  const auto runs = bench_graph(options.repeats);
  if (options.json) {
    Json list = Json::array();
    for (const GraphBench& run : runs)
      list.push_back({{"model", run.model},
                      {"profiles", run.profiles},
                      {"states", run.states},
                      {"maximal_states", run.maximal_states},
                      {"seconds_median", run.seconds_median},
                      {"seconds_min", run.seconds_min},
                      {"repeats", run.repeats}});
    print(Json{{"runs", list}});
    return 0;
  }
  Table table({"model", "profiles", "states", "maximal", "median ms", "least ms"});
  for (const GraphBench& run : runs)
    table.add({run.model, run.profiles, fmt::format("{}", run.states),
               fmt::format("{}", run.maximal_states),
               fmt::format("{:.3f}", run.seconds_median * 1e3),
               fmt::format("{:.3f}", run.seconds_min * 1e3)});
  fmt::print("Partition state graph with every table, built afresh {} times\n\n{}", options.repeats,
             table.text());
  return 0;
}

struct PlacementOptions {
  std::vector<std::size_t> gpus = {8, 100, 1000, 10000, 100000};
  std::vector<std::string> models = {"A100-40GB"};
  std::string policy{default_policy}, profiles = "plain";
  double load = 0.75, walls = 0, seconds = 0.25;
  bool json = false;
};

/// Of the index's ns with idle instances, from the smallest to the largest fleet.
double growth(const std::vector<PlacementBench>& runs) {
  const PlacementBench *smallest = nullptr, *largest = nullptr;
  for (const PlacementBench& run : runs) {
    if (!run.idle_instances) continue;
    if (smallest == nullptr || run.gpus < smallest->gpus) smallest = &run;
    if (largest == nullptr || run.gpus > largest->gpus) largest = &run;
  }
  return largest->index.ns / smallest->index.ns;
}

void print_json(const std::vector<PlacementBench>& runs) {
  Json fleets = Json::array();
  for (const PlacementBench& run : runs)
    fleets.push_back({{"gpus", run.gpus},
                      {"idle_instances", run.idle_instances},
                      {"index_decisions_per_s", run.index.decisions_per_s},
                      {"index_ns", run.index.ns},
                      {"plain_ns", run.plain.ns},
                      {"scan_ns", run.scan.ns},
                      {"vector_ns", run.vector ? Json(run.vector->ns) : Json(nullptr)},
                      {"identical", run.identical},
                      {"compared", run.compared},
                      {"rejected", run.rejected},
                      {"index_bytes_per_gpu", run.index_bytes_per_gpu},
                      {"row_classes", run.classes},
                      {"build_seconds", run.build_seconds}});
  print(Json{{"fleets", fleets}, {"growth", growth(runs)}});
}

Result<int> placement(const PlacementOptions& given) {
  PlacementBenchOptions options;
  options.gpus = given.gpus;
  const auto policy = choose_policy(given.policy, {});
  if (!policy) return std::unexpected(policy.error());
  options.policy = *policy;
  for (const std::string& name : given.models) {
    const auto model = find_gpu_model(name);
    if (!model) return std::unexpected(model.error());
    options.models.push_back(*model);
  }
  const auto profiles = ProfileChoice::parse(given.profiles);
  if (!profiles) return std::unexpected(profiles.error());
  if (const auto checked = profiles->check(options.models); !checked)
    return std::unexpected(checked.error());
  options.profiles = *profiles;
  options.load = given.load;
  options.walls = given.walls;
  options.seconds = given.seconds;
  const auto runs = bench_placement(options);
  if (given.json) {
    print_json(runs);
    return 0;
  }
  Table table({"GPUs", "idle kept", "million decisions/s", "index ns", "vector ns", "scan ns",
               "plain ns", "identical", "rejected", "bytes a GPU", "build ms"});
  for (const PlacementBench& run : runs)
    table.add({fmt::format("{}", run.gpus), run.idle_instances ? "yes" : "no",
               fmt::format("{:.1f}", run.index.decisions_per_s / 1e6),
               fmt::format("{:.1f}", run.index.ns),
               run.vector ? fmt::format("{:.1f}", run.vector->ns) : "-",
               fmt::format("{:.0f}", run.scan.ns), fmt::format("{:.0f}", run.plain.ns),
               run.identical ? "yes" : "NO", percent(run.rejected),
               fmt::format("{:.1f}", run.index_bytes_per_gpu),
               fmt::format("{:.2f}", run.build_seconds * 1e3)});
  fmt::print(
      "Policy {}, {} of memory held. A decision is an arrival with its commit and the departures "
      "that "
      "balance it;\n"
      "ns are the mean over arrivals and departures.\n\n{}\ngrowth of the index's ns with idle "
      "instances, "
      "smallest to largest fleet: {:.2f}\n",
      given.policy, percent(given.load), table.text(), growth(runs));
  return 0;
}

void add_placement(CommandLine& group, Run& run) {
  auto options = std::make_shared<PlacementOptions>();
  CommandLine* command = add_command(
      group, "placement", "A placement decision by the index, by scans and by the definition",
      "cleave bench placement --gpus 8,1000 --seconds 0.02");
  command->add_option("--gpus", options->gpus, "Sizes of fleets")
      ->delimiter(',')
      ->check(Check::range(1, 4000000));
  command->add_option("--policy", options->policy, "How to choose; `cleave policies` lists them")
      ->default_str(std::string(default_policy));
  command->add_option("--models", options->models, "GPU models of the fleet, in turn")
      ->delimiter(',');
  command
      ->add_option("--profiles", options->profiles,
                   "The profiles asked for, evenly: all, plain, five, four or names")
      ->default_str("plain");
  command->add_option("--load", options->load, "Share of memory slices that work holds")
      ->check(number_from(0.01, 1))
      ->default_str("0.75");
  command->add_option("--walls", options->walls, "Share of GPUs with an instance that is not ours")
      ->check(number_from(0, 1))
      ->default_str("0");
  command->add_option("--seconds", options->seconds, "For each way of finding, each fleet")
      ->check(number_from(0.001, 3600))
      ->default_str("0.25");
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return placement(*options); }; });
}

struct SimulationOptions {
  std::vector<std::size_t> gpus = {160, 10000}, jobs = {5000, 1000000};
  std::string scheduler = "online", model = "A100-40GB";
  bool json = false;
};

Result<int> simulation(const SimulationOptions& given) {
  if (given.gpus.size() != given.jobs.size())
    return fail(ErrorKind::bad_usage, "--jobs", "give as many numbers of jobs as fleets",
                "like --gpus 160,10000 --jobs 5000,1000000");
  const auto scheduler = parse_scheduler(given.scheduler);
  if (!scheduler) return std::unexpected(scheduler.error());
  const auto model = find_gpu_model(given.model);
  if (!model) return std::unexpected(model.error());
  const auto runs = bench_simulation({given.gpus, given.jobs, *scheduler, *model});
  if (!runs) return std::unexpected(runs.error());
  Json list = Json::array();
  Table table(
      {"GPUs", "jobs", "scheduler", "events", "seconds", "million events/s", "same without index"});
  for (const SimulationBench& run : *runs) {
    const double pace = static_cast<double>(run.events) / run.seconds;
    list.push_back({{"gpus", run.gpus},
                    {"jobs", run.jobs},
                    {"scheduler", run.scheduler},
                    {"energy", false},
                    {"events", run.events},
                    {"seconds", run.seconds},
                    {"events_per_s", pace},
                    {"no_index_identical",
                     run.no_index_identical ? Json(*run.no_index_identical) : Json(nullptr)}});
    table.add({fmt::format("{}", run.gpus), fmt::format("{}", run.jobs), run.scheduler,
               fmt::format("{}", run.events), fmt::format("{:.4f}", run.seconds),
               fmt::format("{:.2f}", pace / 1e6),
               !run.no_index_identical   ? "not tried"
               : *run.no_index_identical ? "yes"
                                         : "NO"});
  }
  if (given.json) {
    print(Json{{"runs", list}});
  } else {
    fmt::print("Simulated events a second, full summary included\n\n{}", table.text());
  }
  return 0;
}

void add_simulation(CommandLine& group, Run& run) {
  auto options = std::make_shared<SimulationOptions>();
  CommandLine* command =
      add_command(group, "simulation", "Events a second of a simulation, on generated work",
                  "cleave bench simulation --gpus 160 --jobs 5000");
  command->add_option("--gpus", options->gpus, "Sizes of fleets")
      ->delimiter(',')
      ->check(Check::range(1, 4000000));
  command->add_option("--jobs", options->jobs, "Jobs, a number for each fleet")
      ->delimiter(',')
      ->check(Check::range(1, 100000000));
  command->add_option("--scheduler", options->scheduler, "NAME[:key=value;key=value]")
      ->default_str("online");
  command->add_option("--model", options->model, "GPU model of the fleet")
      ->default_str("A100-40GB");
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return simulation(*options); }; });
}

struct AdmissionOptions {
  std::vector<std::size_t> gpus = {8, 100, 1000, 10000, 100000};
  std::string model = "A100-80GB";
  bool json = false;
};

Result<int> admission(const AdmissionOptions& given) {
  const auto model = find_gpu_model(given.model);
  if (!model) return std::unexpected(model.error());
  Json list = Json::array();
  Table table({"GPUs", "answer ns", "change ns", "all anew ms", "same answers"});
  for (const AdmissionBench& run : bench_admission(**model, given.gpus)) {
    list.push_back({{"gpus", run.gpus},
                    {"answer_ns", run.answer_ns},
                    {"change_ns", run.change_ns},
                    {"anew_ms", run.anew_ms},
                    {"identical", run.identical}});
    table.add({fmt::format("{}", run.gpus), fmt::format("{:.0f}", run.answer_ns),
               fmt::format("{:.0f}", run.change_ns), fmt::format("{:.3f}", run.anew_ms),
               run.identical ? "yes" : "NO"});
  }
  if (given.json) {
    print(Json{{"model", (*model)->key}, {"runs", list}});
  } else {
    fmt::print("Exact admission of a batch on {}, all profiles, with kept sums\n\n{}",
               (*model)->key, table.text());
  }
  return 0;
}

void add_admission(CommandLine& group, Run& run) {
  auto options = std::make_shared<AdmissionOptions>();
  CommandLine* command =
      add_command(group, "admission", "An exact answer whether a whole batch fits",
                  "cleave bench admission --gpus 8,10000");
  command->add_option("--gpus", options->gpus, "Sizes of fleets")
      ->delimiter(',')
      ->check(Check::range(1, 4000000));
  command->add_option("--model", options->model, "GPU model of the fleet")
      ->default_str("A100-80GB");
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return admission(*options); }; });
}

struct PlannerOptions {
  std::vector<std::size_t> gpus = {8, 80, 1000, 10000, 100000};
  std::size_t cases = 5, assignment_cases = 1;
  double assignment_limit = 30;
  std::string model = "A100-80GB";
  bool json = false;
};

Json to_json(const WpmResult& result) {
  const auto or_null = [](std::optional<double> value) {
    return value ? Json(*value) : Json(nullptr);
  };
  return {{"seconds_to_gap", or_null(result.seconds_to_gap)},
          {"seconds", result.seconds},
          {"status", name(result.status)},
          {"objective", or_null(result.objective)},
          {"bound", result.bound},
          {"start_objective", or_null(result.start_objective)},
          {"pending_memory_slices", result.values.pending},
          {"gpus_used", result.values.gpus},
          {"wasted_slices", result.values.waste},
          {"migration_memory_slices", result.values.migration},
          {"repartitioned_gpus", result.values.repartitioned},
          {"unmerged_gpus", result.unmerged},
          {"columns", result.columns},
          {"integers", result.integers},
          {"rows", result.rows}};
}

Json or_null(std::string_view word) {
  return word.empty() ? Json(nullptr) : Json(word);
}

void print_json(const PlannerBenches& benches) {
  Json runs = Json::array(), assignment = Json::array();
  for (const PlannerBench& run : benches.runs)
    runs.push_back({{"problem", name(run.problem)},
                    {"gpus", run.gpus},
                    {"cases", run.cases},
                    {"seconds_median", run.seconds_median},
                    {"seconds_max", run.seconds_max},
                    {"status", name(run.status)},
                    {"optimal", run.optimal},
                    {"text_bytes", run.text_bytes}});
  for (const AssignmentBench& run : benches.assignment) {
    Json row = {{"problem", name(run.problem)}, {"gpus", run.gpus}, {"seed", run.seed}};
    row.update(to_json(run.quicker()));
    row["counted"] = to_json(run.counted);
    row["binary"] = to_json(run.binary);
    row["counted"]["planner_is"] = or_null(run.planner_is(run.counted));
    row["binary"]["planner_is"] = or_null(run.planner_is(run.binary));
    row["planner_is"] = or_null(run.planner_is(run.quicker()));
    Json objective = Json::array();
    for (const Objective& part : run.planner)
      objective.push_back({{"name", part.name}, {"value", part.value}, {"bound", part.bound}});
    const auto [pending, used, wasted] = run.of_planner();
    row["planner"] = {{"seconds", run.planner_seconds},   {"status", name(run.planner_status)},
                      {"pending_memory_slices", pending}, {"gpus_used", used},
                      {"wasted_slices", wasted},          {"objective", std::move(objective)}};
    assignment.push_back(std::move(row));
  }
  print(Json{{"runs", runs}, {"assignment", assignment}});
}

void print_text(const PlannerBenches& benches, double limit) {
  Table table({"problem", "GPUs", "cases", "median s", "most s", "proven", "plan KiB"});
  for (const PlannerBench& run : benches.runs)
    table.add({std::string(name(run.problem)), fmt::format("{}", run.gpus),
               fmt::format("{}", run.cases), fmt::format("{:.4f}", run.seconds_median),
               fmt::format("{:.4f}", run.seconds_max), fmt::format("{}", run.optimal),
               fmt::format("{}", run.text_bytes / 1024)});
  fmt::print("From a fleet that has been read to the text of the optimal plan\n\n{}", table.text());
  if (benches.assignment.empty()) return;
  const auto three = [](std::int64_t pending, std::int64_t gpus, std::int64_t wasted) {
    return fmt::format("{} {} {}", pending, gpus, wasted);
  };
  Table other({"problem", "GPUs", "seed", "equal work", "columns", "rows", "s to 0.2 %", "s",
               "status", "model", "planner", "planner is", "planner s"});
  for (const AssignmentBench& run : benches.assignment)
    for (const WpmResult* result : {&run.counted, &run.binary}) {
      const WpmValues& values = result->values;
      const auto [pending, used, wasted] = run.of_planner();
      const std::string_view is = run.planner_is(*result);
      other.add({std::string(name(run.problem)), fmt::format("{}", run.gpus),
                 fmt::format("{}", run.seed), result == &run.counted ? "counted" : "apart",
                 fmt::format("{}", result->columns), fmt::format("{}", result->rows),
                 result->seconds_to_gap ? fmt::format("{:.2f}", *result->seconds_to_gap) : "-",
                 fmt::format("{:.2f}", result->seconds), std::string(name(result->status)),
                 is.empty() ? "-" : three(values.pending, values.gpus, values.waste),
                 three(pending, used, wasted), is.empty() ? "-" : std::string(is),
                 fmt::format("{:.4f}", run.planner_seconds)});
    }
  fmt::print(
      "\nThe paper's assignment model given to CBC, from the rules' solution, {} s at most\n"
      "model, planner: pending memory slices, GPUs in use, wasted slices; the first that differs "
      "decides\n\n{}",
      limit, other.text());
}

Result<int> planner(const PlannerOptions& given) {
  const auto model = find_gpu_model(given.model);
  if (!model) return std::unexpected(model.error());
  const auto limit = duration_from_seconds(given.assignment_limit);
  if (!limit) return std::unexpected(limit.error());
  PlannerBenchOptions options;
  options.gpus = given.gpus;
  options.cases = given.cases;
  options.assignment_cases = given.assignment_cases;
  options.assignment_limit = *limit;
  options.model = *model;
  const auto benches = bench_planner(options);
  if (!benches) return std::unexpected(benches.error());
  if (given.json)
    print_json(*benches);
  else
    print_text(*benches, given.assignment_limit);
  return 0;
}

void add_planner(CommandLine& group, Run& run) {
  auto options = std::make_shared<PlannerOptions>();
  CommandLine* command =
      add_command(group, "planner", "Optimal plans, and the paper's assignment model beside them",
                  "cleave bench planner --gpus 8,80 --cases 3 --assignment-limit 5");
  command->add_option("--gpus", options->gpus, "Sizes of fleets")
      ->delimiter(',')
      ->check(Check::range(1, 4000000));
  command->add_option("--cases", options->cases, "Test cases of each size and problem")
      ->check(Check::range(1, 1000000))
      ->default_str("5");
  command
      ->add_option(
          "--assignment-limit", options->assignment_limit,
          "Seconds for the assignment model, which gets fleets of up to 80 GPUs; 0: leave it out")
      ->check(number_from(0, 86400))
      ->default_str("30");
  command
      ->add_option("--assignment-cases", options->assignment_cases, "How many of the cases it gets")
      ->check(Check::range(0, 1000000))
      ->default_str("1");
  command->add_option("--model", options->model, "GPU model of the fleet")
      ->default_str("A100-80GB");
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return planner(*options); }; });
}

}  // namespace

void add_bench(CommandLine& program, Run& run) {
  auto options = std::make_shared<Options>();
  CommandLine* group =
      program.add_subcommand("bench", "Measure the speeds that are claimed, on this machine");
  group->require_subcommand();
  CommandLine* command =
      add_command(*group, "graph", "Building the partition state graph of each GPU model",
                  "cleave bench graph --repeats 11");
  command->add_option("--repeats", options->repeats, "How often each is built")
      ->check(Check::range(1, 1000000))
      ->default_str("101");
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return graph(*options); }; });
  add_placement(*group, run);
  add_admission(*group, run);
  add_planner(*group, run);
  add_simulation(*group, run);
  add_bench_forecast(*group, run);
  add_bench_nvml(*group, run);
  add_bench_daemon(*group, run);
}

}  // namespace cleave::cli
