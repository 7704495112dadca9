#include "planner/plan_text.hpp"

#include <algorithm>
#include <iterator>

#include "base/format.hpp"
#include "base/json.hpp"
#include "planner/objective.hpp"

namespace cleave {

namespace {

/// As a JSON string. Nearly all names need no escape.
std::string json_string(std::string_view text) {
  const bool simple =
      std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (simple) return fmt::format("\"{}\"", text);
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json objective_json(const Plan& plan) {
  Json list = Json::array();
  for (const Objective& objective : plan.objective)
    list.push_back({{"name", objective.name},
                    {"value", objective.value},
                    {"bound", objective.bound},
                    {"proof", objective.proof}});
  return list;
}

Json values_json(const PlanProblem& problem, const Plan& plan) {
  Json values = Json::object();
  const auto names = objective_names(problem.kind);
  for (std::size_t o = 0; o < plan.values.size(); ++o) values[std::string(names[o])] = plan.values[o];
  return values;
}

Json metrics_json(const PlanMetrics& m) {
  return {{"gpus", m.gpus},
          {"memory_wastage", m.memory_wastage},
          {"compute_wastage", m.compute_wastage},
          {"availability", m.availability},
          {"migration_size", m.migration_size},
          {"pending_size", m.pending_size},
          {"sequential_migrations", m.sequential_migrations},
          {"memory_utilization", m.memory_utilization.value()},
          {"compute_utilization", m.compute_utilization.value()},
          {"moved_inside_gpu", m.moved_inside_gpu}};
}

/// A part of the document as the text of its members, to stand between others.
std::string members(const Json& part) {
  std::string text = part.dump(2, ' ', false, Json::error_handler_t::replace);
  return text.substr(2, text.size() - 4);  // without the braces and their line ends
}

}  // namespace

std::string plan_text(const PlanProblem& problem, const Plan& plan) {
  fmt::memory_buffer out;
  const auto write = [&]<class... Parts>(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Parts>(parts)...);
  };
  write("{{\n{},\n  \"placements\": [", members({{"problem", name(problem.kind)},
                                                 {"method", plan.method},
                                                 {"status", name(plan.status)},
                                                 {"objective", objective_json(plan)},
                                                 {"values", values_json(problem, plan)}}));
  std::vector<std::string> gpus;
  for (const PlanGpu& gpu : problem.gpus) gpus.push_back(json_string(gpu.name));
  bool first = true;
  for (WorkloadIndex i = 0; i < plan.goal.size(); ++i) {
    if (!plan.goal[i]) continue;
    const PlanWorkload& who = problem.workloads[i];
    const Seat seat = *plan.goal[i];
    const Placement& where = problem.placement(seat);
    write("{}\n    {{\"workload\": {}, \"gpu\": {}, \"profile\": \"{}\", \"start\": {}, \"action\": \"{}\"}}",
          first ? "" : ",", json_string(who.name), gpus[index(seat.gpu)], where.profile->name, where.start,
          name(action_of(who, seat)));
    first = false;
  }
  write("{}],\n  \"pending\": [", first ? "" : "\n  ");
  for (std::size_t i = 0; i < plan.pending.size(); ++i) {
    const Pending& pending = plan.pending[i];
    write("{}\n    {{\"workload\": {}, \"memory_slices\": {}, \"reason\": {}}}", i == 0 ? "" : ",",
          json_string(problem.workloads[pending.workload].name), problem.size(pending.workload).value,
          json_string(pending.reason));
  }
  write("{}],\n{}\n}}\n", plan.pending.empty() ? "" : "\n  ",
        members({{"metrics", metrics_json(plan.then)},
                 {"metrics_now", metrics_json(plan.now)},
                 {"future_room", plan.future_room}}));
  return fmt::to_string(out);
}

}  // namespace cleave
