// `cleave slurm show`: why a job waits, as Cleave sees it; `cleave slurm plan compact`: what
// putting jobs back would free.

#include <algorithm>
#include <chrono>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/slurm/slurm_commands.hpp"
#include "cli/slurm/slurm_tools.hpp"
#include "slurm/slurm_compaction.hpp"

namespace cleave::cli {

namespace {

struct ShowOptions {
  SlurmReach reach;
  std::string job;
  bool json = false;
};

struct PlanOptions {
  SlurmReach reach;
  std::string action;
  std::int64_t most = 4;
  bool apply = false, json = false;
};

Instant wall_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

constexpr std::string_view job_state_words[] = {"waits", "runs", "ends", "is over"};

void show_places(const std::vector<NodeView>& views, const SlurmJob& job) {
  for (const NodeView& view : views) {
    if (view.report == nullptr) continue;
    for (const SlurmClaim& claim : view.report->claims) {
      if (claim.job() != job.number) continue;
      const ReportedGpu& gpu = view.report->gpus[claim.gpu];
      const Placement& at = gpu.graph->geometry()[claim.placement];
      fmt::print("  {} GPU {}: {}@{}\n", view.name(), gpu.index, at.profile->name, at.start);
    }
  }
}

Result<int> show(const ShowOptions& options) {
  SlurmTools tools(options.reach);
  const auto sight = tools.look();
  if (!sight) return std::unexpected(sight.error());
  const auto found = std::ranges::find_if(sight->jobs, [&](const SlurmJob& job) {
    return job.shown == options.job || fmt::format("{}", job.number) == options.job;
  });
  if (found == sight->jobs.end())
    return fail(ErrorKind::bad_input, options.job, "Slurm has no such unfinished job",
                "sacct -j shows jobs that have ended; of an array, name one element: 12_3");
  const auto views = views_of(*sight);
  const bool waits = found->state == SlurmJobState::pending;
  const SlurmWhy why = waits ? why_waits(views, *found, wall_now()) : SlurmWhy{};
  if (options.json) {
    print(Json{{"job", found->shown},
               {"state", job_state_words[static_cast<std::size_t>(found->state)]},
               {"asks", gres_text(found->asks)},
               {"slurm_reason", found->reason},
               {"reason", why.reason},
               {"remedy", why.remedy}});
    return 0;
  }
  fmt::print("job {} {}, asks for {}\n", found->shown,
             job_state_words[static_cast<std::size_t>(found->state)],
             found->asks.empty() ? "no instance" : gres_text(found->asks));
  if (!waits) {
    show_places(views, *found);
    return 0;
  }
  fmt::print("  Slurm says:  {}\n  Cleave says: {}\n", visible(found->reason), why.reason);
  if (!why.remedy.empty()) fmt::print("  what helps:  {}\n", why.remedy);
  return 0;
}

Json to_json(const CompactPlan& plan) {
  Json moves = Json::array();
  for (const CompactMove& move : plan.moves)
    moves.push_back({{"job", move.shown},
                     {"from", move.from},
                     {"to", move.to},
                     {"lost_s", in_seconds(move.lost)}});
  return Json{{"job", plan.shown}, {"place", plan.place}, {"moves", moves}};
}

/// All jobs of a plan or, where one is refused, no more of it.
Result<void> carry_out(SlurmTools& tools, const std::vector<CompactPlan>& plans) {
  for (const CompactPlan& plan : plans)
    for (const CompactMove& move : plan.moves)
      if (const auto done = tools.requeue(move.shown); !done)
        return fail_at(fmt::format("job {}", move.shown), done.error());
  return {};
}

Result<int> plan(const PlanOptions& options) {
  SlurmTools tools(options.reach);
  const auto sight = tools.look();
  if (!sight) return std::unexpected(sight.error());
  const auto views = views_of(*sight);
  const auto plans = plan_compact(views, waiting_in_order(sight->jobs),
                                  static_cast<std::size_t>(options.most), wall_now());
  if (options.apply)
    if (const auto done = carry_out(tools, plans); !done) return std::unexpected(done.error());
  if (options.json) {
    Json list = Json::array();
    for (const CompactPlan& each : plans) list.push_back(to_json(each));
    print(Json{{"applied", options.apply}, {"plans", list}});
    return 0;
  }
  if (plans.empty()) fmt::print("no waiting job would fit by putting others back\n");
  for (const CompactPlan& each : plans) {
    fmt::print("job {} would have {}:\n", each.shown, each.place);
    for (const CompactMove& move : each.moves)
      fmt::print("  {} job {} from {} to {}; it has run {}\n",
                 options.apply ? "has been put back:" : "puts back", move.shown, move.from, move.to,
                 human(move.lost));
  }
  if (!plans.empty() && !options.apply)
    fmt::print("\nNothing was changed; with --apply these jobs are put back in the queue.\n");
  return 0;
}

}  // namespace

void add_slurm_show(CommandLine& group, Run& run) {
  const auto [command, options] =
      add_command(group, run, "show", "Say why a job of Slurm's waits, and what would help",
                  "cleave slurm show 1234", show);
  command->add_option("JOB", options.job, "The job's number, or 12_3 of an array")
      ->required()
      ->check(not_empty());
  add_reach(*command, options.reach);
  add_json(*command, options.json);
}

void add_slurm_plan(CommandLine& group, Run& run) {
  const auto [command, options] = add_command(
      group, run, "plan", "Show which requeueable jobs would move, and for whom that makes room",
      "cleave slurm plan compact --most 2", plan);
  command->add_option("ACTION", options.action, "compact: by putting jobs back in the queue")
      ->required()
      ->check(Check::one_of({"compact"}));
  command->add_option("--most", options.most, "Jobs that are put back, at most")
      ->check(Check::range(1, 1000))
      ->default_str("4");
  command->add_flag("--apply", options.apply, "Do it");
  add_reach(*command, options.reach);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
