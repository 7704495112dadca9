// `cleave slurm shadow`: what layouts that follow the jobs would have given, day by day, from what
// Slurm's accounting says. It changes nothing.
//
// The jobs of each day are simulated twice: with the layout that stood, whose result is compared
// with what was seen - the prediction's own error - and with Cleave's scheduler, which may change
// layouts. Both are told nothing of how long jobs take, and move none.

#include <algorithm>
#include <chrono>
#include <map>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/slurm/slurm_commands.hpp"
#include "cli/slurm/slurm_tools.hpp"
#include "model/default_scheduler.hpp"
#include "simulate/advice/assumed_speeds.hpp"
#include "simulate/advice/past_replay.hpp"
#include "simulate/simulator.hpp"
#include "slurm/slurm_accounts.hpp"

namespace cleave::cli {

namespace {

struct SlurmShadowCommandOptions {
  SlurmReach reach;
  std::string sacct, fleet, layout, scheduler{default_scheduler};
  std::int64_t days = 7;
  bool json = false;
};

/// One day, or all of them.
struct ShadowDay {
  std::string day;
  std::size_t jobs = 0;
  double seen_s = 0;                      // mean wait
  std::optional<double> static_s, error;  // predicted for the layout that stood, and how far off
  double dynamic_s = 0;
  std::size_t static_refused = 0, dynamic_refused = 0;
  std::optional<double> static_idle;  // share of compute slices, over the day's makespan
  double dynamic_idle = 0;
};

using D = ShadowDay;

std::string minutes(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.1f}", *seconds / 60) : "-";
}
std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:+.0f} %", 100 * *share) : "-";
}

const Columns<D> columns = {
    {"day", "day", &D::day},
    {"jobs", "jobs", &D::jobs},
    {"seen_wait_s", "waited", &D::seen_s, [](const D& of) { return minutes(of.seen_s); }},
    {"static_wait_s", "layout", &D::static_s, [](const D& of) { return minutes(of.static_s); }},
    {"error", "error", &D::error, [](const D& of) { return percent(of.error); }},
    {"dynamic_wait_s", "Cleave", &D::dynamic_s, [](const D& of) { return minutes(of.dynamic_s); }},
    {"static_refused", "refused", &D::static_refused},
    {"dynamic_refused", "Cleave", &D::dynamic_refused},
    {"static_idle", "idle", &D::static_idle,
     [](const D& of) {
       return of.static_idle ? fmt::format("{:.0f} %", 100 * *of.static_idle) : std::string("-");
     }},
    {"dynamic_idle", "Cleave", &D::dynamic_idle,
     [](const D& of) { return fmt::format("{:.0f} %", 100 * of.dynamic_idle); }}};

Result<std::string> accounts(const SlurmShadowCommandOptions& options) {
  if (!options.sacct.empty()) return read_text(options.sacct);
  return run_tool(options.reach,
                  {"env", "SLURM_TIME_FORMAT=%s", "sacct", "-a", "-X", "-P", "-n", "-S",
                   fmt::format("now-{}days", options.days), "-o", sacct_columns()});
}

PastJob past_job(const AccountedJob& job) {
  PastJob past;
  past.number = job.number;
  past.user = job.user;
  const std::string one = job.profile.empty() ? "a whole GPU" : job.profile;
  past.asks = job.instances > 1 ? fmt::format("{} x {}", job.instances, one) : one;
  past.places = job.instances;
  past.submitted = job.submitted;
  past.started = job.started;
  past.ended = job.ended;
  past.ran_on = job.profile.empty() ? "none" : job.profile;
  return past;
}

