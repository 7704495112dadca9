#include "planner/plan_text.hpp"

#include <algorithm>
#include <iterator>

#include "base/format.hpp"
#include "base/json.hpp"
#include "physics/migration.hpp"
#include "physics/reconfiguration.hpp"
#include "planner/objective.hpp"

namespace cleave {

namespace {

/// As a JSON string. Nearly all names need no escape.
std::string json_string(std::string_view text) {
  const bool simple = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
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
  for (std::size_t o = 0; o < plan.values.size(); ++o)
    values[std::string(names[o])] = plan.values[o];
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

Json disruptive_json(const PlanProblem& problem, const Moves& moves) {
  Json list = Json::array();
  for (const Disruption& one : moves.disruptive)
    list.push_back({{"workload", problem.workloads[one.workload].name}, {"reason", one.reason}});
  return list;
}

Json cost_json(const std::vector<WaveCost>& costs) {
  Json waves = Json::array();
  Duration time{};
  std::int64_t moved = 0, between_nodes = 0;
  for (const WaveCost& cost : costs) {
    time += cost.time();
    moved += cost.moved_mib;
    between_nodes += cost.between_nodes_mib;
    waves.push_back({{"time_s", in_seconds(cost.time())},
                     {"make_room_s", in_seconds(cost.make_room)},
                     {"create_s", in_seconds(cost.create)},
                     {"transfer_s", in_seconds(cost.transfer)},
                     {"clean_up_s", in_seconds(cost.clean_up)},
                     {"moved_mib", cost.moved_mib},
                     {"between_nodes_mib", cost.between_nodes_mib}});
  }
  return {{"time_s", in_seconds(time)},
          {"moved_mib", moved},
          {"between_nodes_mib", between_nodes},
          {"waves", waves},
          {"notes", {reconfiguration_note, transfer_note}}};
}

/// A part of the document as the text of its members, to be placed between others.
std::string members(const Json& part) {
  std::string text = part.dump(2, ' ', false, Json::error_handler_t::replace);
  return text.substr(2, text.size() - 4);  // without the braces and their line ends
}

}  // namespace

std::string fingerprint(const PlanProblem& problem) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto bytes = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ 0xff) * 0x100000001b3;  // no byte of UTF-8: ends a text
  };
  const auto number = [&](std::uint64_t value) { bytes(fmt::format("{}", value)); };
  for (std::size_t gpu = 0; gpu < problem.gpus.size(); ++gpu) {
    const PlanGpu& entry = problem.gpus[gpu];
    const Geometry& geometry = problem.graphs[entry.kind]->geometry();
    bytes(entry.name);
    bytes(geometry.model().key);
    bytes(layout_text(geometry, entry.walls));
    bytes(layout_text(geometry, entry.idle));
    for (const WorkloadIndex i : problem.running_on(static_cast<GpuId>(gpu))) {
      const PlanWorkload& work = problem.workloads[i];
      bytes(work.name);
      const Placement& where = geometry[work.now->placement];
      bytes(where.profile->name);
      number(static_cast<std::uint64_t>(where.start));
    }
  }
  return fmt::format("{:016x}", hash);
}

std::string plan_text(const PlanProblem& problem, const Plan& plan) {
  fmt::memory_buffer out;
  const auto write = [&]<class... Parts>(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Parts>(parts)...);
  };
  write("{{\n{},\n  \"placements\": [",
        members({{"problem", plan.method == "given" ? "migrate" : name(problem.kind)},
                 {"fleet", fingerprint(problem)},
                 {"method", plan.method},
                 {"status", name(plan.status)},
                 {"objective", objective_json(plan)},
                 {"values", values_json(problem, plan)}}));
  std::vector<std::string> gpus;
  for (const PlanGpu& gpu : problem.gpus) gpus.push_back(json_string(gpu.name));
  bool first = true;
  for (WorkloadIndex i = 0; i < plan.goal.size(); ++i) {
    if (!plan.goal[i]) continue;
    const PlanWorkload& work = problem.workloads[i];
    const Seat seat = *plan.goal[i];
    const Placement& where = problem.placement(seat);
    write(
        "{}\n    {{\"workload\": {}, \"gpu\": {}, \"profile\": \"{}\", \"start\": {}, \"action\": "
        "\"{}\"}}",
        first ? "" : ",", json_string(work.name), gpus[index(seat.gpu)], where.profile->name,
        where.start, name(action_of(work, seat)));
    first = false;
  }
  write("{}],\n  \"pending\": [", first ? "" : "\n  ");
  for (std::size_t i = 0; i < plan.pending.size(); ++i) {
    const Pending& pending = plan.pending[i];
    write("{}\n    {{\"workload\": {}, \"memory_slices\": {}, \"reason\": {}}}", i == 0 ? "" : ",",
          json_string(problem.workloads[pending.workload].name),
          problem.size(pending.workload).value, json_string(pending.reason));
  }
  write("{}],\n  \"waves\": [", plan.pending.empty() ? "" : "\n  ");
  for (std::size_t w = 0; w < plan.moves.waves.size(); ++w) {
    write("{}\n    [", w == 0 ? "" : ",");
    bool first_step = true;
    for (const Step& step : plan.moves.waves[w]) {
      const Placement& where = problem.placement(step.seat);
      write("{}\n      {{\"op\": \"{}\", \"gpu\": {}, \"profile\": \"{}\", \"start\": {}",
            first_step ? "" : ",", name(step.op), gpus[index(step.seat.gpu)], where.profile->name,
            where.start);
      if (step.workload != none)
        write(", \"workload\": {}", json_string(problem.workloads[step.workload].name));
      write("}}");
      first_step = false;
    }
    write("]");
  }
  write("{}],\n{}\n}}\n", plan.moves.waves.empty() ? "" : "\n  ",
        members({{"waves_bound", plan.moves.waves_bound},
                 {"disruptive", disruptive_json(problem, plan.moves)},
                 {"temporary_moves", plan.moves.temporary},
                 {"cost", cost_json(cost_of(problem, plan.moves.waves))},
                 {"metrics", metrics_json(plan.then)},
                 {"metrics_now", metrics_json(plan.now)},
                 {"future_room", plan.future_room}}));
  return fmt::to_string(out);
}

}  // namespace cleave
