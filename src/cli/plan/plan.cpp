// `cleave plan`: the best layout for a fleet and what has to move for it, shown before anybody
// touches a GPU.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/output_files.hpp"
#include "cli/plan/kubernetes_plan.hpp"
#include "cli/plan/live_plan.hpp"
#include "cli/plan/plan_show.hpp"
#include "cli/report_file.hpp"
#include "cli/say.hpp"
#include "cli/time_option.hpp"
#include "planner/exports/plan_export.hpp"
#include "planner/given_goal.hpp"
#include "planner/pages/plan_svg.hpp"
#include "planner/plan_text.hpp"
#include "planner/planner.hpp"
#include "report/plan_part.hpp"

namespace cleave::cli {

namespace {

struct PlanCommandOptions {
  std::string fleet, method = "optimal", max_moved, profiles = "all", svg, report, export_as;
  std::optional<std::string> weights;
  std::int64_t max_migrations = -1;
  std::string time_limit = "60s";
  bool may_evict = false, allow_disruptive = false, non_disruptive_only = false;
  bool explain = false, json = false, live = false;
  DaemonOptions daemon;
  std::string output;  // of a live plan
  KubernetesPlanOptions kubernetes;
};

struct WeightRow {
  std::string_view name;
  std::int64_t PlanWeights::*weight;
};
constexpr WeightRow weight_rows[] = {{"pending", &PlanWeights::pending},
                                     {"gpus", &PlanWeights::gpus},
                                     {"waste", &PlanWeights::waste},
                                     {"migration", &PlanWeights::migration},
                                     {"repartition", &PlanWeights::repartition}};

/// pending=10,gpus=5,waste=0.5: what is not named costs nothing.
Result<PlanWeights> parse_weights(const std::string& text) {
  constexpr double most = 1e6;
  PlanWeights weights;
  std::set<std::string_view> named;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return fail(ErrorKind::bad_usage, "--weights",
                  fmt::format("'{}' is not NAME=WEIGHT", shown(part)),
                  "as in pending=100,gpus=10,waste=1");
    const auto* row = std::ranges::find(weight_rows, part.substr(0, equals), &WeightRow::name);
    if (row == std::end(weight_rows))
      return fail(ErrorKind::bad_usage, "--weights",
                  fmt::format("'{}' has no weight", shown(part.substr(0, equals))),
                  suggestion(part.substr(0, equals), names_of(weight_rows)));
    const auto number = parse_number(part.substr(equals + 1));
    const bool whole = number && std::abs(*number * 1000 - std::round(*number * 1000)) < 1e-6;
    if (!whole || *number < 0 || *number > most)
      return fail(ErrorKind::bad_usage, "--weights",
                  fmt::format("'{}' is not a weight", shown(part.substr(equals + 1))),
                  "a number from 0 to 1000000, to a thousandth");
    if (!named.insert(row->name).second)
      return fail(ErrorKind::bad_usage, "--weights", fmt::format("'{}' is given twice", row->name));
    weights.*(row->weight) = std::llround(*number * 1000);
  }
  return weights;
}

Result<PlanOptions> plan_options(const PlanCommandOptions& options) {
  PlanOptions plan;
  plan.method = options.method;
  plan.allow_disruptive = options.allow_disruptive;
  plan.non_disruptive_only = options.non_disruptive_only;
  if (plan.allow_disruptive && plan.non_disruptive_only)
    return fail(ErrorKind::bad_usage, "--non-disruptive-only", "contradicts --allow-disruptive",
                "choose one");
  plan.time_limit = std::chrono::ceil<std::chrono::milliseconds>(time_given(options.time_limit));
  if (options.weights) {
    const auto weights = parse_weights(*options.weights);
    if (!weights) return std::unexpected(weights.error());
    plan.weights = *weights;
  }
  return plan;
}

/// The plan in every form that was asked for.
Result<int> show(const PlanProblem& problem, const Plan& plan, const PlanCommandOptions& options) {
  if (!options.svg.empty())
    if (const auto written = write_whole(options.svg, plan_svg(problem, plan, plan.moves));
        !written)
      return std::unexpected(written.error());
  if (!options.report.empty()) {
    report::Report report = report_of("cleave plan");
    report.asked = {
        {"problem", std::string(name(problem.kind))},
        {"fleet", options.live ? std::string("the daemon's GPUs") : shown(options.fleet, 200)},
        {"GPUs", fmt::format("{}", problem.gpus.size())},
        {"method", options.method}};
    report.plan = report::plan_part(problem, plan);
    if (const auto written = write_whole(options.report, report::page_of(report)); !written)
      return std::unexpected(written.error());
  }
  if (!options.export_as.empty()) {
    const auto form = std::ranges::find(plan_exports(), options.export_as, &PlanExport::name);
    const auto text = form->text(problem, plan);
    if (!text) return std::unexpected(text.error());
    fmt::print("{}", *text);
  } else if (options.json) {
    fmt::print("{}", plan_text(problem, plan));
  } else {
    say("{}", plan_for_people(problem, plan, options.explain));
  }
  return 0;
}

Result<PlanLimits> plan_limits(const PlanCommandOptions& options) {
  PlanLimits limits;
  if (options.max_migrations >= 0) limits.migrations = options.max_migrations;
  if (options.max_moved.empty()) return limits;
  const auto size = parse_size(options.max_moved);
  if (!size) return fail_at("--max-moved", size.error());
  limits.moved_mib = size->value;
  return limits;
}

/// Of the daemon's GPUs, from the problem that was made of them.
Result<int> show_live(const PlanProblem& problem, const Plan& plan, const LiveState& state,
                      std::string_view kind, const PlanCommandOptions& options) {
  const auto order = order_of(problem, plan, state, std::string(kind));
  if (!order) return std::unexpected(order.error());
  const std::string document = to_json(*order).dump(2) + "\n";
  if (!options.output.empty() && !order->moves.empty())
    if (const auto written = write_whole(options.output, document); !written)
      return std::unexpected(written.error());
  if (!options.json) {
    if (const auto shown_too = show(problem, plan, options); !shown_too) return shown_too;
    say("{}", order_for_people(problem, plan, *order, state, options.output));
    return 0;
  }
  fmt::print("{}", document);
  if (!options.output.empty() && order->moves.empty())
    tell("cleave: {}\n", not_written(options.output));
  return 0;
}

Result<void> check_kubernetes(const PlanCommandOptions& options) {
  const KubernetesPlanOptions& given = options.kubernetes;
  if (given.asked && (options.live || !options.fleet.empty()))
    return fail(ErrorKind::bad_usage, "--kubernetes",
                options.live ? "contradicts --live" : "contradicts --fleet", "choose one");
  for (const auto& [option, value] :
       {std::pair("--server", &given.server), std::pair("--ca", &given.ca),
        std::pair("--token", &given.token), std::pair("--room-for", &given.room_for)})
    if (!given.asked && !value->empty())
      return fail(ErrorKind::bad_usage, option, "is only for plans with --kubernetes",
                  "add --kubernetes, or leave it out");
  return {};
}

/// What the daemon never does with a plan is not planned either.
Result<void> check_live(const PlanCommandOptions& options) {
  if (options.live && !options.fleet.empty())
    return fail(ErrorKind::bad_usage, "--live", "contradicts --fleet", "choose one");
  if (!options.live && options.fleet.empty())
    return fail(ErrorKind::bad_usage, "--fleet", "it is required",
                "name a fleet file, or plan for the daemon's GPUs with --live");
  if (!options.live && !options.output.empty())
    return fail(ErrorKind::bad_usage, "--output", "only a plan with --live is kept for the daemon",
                "--json prints other plans");
  if (options.live && !options.export_as.empty())
    return fail(ErrorKind::bad_usage, "--export", "a plan with --live is carried out by the daemon",
                "keep it with --output, and give it to `cleave apply`");
  if (options.json && !options.export_as.empty())
    return fail(ErrorKind::bad_usage, "--export", "contradicts --json", "choose one");
  if (options.live && (options.allow_disruptive || options.may_evict))
    return fail(ErrorKind::bad_usage, options.may_evict ? "--may-evict" : "--allow-disruptive",
                "with --live no job is stopped before its new place is there", "leave it out");
  return {};
}

Result<int> plan_live(ProblemKind kind, const PlanCommandOptions& options,
                      const PlanOptions& plan_as) {
  const auto limits = plan_limits(options);
  if (!limits) return std::unexpected(limits.error());
  const auto state = ask_fleet(options.daemon);
  if (!state) return std::unexpected(state.error());
  auto problem = PlanProblem::make(state->file, kind, "the daemon's GPUs");
  if (!problem) return std::unexpected(problem.error());
  problem->limits = *limits;
  const auto plan = make_plan(*problem, plan_as);
  if (!plan) return std::unexpected(plan.error());
  return show_live(*problem, *plan, *state, name(kind), options);
}

/// Why a plan moves nothing where everything that is there must stay; else nothing.
std::string all_walls_text(const PlanProblem& problem) {
  std::size_t walls = 0;
  for (const PlanGpu& gpu : problem.gpus) {
    walls += gpu.walls.size();
    if (!gpu.idle.empty()) return "";
  }
  for (const PlanWorkload& work : problem.workloads)
    if (!work.now || !work.stays) return "";
  const std::size_t all = walls + problem.workloads.size();
  if (all == 0 || problem.kind == ProblemKind::deploy) return "";
  return fmt::format(
      "{} of this fleet must stay: {} and cannot\n"
      "be moved, as instances of imported fleets are until somebody says what runs\n"
      "there. Give those that may move \"workload\": NAME and \"movable\": true in the\n"
      "fleet file, or only the latter if nothing runs in them.\n\n",
      all == 1 ? "the only instance" : fmt::format("all {} instances", all),
      all == 1 ? "it is a wall" : "they are walls");
}

Result<int> plan_command(ProblemKind kind, const PlanCommandOptions& options) {
  if (const auto fine = check_kubernetes(options); !fine) return std::unexpected(fine.error());
  if (options.kubernetes.asked)
    return std::unexpected(become_kubernetes_plan(options.kubernetes, options.json));
  if (const auto fine = check_live(options); !fine) return std::unexpected(fine.error());
  const auto plan_as = plan_options(options);
  if (!plan_as) return std::unexpected(plan_as.error());
  if (options.live) return plan_live(kind, options, *plan_as);
  const auto limits = plan_limits(options);
  if (!limits) return std::unexpected(limits.error());
  const OutputOption outputs[] = {{"--svg", options.svg}, {"--report", options.report}};
  if (const auto apart = written_once(outputs); !apart) return std::unexpected(apart.error());
  for (const auto& [option, path] : outputs)
    if (const auto free = not_read_too(option, path, {options.fleet}); !free)
      return std::unexpected(free.error());
  const auto file = load_fleet(options.fleet, options.profiles);
  if (!file) return std::unexpected(file.error());
  auto problem = PlanProblem::make(*file, kind, shown(options.fleet, 200));
  if (!problem) return std::unexpected(problem.error());
  problem->limits = *limits;
  problem->may_evict = options.may_evict;
  const auto plan = make_plan(*problem, *plan_as);
  if (!plan) return std::unexpected(plan.error());
  if (options.export_as.empty() && !options.json) say("{}", all_walls_text(*problem));
  return show(*problem, *plan, options);
}

struct GivenOptions : PlanCommandOptions {
  std::string goal, plan;
};

/// To a layout of the user's own: what does not run yet is the scheduler's to place.
Result<int> migrate_live(const GivenOptions& options) {
  const auto state = ask_fleet(options.daemon);
  if (!state) return std::unexpected(state.error());
  const auto goal = load_fleet(options.goal, options.profiles);
  if (!goal) return std::unexpected(goal.error());
  const auto given = given_goal(state->file, *goal, "the daemon's GPUs", shown(options.goal, 200));
  if (!given) return std::unexpected(given.error());
  const PlanProblem& problem = given->from.problem;
  for (const PlanWorkload& each : problem.workloads)
    if (!each.now)
      return fail(ErrorKind::bad_input, shown(options.goal, 200),
                  fmt::format("'{}' does not run", shown(each.name)),
                  "leave it out: the scheduler places what waits");
  const auto plan = plan_to(problem, given->target, {});
  if (!plan) return std::unexpected(plan.error());
  return show_live(problem, *plan, *state, "migrate", options);
}

Result<int> migrate_command(const GivenOptions& options) {
  if (const auto fine = check_live(options); !fine) return std::unexpected(fine.error());
  if (options.live) return migrate_live(options);
  if (const auto free = not_read_too("--svg", options.svg, {options.fleet, options.goal}); !free)
    return std::unexpected(free.error());
  const auto now = load_fleet(options.fleet, options.profiles);
  if (!now) return std::unexpected(now.error());
  const auto goal = load_fleet(options.goal, options.profiles);
  if (!goal) return std::unexpected(goal.error());
  const auto given = given_goal(*now, *goal, shown(options.fleet, 200), shown(options.goal, 200));
  if (!given) return std::unexpected(given.error());
  const auto plan = plan_to(given->from.problem, given->target, {options.allow_disruptive});
  if (!plan) return std::unexpected(plan.error());
  return show(given->from.problem, *plan, options);
}

Result<int> replay_command(const GivenOptions& options) {
  const auto now = load_fleet(options.fleet, options.profiles);
  if (!now) return std::unexpected(now.error());
  const auto text = read_text(options.plan);
  if (!text) return std::unexpected(text.error());
  const std::string place = shown(options.plan, 200);
  const auto given = given_moves(*now, *text, shown(options.fleet, 200), place);
  if (!given) return std::unexpected(given.error());
  if (std::string wrong = fault(given->from.problem, given->moves); !wrong.empty())
    return fail(ErrorKind::infeasible, place, fmt::format("it cannot be carried out: {}", wrong));
  std::size_t steps = 0;
  for (const Wave& wave : given->moves.waves) steps += wave.size();
  if (options.json) {
    print(Json{{"legal", true}, {"waves", given->moves.waves.size()}, {"steps", steps}});
  } else {
    say("Every step is legal: {} in {}.\n", counted(steps, "step"),
        counted(given->moves.waves.size(), "wave"));
  }
  return 0;
}

struct FleetOptions {
  DaemonOptions daemon;
};

Result<int> fleet_command(const FleetOptions& options) {
  const auto state = ask_fleet(options.daemon);
  if (!state) return std::unexpected(state.error());
  fmt::print("{}\n", state->text);
  return 0;
}

/// Of plans for a fleet file.
void add_export(CommandLine& command, PlanCommandOptions& options) {
  std::vector<std::string> forms;
  for (const PlanExport& form : plan_exports())
    forms.push_back(fmt::format("{} ({})", form.name, form.what));
  command
      .add_option("--export", options.export_as,
                  fmt::format("Print the plan in the form of another program: {}", any_of(forms)))
      ->check(Check::one_of(names_of(plan_exports())));
}

/// Of plans that the daemon can carry out.
void add_live(CommandLine& command, PlanCommandOptions& options) {
  command.add_flag("--live", options.live,
                   "Plan for the daemon's GPUs and the jobs that run there, in place of a fleet");
  command
      .add_option("-o,--output", options.output,
                  "With --live: keep the plan in this file, for `cleave apply`")
      ->check(not_empty());
  add_daemon(command, options.daemon, false);
}

void add_given(CommandLine& group, Run& run) {
  const auto [migrate, options] = add_command(
      group, run, "migrate", "Find the moves from a fleet's current layout to one that you wrote",
      "cleave plan migrate --fleet examples/fleets/scattered.json --goal "
      "examples/fleets/gathered.json",
      migrate_command);
  migrate->add_option("--fleet", options.fleet, "The fleet file with the current layout");
  migrate
      ->add_option("--goal", options.goal, "A fleet file of the same GPUs with the layout wanted")
      ->required();
  migrate->add_flag(
      "--allow-disruptive", options.allow_disruptive,
      "Allow work to be stopped before its new instance exists, where there is no other way");
  migrate->add_option("--svg", options.svg, "Write a picture of the plan to this file");
  add_export(*migrate, options);
  add_profiles(*migrate, options.profiles);
  add_json(*migrate, options.json);
  add_live(*migrate, options);

  const auto [fleet, asked] = add_command(
      group, run, "fleet", "Print the daemon's GPUs and what runs there as a fleet file",
      "cleave plan fleet", fleet_command);
  add_daemon(*fleet, asked.daemon, false);

  const auto [replay, check] = add_command(
      group, run, "replay",
      "Carry out a plan file step by step on a fleet file, and check every step",
      "cleave plan replay --fleet examples/fleets/scattered.json --plan plan.json", replay_command);
  replay->add_option("--fleet", check.fleet, "The fleet file that the plan was made for")
      ->required();
  replay->add_option("--plan", check.plan, "A plan printed by `cleave plan --json`")->required();
  add_profiles(*replay, check.profiles);
  add_json(*replay, check.json);
}

struct KindRow {
  ProblemKind kind;
  const char* what;
};
constexpr KindRow kinds[] = {
    {ProblemKind::deploy, "Place the waiting work; running work stays where it is"},
    {ProblemKind::compact, "Move running work so that GPUs become empty"},
    {ProblemKind::reconfigure, "Lay out running work again, on free GPUs first"},
    {ProblemKind::joint, "Place the waiting work, moving running work where that helps"},
};

void add_kind(CommandLine& group, const KindRow& row, Run& run) {
  const std::string kind(name(row.kind));
  const auto [command, options] = add_command<PlanCommandOptions>(
      group, run, kind, row.what,
      fmt::format("cleave plan {} --fleet examples/fleets/scattered.json", kind),
      [kind = row.kind](const PlanCommandOptions& given) { return plan_command(kind, given); });
  Option* const fleet = command->add_option(
      "--fleet", options.fleet,
      "A fleet file, or empty GPUs: 4xA100-40GB, or 4x8xA100-80GB on four nodes");
  if (row.kind == ProblemKind::deploy)
    fleet->required();
  else
    add_live(*command, options);
  if (row.kind == ProblemKind::compact) add_kubernetes(*command, options.kubernetes);
  command
      ->add_option("--method", options.method,
                   fmt::format("How: {}", fmt::join(plan_methods(), ", ")))
      ->default_str("optimal");
  command
      ->add_option("--time-limit", options.time_limit,
                   "Time until the search stops and shows the best plan found and its gap")
      ->type_name(time_type)
      ->check(time_between(Duration{1}, std::chrono::seconds(1'000'000)))
      ->default_str("60s");
  command->add_option("--weights", options.weights,
                      "Weigh objectives instead of ordering them: "
                      "pending=100,gpus=10,waste=1,migration=0.1,repartition=0.01 (in reconfigure: "
                      "for each GPU chosen again); an objective without a weight costs nothing");
  if (row.kind != ProblemKind::deploy) {
    command
        ->add_option("--max-migrations", options.max_migrations,
                     "Largest number of running workloads to move, within a GPU or between GPUs")
        ->check(whole_number(0));
    command->add_option("--max-moved", options.max_moved,
                        "Largest amount of memory to move: 40GiB");
    command->add_flag(
        "--allow-disruptive", options.allow_disruptive,
        "Allow work to be stopped before its new instance exists, where there is no other way");
    command->add_flag("--non-disruptive-only", options.non_disruptive_only,
                      "Consider only goals that can be reached without stopping any work");
    command->add_flag("--may-evict", options.may_evict,
                      "Allow running work to end up pending if less work is pending in total");
  }
  command->add_option("--svg", options.svg, "Write a picture of the plan to this file");
  add_report_option(*command, options.report);
  add_export(*command, options);
  command->add_flag("--explain", options.explain, "Explain what proves each figure");
  add_profiles(*command, options.profiles);
  add_json(*command, options.json);
}

}  // namespace

void add_plan(CommandLine& program, Run& run) {
  CommandLine* group = add_command(
      program, "plan", "Find the provably best layout of a fleet, and the moves that lead to it",
      "cleave plan compact --fleet examples/fleets/scattered.json --explain");
  group->require_subcommand();
  for (const KindRow& row : kinds) add_kind(*group, row, run);
  add_given(*group, run);
}

}  // namespace cleave::cli
