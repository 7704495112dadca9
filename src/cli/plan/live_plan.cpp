#include "cli/plan/live_plan.hpp"

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/table.hpp"
#include "planner/plan_order.hpp"

namespace cleave::cli {

namespace {

constexpr const char* daemons_answer = "the daemon's answer";

const ApiFleetWork* work_of(const LiveState& state, std::int64_t job) {
  const auto found = std::ranges::find(state.fleet.work, job, &ApiFleetWork::job);
  return found == state.fleet.work.end() ? nullptr : &*found;
}

bool saves_first(const ApiFleetWork& work) {
  return work.way == move_way_names[static_cast<std::size_t>(MoveWay::checkpoint)];
}

std::string interruption_of(const ApiFleetWork& work) {
  if (!saves_first(work)) return "none";
  return fmt::format("at most {} to save and end, then its start", human(work.saves));
}

std::string name_of(const LiveState& state, const PlannedPlace& place) {
  const auto found = std::ranges::find(state.fleet.gpus, place.gpu, &ApiFleetGpu::uuid);
  return fmt::format("{} at {}", found == state.fleet.gpus.end() ? place.gpu : found->name,
                     place.start);
}

/// GPUs with running work now and none in the end, by name.
std::vector<std::string> freed_by(const PlanProblem& problem, const Plan& plan) {
  std::set<GpuId> now, then;
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i) {
    if (const auto& seat = problem.workloads[i].now) now.insert(seat->gpu);
    if (const auto& seat = plan.moves.reached.goal[i]; seat && problem.workloads[i].now)
      then.insert(seat->gpu);
  }
  std::vector<std::string> freed;
  for (const GpuId gpu : now)
    if (!then.contains(gpu) && problem.gpus[index(gpu)].walls.empty())
      freed.push_back(visible(std::string(problem.gpus[index(gpu)].name)));
  return freed;
}

NodeTimes times_of(const ApiFleet& fleet) {
  NodeTimes times;
  for (const ApiFleetWork& work : fleet.work)
    times.jobs.push_back({work.job, saves_first(work), work.saves, work.starts});
  if (fleet.creates) times.creates = fleet.creates->factor;
  if (fleet.destroys) times.destroys = fleet.destroys->factor;
  return times;
}

/// "0.4 s to change instances, 2 s for jobs to start, and at most 30 s to save their work"
std::string in_words(const PlanTime& time, const ApiFleet& fleet) {
  const auto seen = fleet.creates ? fleet.creates : fleet.destroys;
  return fmt::format(
      "{}: {} to change instances ({}), {} for jobs to start as they did before{}",
      human(time.all()), human(time.changes),
      seen ? fmt::format("{:.2g} times the planner's law, as this node's last {} took",
                         seen->factor, counted(static_cast<std::size_t>(seen->count), "change"))
           : "by the planner's law: this node has not shown yet how long it takes",
      human(time.starting),
      time.saving > Duration{} ? fmt::format(", at most {} to save their work", human(time.saving))
                               : "");
}

}  // namespace

Result<LiveState> ask_fleet(const DaemonOptions& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto document = daemon->ask_json("GET", "/v1/fleet");
  if (!document) return std::unexpected(document.error());
  auto fleet = cleave::read_fleet(*document, daemons_answer);
  if (!fleet) return std::unexpected(fleet.error());
  LiveState state;
  state.fleet = std::move(*fleet);
  if (state.fleet.gpus.empty())
    return fail(ErrorKind::infeasible, "the daemon", "no GPU of it takes work now",
                "`cleave top --once` shows them");
  state.text = (*document)["fleet"].dump(2, ' ', false, Json::error_handler_t::replace);
  const auto profiles = ProfileChoice::parse("all");
  if (!profiles) return std::unexpected(profiles.error());
  auto file = parse_fleet(state.text, daemons_answer, *profiles);
  if (!file) return std::unexpected(file.error());
  state.file = std::move(*file);
  return state;
}

Result<PlanOrder> order_of(const PlanProblem& problem, const Plan& plan, const LiveState& state,
                           const std::string& kind) {
  std::vector<std::string> uuids;
  for (const PlanGpu& gpu : problem.gpus) {
    const auto found = std::ranges::find(state.fleet.gpus, gpu.name, &ApiFleetGpu::name);
    uuids.push_back(found == state.fleet.gpus.end() ? "" : found->uuid);
  }
  auto order = plan_order(problem, plan, uuids, times_of(state.fleet));
  if (order) order->kind = kind;
  return order;
}

std::string not_written(const std::string& file) {
  return fmt::format("{} is not written, since there is nothing to carry out", visible(file));
}

std::string order_for_people(const PlanProblem& problem, const Plan& plan, const PlanOrder& order,
                             const LiveState& state, const std::string& file) {
  if (order.moves.empty())
    return fmt::format("\nNothing to do. No job needs to be moved, or none allows it.{}\n",
                       file.empty() ? "" : fmt::format(" {}.", not_written(file)));
  Table table({"wave", "job", "from", "to", "how", "interruption"});
  for (const PlannedMove& move : order.moves) {
    const ApiFleetWork* work = work_of(state, move.job);
    if (work == nullptr) continue;
    table.add(
        {std::to_string(move.wave), visible(work->what), name_of(state, move.from),
         name_of(state, move.to),
         saves_first(*work) ? "saves its work, ends, and starts there" : "a replica takes over",
         interruption_of(*work)});
  }
  const std::vector<std::string> freed = freed_by(problem, plan);
  return fmt::format(
      "\n{}\nFreed: {}\nExpected time: {}.\nNothing has been changed yet.{}\n", table.text(),
      freed.empty() ? "no GPU" : fmt::format("{}", fmt::join(freed, ", ")),
      in_words(expected_time(problem, plan, order.moves, times_of(state.fleet)), state.fleet),
      file.empty()
          ? " With -o FILE the plan is kept, and `cleave apply FILE` carries it out."
          : fmt::format(" It is kept in {0}; `cleave apply {0}` carries it out.", visible(file)));
}

}  // namespace cleave::cli
