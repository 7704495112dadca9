#include "daemon/service/plan_preview.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>

#include "base/format.hpp"
#include "daemon/signals_elsewhere.hpp"
#include "planner/plan_order.hpp"

namespace cleave {

namespace {

/// A page waits for it.
constexpr std::chrono::seconds time_limit{20};

NodeTimes times_of(const LiveFleet& fleet) {
  NodeTimes times;
  for (const LiveWorkload& work : fleet.work)
    times.jobs.push_back({work.job, work.way == MoveWay::checkpoint, work.saves, work.starts});
  times.creates = fleet.times.factor(InstanceChange::create);
  times.destroys = fleet.times.factor(InstanceChange::destroy);
  return times;
}

}  // namespace

Result<std::shared_ptr<PlanPreview>> PlanPreview::begin(LiveFleet fleet, ProblemKind kind) {
  auto preview = std::make_shared<PlanPreview>(std::move(fleet), kind);
  const SignalsElsewhere elsewhere;
  try {
    // Never joined: a search that is about to end must not hold the process.
    std::thread([preview] {
      auto made = preview->made();
      const std::scoped_lock lock(preview->guard_);
      preview->order_ = std::move(made);
    }).detach();
  } catch (const std::system_error& no_thread) {
    return fail(ErrorKind::infeasible, "the plan",
                fmt::format("no thread for it can be started: {}", no_thread.what()));
  }
  return preview;
}

std::optional<Result<PlanOrder>> PlanPreview::order() const {
  const std::scoped_lock lock(guard_);
  return order_;
}

Result<PlanOrder> PlanPreview::made() const {
  const auto problem = PlanProblem::make(fleet_.fleet, kind_, "the daemon's GPUs");
  if (!problem) return std::unexpected(problem.error());
  PlanOptions options;
  options.time_limit = time_limit;
  const auto plan = make_plan(*problem, options);
  if (!plan) return std::unexpected(plan.error());
  std::vector<std::string> uuids;
  for (const PlanGpu& gpu : problem->gpus) {
    const auto found = std::ranges::find(
        fleet_.fleet.gpus, gpu.name, [](const auto& each) { return std::string_view(each.name); });
    const auto at = static_cast<std::size_t>(found - fleet_.fleet.gpus.begin());
    uuids.push_back(at < fleet_.uuids.size() ? fleet_.uuids[at] : std::string());
  }
  return plan_order(*problem, *plan, uuids, times_of(fleet_));
}

}  // namespace cleave
