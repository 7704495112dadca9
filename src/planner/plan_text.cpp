#include "planner/plan_text.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "physics/migration.hpp"
#include "physics/reconfiguration.hpp"
#include "planner/objective.hpp"

namespace cleave {

namespace {

/// Appends the text as a JSON string. Nearly all names need no escape.
void append_json(std::string& out, std::string_view text) {
  const bool simple = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (simple) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
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
  const auto number = [&](std::uint64_t value) {
    const fmt::format_int text(value);
    bytes({text.data(), text.size()});
  };
  for (std::size_t gpu = 0; gpu < problem.gpus.size(); ++gpu) {
    const PlanGpu& entry = problem.gpus[gpu];
    const Geometry& geometry = problem.graphs[entry.kind]->geometry();
    bytes(entry.name);
    bytes(geometry.model().key);
    for (const PlacementSet instances : {entry.walls, entry.idle})
      bytes(instances.empty() ? "" : layout_text(geometry, instances));
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

namespace {

/// The lists of a plan, which are as long as the fleet is large: appended piece by piece, since to
/// interpret a format for each entry takes longer than to find the plan.
class Lists {
 public:
  Lists(const PlanProblem& problem, std::string& out) : problem_(problem), out_(out) {
    for (const PlanGpu& gpu : problem.gpus) {
      gpu_at_.push_back(gpus_.size());
      append_json(gpus_, gpu.name);
    }
    gpu_at_.push_back(gpus_.size());
  }

  /// About how long the lists become: names of every length, but each about as long as the others.
  [[nodiscard]] std::size_t estimate(const Plan& plan) const {
    std::size_t entries = plan.goal.size() + 2 * plan.pending.size();
    for (const Wave& wave : plan.moves.waves) entries += wave.size();
    const std::size_t name = gpus_.size() / std::max<std::size_t>(1, problem_.gpus.size());
    return entries * (100 + name);
  }

  void placements(const Goal& goal) {
    bool first = true;
    for (WorkloadIndex i = 0; i < goal.size(); ++i) {
      if (!goal[i]) continue;
      const PlanWorkload& work = problem_.workloads[i];
      add(first ? "\n    {\"workload\": " : ",\n    {\"workload\": ");
      append_json(out_, work.name);
      add(", \"gpu\": ");
      seat(*goal[i]);
      add(", \"action\": \"");
      add(name(action_of(work, *goal[i])));
      add("\"}");
      first = false;
    }
    if (!first) add("\n  ");
  }

  void pending(const std::vector<Pending>& pending) {
    bool first = true;
    for (const Pending& one : pending) {
      add(first ? "\n    {\"workload\": " : ",\n    {\"workload\": ");
      append_json(out_, problem_.workloads[one.workload].name);
      add(", \"memory_slices\": ");
      number(problem_.size(one.workload).value);
      add(", \"reason\": ");
      append_json(out_, one.reason);
      add("}");
      first = false;
    }
    if (!first) add("\n  ");
  }

  void wave(const Wave& wave) {
    bool first = true;
    for (const Step& step : wave) {
      add(first ? "\n      {\"op\": \"" : ",\n      {\"op\": \"");
      add(name(step.op));
      add("\", \"gpu\": ");
      seat(step.seat);
      if (step.workload != none) {
        add(", \"workload\": ");
        append_json(out_, problem_.workloads[step.workload].name);
      }
      add("}");
      first = false;
    }
  }

 private:
  void add(std::string_view text) { out_ += text; }
  void number(int value) { add(fmt::format_int(value).c_str()); }
  void seat(Seat seat) {
    const std::size_t gpu = index(seat.gpu);
    add(std::string_view(gpus_).substr(gpu_at_[gpu], gpu_at_[gpu + 1] - gpu_at_[gpu]));
    const Placement& where = problem_.placement(seat);
    add(", \"profile\": \"");
    add(where.profile->name);
    add("\", \"start\": ");
    number(where.start);
  }

  const PlanProblem& problem_;
  std::string& out_;
  std::string gpus_;                 // all names as JSON strings
  std::vector<std::size_t> gpu_at_;  // where each begins, and the end
};

}  // namespace

std::string plan_text(const PlanProblem& problem, const Plan& plan) {
  std::string out = "{\n";
  out += members({{"problem", plan.method == "given" ? "migrate" : name(problem.kind)},
                  {"fleet", fingerprint(problem)},
                  {"method", plan.method},
                  {"status", name(plan.status)},
                  {"objective", objective_json(plan)},
                  {"values", values_json(problem, plan)}});
  Lists lists(problem, out);
  out.reserve(out.size() + lists.estimate(plan));
  out += ",\n  \"placements\": [";
  lists.placements(plan.goal);
  out += "],\n  \"pending\": [";
  lists.pending(plan.pending);
  out += "],\n  \"waves\": [";
  for (std::size_t w = 0; w < plan.moves.waves.size(); ++w) {
    out += w == 0 ? "\n    [" : ",\n    [";
    lists.wave(plan.moves.waves[w]);
    out += "]";
  }
  out += plan.moves.waves.empty() ? "],\n" : "\n  ],\n";
  out += members({{"waves_bound", plan.moves.waves_bound},
                  {"disruptive", disruptive_json(problem, plan.moves)},
                  {"temporary_moves", plan.moves.temporary},
                  {"cost", cost_json(cost_of(problem, plan.moves.waves))},
                  {"metrics", metrics_json(plan.then)},
                  {"metrics_now", metrics_json(plan.now)},
                  {"future_room", plan.future_room}});
  out += "\n}\n";
  return out;
}

}  // namespace cleave