std::string day_of(Instant time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

/// A job of Slurm's has the instance that it asks for, no other.
void pin(Workload& workload) {
  for (Request& request : workload.requests)
    if (const auto* by = std::get_if<ByProfile>(&request.wanted))
      request.fits = std::vector<std::string>{by->profile};
}

struct Shadowed {
  RunSummary summary;
  std::vector<JobOutcome> outcomes;
};

Result<Shadowed> shadow_run(const FleetFile& fleet, const Workload& workload,
                            const std::string& scheduler) {
  const auto spec = parse_scheduler(scheduler);
  if (!spec) return std::unexpected(spec.error());
  Shadowed run;
  SimulationOptions simulation;
  simulation.know.times = KnownTimes::unknown;
  simulation.may = MayInterrupt::never;
  simulation.outcomes = &run.outcomes;
  auto summary = simulate(fleet, workload, *spec, simulation);
  if (!summary) return std::unexpected(summary.error());
  run.summary = *std::move(summary);
  return run;
}

Result<ShadowDay> shadow_day(const std::string& day, std::vector<PastJob> jobs,
                             const FleetFile& fleet, const SlurmShadowCommandOptions& options) {
  const auto past = past_workload(jobs, fleet);
  if (!past) return std::unexpected(past.error());
  Workload workload = with_speeds(past->workload, past->ran_on, {});
  pin(workload);
  ShadowDay row;
  row.day = day;
  row.jobs = workload.jobs.size();
  row.seen_s = in_seconds(seen_figures(*past).wait.mean);
  const auto dynamic = shadow_run(fleet, workload, options.scheduler);
  if (!dynamic) return std::unexpected(dynamic.error());
  row.dynamic_s = in_seconds(dynamic->summary.wait.mean);
  row.dynamic_refused = dynamic->summary.rejected;
  row.dynamic_idle = 1 - dynamic->summary.compute_utilization;
  if (options.layout.empty()) return row;
  const auto stood = shadow_run(fleet, workload, fmt::format("static:layout={}", options.layout));
  if (!stood) return std::unexpected(stood.error());
  row.static_s = in_seconds(stood->summary.wait.mean);
  row.static_refused = stood->summary.rejected;
  row.static_idle = 1 - stood->summary.compute_utilization;
  row.error = replay_errors(*past, stood->summary.makespan, stood->outcomes).wait;
  return row;
}

Result<int> shadow(const SlurmShadowCommandOptions& options) {
  const auto fleet = load_fleet(options.fleet, "plain");
  if (!fleet) return std::unexpected(fleet.error());
  const auto text = accounts(options);
  if (!text) return std::unexpected(text.error());
  const AccountedJobs read = parse_sacct(*text);
  std::map<std::string, std::vector<PastJob>> by_day;
  std::size_t never = 0;
  for (const AccountedJob& job : read.jobs) {
    if (job.submitted && job.started && job.ended && *job.ended > *job.started)
      by_day[day_of(*job.submitted)].push_back(past_job(job));
    else
      ++never;
  }
  std::vector<ShadowDay> rows;
  for (auto& [day, jobs] : by_day) {
    auto row = shadow_day(day, std::move(jobs), *fleet, options);
    if (!row) return fail_at(day, row.error());
    rows.push_back(*std::move(row));
  }
  if (options.json) {
    print(Json{{"days", json_rows(columns, rows)},
               {"did_not_run", never},
               {"several_profiles", read.several},
               {"unreadable", read.unreadable}});
    return 0;
  }
  if (rows.empty()) {
    fmt::print("no job with an instance or a GPU has ended in this time\n");
    return 0;
  }
  fmt::print("{}", text_rows(columns, rows));
  fmt::print(
      "\nWaits are means in minutes: as they were, by simulation with the layout that stood, and "
      "with\nlayouts that follow the jobs. Refused: jobs of sizes that are not in the layout. "
      "Idle: slices.\n");
  fmt::print("left out: {} that did not run or have not ended, {} with several profiles\n", never,
             read.several);
  if (options.layout.empty())
    fmt::print(
        "with --layout, the layout that stood, the prediction is compared with what was seen\n");
  return 0;
}

}  // namespace

void add_slurm_shadow(CommandLine& group, Run& run) {
  const auto [command, options] =
      add_command(group, run, "shadow",
                  "Say what layouts that follow the jobs would have given, from Slurm's accounting",
                  "cleave slurm shadow --fleet 8x4xA100-40GB --layout 3g.20gb@0,3g.20gb@4", shadow);
  command
      ->add_option("--fleet", options.fleet,
                   "The GPUs: 4xA100-40GB on one node, 8x4xA100-40GB on eight, or a fleet file")
      ->required();
  command->add_option("--layout", options.layout,
                      "The layout of each GPU that stood, as `static` takes it");
  command->add_option("--days", options.days, "Days to go back")
      ->check(Check::range(1, 3650))
      ->default_str("7");
  command->add_option("--sacct", options.sacct,
                      "A file with what `sacct -a -X -P -n -o " + sacct_columns() +
                          "` printed, with SLURM_TIME_FORMAT=%s; sacct is run by default");
  command->add_option("--scheduler", options.scheduler, "Scheduler of the simulation")
      ->default_str(options.scheduler);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
