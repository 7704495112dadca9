#include "study/wpm/wpm.hpp"

#include <cmath>

#include "base/format.hpp"
#include "study/wpm/wpm_model.hpp"

namespace cleave {

std::string_view name(WpmStatus status) {
  switch (status) {
    case WpmStatus::optimal:
      return "optimal";
    case WpmStatus::feasible:
      return "feasible";
    case WpmStatus::unsolved:
      return "unsolved";
  }
  return "";
}

namespace {

WpmValues values_of(const WpmModel& model, const std::vector<double>& x) {
  const auto at = [&](int column) { return std::llround(x[static_cast<std::size_t>(column)]); };
  WpmValues values;
  values.waste = model.fixed_waste;
  values.migration = model.movable_memory;
  for (const WpmItem& item : model.items)
    if (item.pending != wpm_absent) values.pending += at(item.pending) * item.profile->memory.value;
  std::vector<char> used(model.bins.gpus.size(), 0);
  for (std::size_t gpu = 0; gpu < used.size(); ++gpu)
    used[gpu] = model.bins.gpus[gpu].in_use ? 1 : 0;
  for (std::size_t bin = 0; bin < model.bins.bins.size(); ++bin) {
    const WpmBin& it = model.bins.bins[bin];
    const auto [compute, memory] = model.held(x, bin);
    if (compute == 0) continue;
    values.waste += wpm_wasted(it, compute, memory);
    used[it.gpu] = 1;
    if (it.kind == WpmBinKind::imaginary) ++values.repartitioned;
  }
  for (const char use : used) values.gpus += use;
  for (const WpmAssignment& a : model.assignments)
    if (model.items[a.item].home && *model.items[a.item].home == model.bins.bins[a.bin].gpu)
      values.migration -= at(a.column) * model.items[a.item].profile->memory.value;
  return values;
}

Result<void> check(const PlanProblem& problem) {
  const auto refuse = [](std::string what) {
    return fail(ErrorKind::infeasible, "",
                fmt::format("the paper's assignment model has no words for {}", what));
  };
  if (problem.graphs.size() != 1) return refuse("several GPU models");
  if (!problem.rules.empty()) return refuse("pins, forbidden GPUs and groups");
  if (problem.limits.migrations || problem.limits.moved_mib) return refuse("limits of moves");
  if (problem.may_evict) return refuse("running work that may stop");
  const Geometry& geometry = problem.graphs[0]->geometry();
  const auto is_strange = [&](PlacementSet set) {
    bool strange = false;
    for (const PlacementId id : set)
      strange |= geometry[id].profile->attribute != Attribute::none &&
                 geometry[id].profile->attribute != Attribute::media;
    return strange;
  };
  constexpr const char* engines = "profiles with graphics, all media engines or none";
  for (const PlanGpu& gpu : problem.gpus)
    if (is_strange(gpu.walls)) return refuse(engines);
  for (const ResolvedRequest& request : problem.requests) {
    const PlacementSet candidates = request.candidates[0];
    for (const PlacementId id : candidates)
      if (geometry[id].profile != geometry[candidates.first()].profile)
        return refuse("requests that several profiles satisfy");
    if (is_strange(candidates)) return refuse(engines);
  }
  return {};
}

}  // namespace

Result<WpmResult> solve_wpm(const PlanProblem& problem, const WpmOptions& options) {
  if (const auto fine = check(problem); !fine) return std::unexpected(fine.error());
  const auto begin = std::chrono::steady_clock::now();
  const WpmModel model = wpm_model(problem, options.counted);
  std::optional<std::vector<double>> start;
  if (options.start != nullptr) start = wpm_start(model, *options.start);
  if (start && !model.program.keeps(*start)) start.reset();
  WpmResult result;
  if (start) result.start_objective = model.program.cost_of(*start) + model.constant;
  const double built = in_seconds(std::chrono::steady_clock::now() - begin);
  const WpmSearchOutcome outcome = search(model.program, start ? &*start : nullptr,
                                          options.time_limit, {options.gap, model.constant});
  result.seconds = built + outcome.seconds;
  if (outcome.seconds_to_gap) result.seconds_to_gap = built + *outcome.seconds_to_gap;
  result.columns = model.program.columns();
  result.integers = model.program.integers();
  result.rows = model.program.rows();
  result.unmerged = model.bins.unmerged;
  result.bound = outcome.bound + model.constant;
  if (!outcome.x) return result;
  result.status = outcome.optimal ? WpmStatus::optimal : WpmStatus::feasible;
  result.values = values_of(model, *outcome.x);
  result.objective = model.program.cost_of(*outcome.x) + model.constant;
  return result;
}

}  // namespace cleave
