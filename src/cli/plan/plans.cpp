// `cleave apply` and `cleave plans`: plans that the daemon carries out.

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "api/documents.hpp"
#include "api/plan_documents.hpp"
#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/terminal.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_text.hpp"
#include "cli/table.hpp"
#include "cli/time_option.hpp"

namespace cleave::cli {

namespace {

constexpr const char* answer = "the daemon's answer";

std::string state_of(const LivePlan& plan) {
  return std::string(plan_state_names[static_cast<std::size_t>(plan.state)]);
}

std::string progress_of(const LivePlan& plan) {
  const auto settled = std::ranges::count_if(plan.moves, [](const PlannedMove& move) {
    return move.state == MovePhase::done || move.state == MovePhase::over;
  });
  return fmt::format("{} of {}", settled, plan.moves.size());
}

/// Of one that has not ended, what it is to free.
std::string freed_of(const LivePlan& plan) {
  if (plan.freed) return fmt::format("{} of {}", *plan.freed, plan.frees.size());
  return fmt::format("- of {}", plan.frees.size());
}

/// By UUID.
using GpuNames = std::map<std::string, std::string>;

/// Numbers in place of UUIDs, as far as the daemon manages these GPUs now.
Result<GpuNames> gpu_numbers(ApiClient& daemon) {
  const auto document = daemon.ask_json("GET", "/v1/gpus");
  if (!document) return std::unexpected(document.error());
  const auto gpus = read_gpus(*document, answer);
  if (!gpus) return std::unexpected(gpus.error());
  GpuNames names;
  for (const ApiGpu& gpu : *gpus) names[gpu.uuid] = fmt::format("GPU {}", gpu.index);
  return names;
}

std::string name_of(const std::string& uuid, const GpuNames& names) {
  const auto found = names.find(uuid);
  return visible(found == names.end() ? uuid : found->second);
}

std::string place_of(const PlannedPlace& place, const GpuNames& names) {
  return fmt::format("{} {}@{}", name_of(place.gpu, names), visible(place.profile), place.start);
}

/// "plan 3 (compact) stopped: its time is up; 1 of 2 moves done, 0 of 1 GPUs freed"
std::string in_words(const LivePlan& plan) {
  return fmt::format("plan {} ({}) {} {}{}; moves done: {}, GPUs freed: {}", plan.number,
                     visible(plan.kind), is_final(plan.state) ? "has" : "is", state_of(plan),
                     plan.why.empty() ? "" : fmt::format(" ({})", visible(plan.why)),
                     progress_of(plan), freed_of(plan));
}

/// What the policy of compaction expected, and what came of it.
std::string purpose_text(const LivePlan& plan) {
  if (!plan.purpose) return {};
  const PlanPurpose& purpose = *plan.purpose;
  return fmt::format(
      "makes room   for job {}, with {} at least; predicted by {}, to save about {}\n"
      "served       {}\n",
      purpose.job, counted(static_cast<std::size_t>(purpose.fewest), "move"),
      local_time(purpose.room_at), human(purpose.saved),
      !plan.served   ? "not known yet"
      : *plan.served ? "yes"
                     : "no");
}

std::string whole_text(const LivePlan& plan, const GpuNames& names) {
  std::string text = fmt::format("{}\nby           {}\nbegan        {}\n", in_words(plan),
                                 visible(plan.by), local_time(plan.begun));
  text += plan.ended ? fmt::format("ended        {}, after {}\n", local_time(*plan.ended),
                                   human(*plan.ended - plan.begun))
                     : fmt::format("at latest    {}\n", local_time(plan.until));
  if (plan.expected) text += fmt::format("expected     {}\n", human(*plan.expected));
  text += purpose_text(plan);
  for (const std::string& gpu : plan.frees)
    text += fmt::format("to be freed  {}\n", name_of(gpu, names));
  Table table({"wave", "job", "from", "to", "state", "why not"});
  for (const PlannedMove& move : plan.moves)
    table.add({std::to_string(move.wave), std::to_string(move.job), place_of(move.from, names),
               place_of(move.to, names),
               std::string(move_phase_names[static_cast<std::size_t>(move.state)]),
               visible(move.why_not)});
  return fmt::format("{}\n{}", text, table.text());
}

struct ApplyOptions : DaemonOptions {
  std::string file, within;
  bool wait = false;
};

Result<PlanOrder> read_order(const ApplyOptions& options) {
  const auto text = read_text(options.file);
  if (!text) return std::unexpected(text.error());
  const std::string place = options.file == "-" ? "standard input" : shown(options.file, 200);
  const auto document = parse_json(*text, place);
  if (!document) return std::unexpected(document.error());
  auto order = read_plan_order(*document, place);
  if (!order) return order;
  if (!options.within.empty()) order->within = time_given(options.within);
  return order;
}

Result<Json> wait_for_plan(ApiClient& daemon, std::int64_t number, Json document) {
  for (;;) {
    const auto plan = read_live_plan(document, answer);
    if (!plan) return std::unexpected(plan.error());
    if (is_final(plan->state)) return document;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    auto next = patiently<Json>(daemon, std::chrono::seconds(60), [&] {
      return daemon.ask_json("GET", fmt::format("/v1/plans/{}", number));
    });
    if (!next) return next;
    document = std::move(*next);
  }
}

Result<int> apply(const ApplyOptions& options) {
  const auto order = read_order(options);
  if (!order) return std::unexpected(order.error());
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  auto document = daemon->ask_json("POST", "/v1/plans", to_json(*order).dump());
  if (!document) return std::unexpected(document.error());
  auto plan = read_live_plan(*document, answer);
  if (!plan) return std::unexpected(plan.error());
  if (options.wait) {
    document = wait_for_plan(*daemon, plan->number, std::move(*document));
    if (!document) return std::unexpected(document.error());
    plan = read_live_plan(*document, answer);
    if (!plan) return std::unexpected(plan.error());
  }
  if (options.json)
    print(*document);
  else
    fmt::print("{}\n", in_words(*plan));
  return !options.wait || plan->state == PlanState::finished ? 0 : 1;
}

struct PlansOptions : DaemonOptions {
  std::string action, plan;
  bool wide = false;
};

Result<int> list(ApiClient& daemon, bool json) {
  const auto document = daemon.ask_json("GET", "/v1/plans");
  if (!document) return std::unexpected(document.error());
  if (json) {
    print(*document);
    return 0;
  }
  const auto plans = read_live_plans(*document, answer);
  if (!plans) return std::unexpected(plans.error());
  if (plans->empty()) {
    fmt::print("no plans; `cleave plan compact --live -o FILE` makes one\n");
    return 0;
  }
  Table table({"plan", "kind", "state", "began", "moves done", "GPUs freed", "by", "why"});
  for (const LivePlan& plan : *plans)
    table.add({std::to_string(plan.number), visible(plan.kind), state_of(plan),
               local_time(plan.begun), progress_of(plan), freed_of(plan), visible(plan.by),
               visible(plan.why)});
  fmt::print("{}", table.text());
  return 0;
}

Result<int> plans(const PlansOptions& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  if (options.action.empty()) return list(*daemon, options.json);
  if (options.plan.empty())
    return fail(ErrorKind::bad_usage, "N",
                fmt::format("`cleave plans {}` needs the number of a plan", options.action),
                "`cleave plans` lists them");
  const bool show = options.action == "show";
  const std::string path = "/v1/plans/" + percent_encoded(options.plan);
  const auto document = daemon->ask_json(show ? "GET" : "POST",
                                         show ? path : fmt::format("{}/{}", path, options.action));
  if (!document) return std::unexpected(document.error());
  if (options.json) {
    print(*document);
    return 0;
  }
  const auto plan = read_live_plan(*document, answer);
  if (!plan) return std::unexpected(plan.error());
  if (!show) {
    fmt::print("{}\n", in_words(*plan));
    return 0;
  }
  const auto names = options.wide ? GpuNames() : gpu_numbers(*daemon);
  if (!names) return std::unexpected(names.error());
  fmt::print("{}", wrapped(whole_text(*plan, *names), terminal_width()));
  return 0;
}

}  // namespace

void add_apply(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "apply", "Have the daemon carry out a plan, wave by wave, while its jobs run",
      "cleave apply plan.json --wait", apply);
  command
      ->add_option("PLAN", options.file,
                   "A plan written by `cleave plan compact --live -o FILE`; - reads standard input")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--within", options.within,
                   "How long it may take and hold its GPUs; then it stops")
      ->type_name(time_type)
      ->default_str("1h")
      ->check(time_between(std::chrono::seconds(1), std::chrono::hours(24)));
  command->add_flag("--wait", options.wait,
                    "Wait until it has ended; the exit code is 1 if it did not reach its goal");
  add_daemon(*command, options);
}

void add_plans(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "plans",
                  "List the plans that the daemon carries out or has carried out, or change one",
                  "cleave plans show 3", plans);
  command->add_option("ACTION", options.action, "What to do with one plan; without it, list all")
      ->check(Check::one_of({"show", "pause", "resume", "cancel"}));
  command->add_option("N", options.plan, "The plan's number")->check(not_empty());
  command->add_flag("--wide", options.wide, "With show: UUIDs of GPUs in place of their numbers");
  add_daemon(*command, options);
}

}  // namespace cleave::cli
