#include "cli/plan/live_plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/table.hpp"
#include "planner/planned_moves.hpp"

namespace cleave::cli {

namespace {

constexpr const char* answer = "the daemon's answer";

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

/// Waves follow one another; in a wave jobs save their work at the same time.
Duration longest_saving(const PlanOrder& order, const LiveState& state) {
  std::map<std::int64_t, Duration> waves;
  for (const PlannedMove& move : order.moves)
    if (const ApiFleetWork* work = work_of(state, move.job); work != nullptr && saves_first(*work))
      waves[move.wave] = std::max(waves[move.wave], work->saves);
  Duration all{};
  for (const auto& [wave, time] : waves) all += time;
  return all;
}

}  // namespace

Result<LiveState> ask_fleet(const DaemonOptions& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto document = daemon->ask_json("GET", "/v1/fleet");
  if (!document) return std::unexpected(document.error());
  auto fleet = cleave::read_fleet(*document, answer);
  if (!fleet) return std::unexpected(fleet.error());
  LiveState state;
  state.fleet = std::move(*fleet);
  if (state.fleet.gpus.empty())
    return fail(ErrorKind::infeasible, "the daemon", "no GPU of it takes work now",
                "`cleave top --once` shows them");
  state.text = (*document)["fleet"].dump(2, ' ', false, Json::error_handler_t::replace);
  const auto profiles = ProfileChoice::parse("all");
  if (!profiles) return std::unexpected(profiles.error());
  auto file = parse_fleet(state.text, answer, *profiles);
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
  auto moves = planned_moves(problem, plan.moves, uuids);
  if (!moves) return std::unexpected(moves.error());
  if (std::ssize(*moves) > most_moves)
    return fail(ErrorKind::infeasible, "the plan",
                fmt::format("it has {} moves, and {} at most are carried out at a time",
                            moves->size(), most_moves),
                fmt::format("plan with --max-migrations {}", most_moves / 2));
  PlanOrder order;
  order.kind = kind;
  order.moves = std::move(*moves);
  return order;
}

std::string order_for_people(const PlanProblem& problem, const Plan& plan, const PlanOrder& order,
                             const LiveState& state, const std::string& file) {
  if (order.moves.empty()) return "\nNo job needs to be moved, or none allows it.\n";
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
  Duration cutting{};
  for (const WaveCost& wave : cost_of(problem, plan.moves.waves)) cutting += wave.time();
  const Duration saving = longest_saving(order, state);
  const std::vector<std::string> freed = freed_by(problem, plan);
  return fmt::format(
      "\n{}\nFreed: {}\nExpected time: {} for instances and memory{}; the start of programs is not "
      "in it.\nNothing has been changed yet.{}\n",
      table.text(), freed.empty() ? "no GPU" : fmt::format("{}", fmt::join(freed, ", ")),
      human(cutting),
      saving > Duration{}
          ? fmt::format(", and at most {} for jobs that save their work", human(saving))
          : "",
      file.empty() ? " With -o FILE the plan is kept, and `cleave apply FILE` carries it out."
                   : fmt::format(" `cleave apply {}` carries it out.", visible(file)));
}

}  // namespace cleave::cli
