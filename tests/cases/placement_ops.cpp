// Operations of module `placement`: how the methods that place by rule fill, empty and reconfigure
// a fleet, and the metrics of the layouts.

#include <algorithm>
#include <map>
#include <utility>

#include "answer.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "fleet_cluster.hpp"
#include "operations.hpp"
#include "planner/heuristic.hpp"
#include "planner/metrics.hpp"
#include "planner/planner.hpp"
#include "planner/wpm_waste_test.hpp"

namespace cleave::cases::placement {

namespace {

/// The method by the name that the cases give it; null after an error.
const Heuristic* read_policy(JsonReader& in) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"rule", "rules"}, {"first_fit", "first-fit"}, {"load_balanced", "load-balanced"}};
  const std::string wanted = in.text_if("policy").value_or("rule");
  for (const auto& [there, here] : names)
    for (const Heuristic& method : heuristics())
      if (there == wanted && method.name == here) return &method;
  in.refuse("policy", fmt::format("there is no policy '{}'", shown(wanted)));
  return nullptr;
}

Json metrics_of(const PlanProblem& problem, const Goal& goal) {
  const PlanMetrics m = metrics(problem, goal);
  return {{"gpus", m.gpus},
          {"memory_wastage", m.memory_wastage},
          {"compute_wastage", m.compute_wastage},
          {"availability", m.availability},
          {"migration_size", m.migration_size},
          {"moved_inside_gpu", m.moved_inside_gpu},
          {"pending_size", m.pending_size},
          {"sequential_migrations", m.sequential_migrations},
          {"memory_utilization", rational(m.memory_utilization)},
          {"compute_utilization", rational(m.compute_utilization)}};
}

Json pending_of(const PlanProblem& problem, const std::vector<WorkloadIndex>& pending) {
  Json list = Json::array();
  for (const WorkloadIndex i : pending) {
    const PlanWorkload& workload = problem.workloads[i];
    const auto& wanted =
        std::get<ByProfile>(problem.requests[index(workload.request)].request.wanted);
    list.push_back({{"id", workload.name}, {"profile", wanted.profile}});
  }
  return list;
}

/// A cluster, a problem on it, and the result of a method.
struct Solved {
  FleetCluster cluster;
  PlanProblem problem;
  HeuristicOutcome outcome;

  [[nodiscard]] Json answer() const {
    return {{"cluster", cluster_of(cluster, problem, outcome.goal)},
            {"metrics", metrics_of(problem, outcome.goal)}};
  }
};

using Solve = HeuristicOutcome (Heuristic::*)(const PlanProblem&) const;

/// Null after an error.
std::unique_ptr<Solved> solve(JsonReader& in, ProblemKind kind, Solve with) {
  auto cluster = read_fleet_cluster(in, "cluster");
  if (!cluster) return nullptr;
  const auto work = read_work(in, "new", cluster->graph->geometry());
  const Heuristic* method = read_policy(in);
  if (!work || method == nullptr) return nullptr;
  add_waiting(*cluster, *work);
  // The problem refers to the cluster, which therefore has to be in its final place first.
  auto solved = std::make_unique<Solved>();
  solved->cluster = std::move(*cluster);
  auto problem = problem_of(solved->cluster, kind, in);
  if (!problem) return nullptr;
  solved->problem = std::move(*problem);
  solved->outcome = (method->*with)(solved->problem);
  if (const std::string wrong = flaw(solved->problem, solved->outcome.goal); !wrong.empty())
    in.refuse("", fmt::format("the plan is flawed: {}", wrong));
  return solved;
}

}  // namespace

Json deploy(JsonReader& in) {
  const auto solved = solve(in, ProblemKind::deploy, &Heuristic::deploy);
  if (!solved) return {};
  Json answer = solved->answer();
  answer["pending"] = pending_of(solved->problem, solved->outcome.pending);
  return answer;
}

Json compact(JsonReader& in) {
  const auto solved = solve(in, ProblemKind::compact, &Heuristic::compact);
  if (!solved) return {};
  Json answer = solved->answer();
  const HeuristicOutcome& outcome = solved->outcome;
  answer["added"] = outcome.added ? Json(index(*outcome.added)) : Json();
  answer["vacated"] = Json::array();
  for (const GpuId gpu : outcome.vacated) answer["vacated"].push_back(index(gpu));
  return answer;
}

Json reconfigure(JsonReader& in) {
  const auto solved = solve(in, ProblemKind::reconfigure, &Heuristic::reconfigure);
  if (!solved) return {};
  Json answer = solved->answer();
  answer["pending"] = pending_of(solved->problem, solved->outcome.pending);
  answer["minimum"] = *solved->outcome.minimum;
  answer["gpus_tried"] = *solved->outcome.gpus_tried;
  return answer;
}

Json measure(JsonReader& in) {
  auto initial = read_fleet_cluster(in, "initial");
  const auto after = read_fleet_cluster(in, "final");
  if (!initial || !after) return {};
  const auto pending = read_work(in, "pending", initial->graph->geometry());
  if (!pending) return {};
  std::map<std::string, std::optional<Seat>> goal;  // by id: a seat, or empty for pending work
  for (const WrittenWork& work : *pending) goal[work.id] = std::nullopt;
  std::map<std::string, const Profile*> fresh;
  for (const WrittenWork& work : *pending) fresh[work.id] = work.profile;
  for (std::size_t gpu = 0; gpu < after->file.gpus.size(); ++gpu)
    for (const InstanceEntry& entry : after->file.gpus[gpu].instances) {
      goal[*entry.workload] = Seat{static_cast<GpuId>(gpu), entry.placement};
      fresh[*entry.workload] = after->graph->geometry()[entry.placement].profile;
    }
  for (const GpuEntry& gpu : initial->file.gpus)
    for (const InstanceEntry& entry : gpu.instances) fresh.erase(*entry.workload);
  std::vector<WrittenWork> newcomers;
  for (const auto& [id, profile] : fresh) newcomers.push_back({id, profile});
  add_waiting(*initial, newcomers);
  const auto problem = problem_of(*initial, ProblemKind::joint, in);
  if (!problem) return {};
  Goal seats;
  for (const PlanWorkload& workload : problem->workloads) {
    const auto found = goal.find(std::string(workload.name));
    if (found == goal.end())
      in.refuse("",
                fmt::format("'{}' is neither in 'final' nor in 'pending'", shown(workload.name)));
    else
      seats.push_back(found->second);
  }
  if (seats.size() != problem->workloads.size() ||
      after->file.gpus.size() != initial->file.gpus.size()) {
    in.refuse("", "'final' and 'initial' are not of the same GPUs and work");
    return {};
  }
  return metrics_of(*problem, seats);
}

namespace {

/// Equation 3 in whole GPUs, over all running and waiting work (reading O8).
std::int64_t least_gpus_of_all(const PlanProblem& problem) {
  std::int64_t compute = 0, memory = 0;
  const Geometry& geometry = problem.graphs.front()->geometry();
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i) {
    const Profile& profile = *geometry[problem.wanted(i, 0).first()].profile;
    compute += profile.compute.value;
    memory += profile.memory.value;
  }
  const auto whole = [](std::int64_t slices, std::int64_t of_gpu) {
    return (slices + of_gpu - 1) / of_gpu;
  };
  return std::max(whole(compute, geometry.model().compute.value),
                  whole(memory, geometry.model().memory_slices.value));
}

}  // namespace

Json optimum(JsonReader& in) {
  auto cluster = read_fleet_cluster(in, "cluster");
  if (!cluster) return {};
  const auto work = read_work(in, "new", cluster->graph->geometry());
  const bool movable = in.flag("movable", false);
  if (!work) return {};
  add_waiting(*cluster, *work);
  const ProblemKind kind = movable ? ProblemKind::joint : ProblemKind::deploy;
  const auto problem = problem_of(*cluster, kind, in);
  if (!problem) return {};
  const auto plan = make_plan(*problem, {});
  if (!plan || plan->status != PlanStatus::optimal) {
    in.refuse("", plan ? "the optimum was not proven" : plan.error().text());
    return {};
  }
  return {{"pending_size", plan->values[0]},
          {"gpus", plan->values[1]},
          {"waste", plan->values[2]},
          {"lower_bound_gpus",
           kind == ProblemKind::joint ? Json(least_gpus_of_all(*problem)) : Json()}};
}

namespace {

struct GpuOfList {
  std::shared_ptr<const StateGraph> graph;
  PlacementSet taken;
};

/// `device` and `gpu`, a list of {"id", "profile", "start"}.
std::optional<GpuOfList> read_list(JsonReader& in) {
  GpuOfList gpu{read_device(in), {}};
  if (!gpu.graph) return std::nullopt;
  if (!in.has("gpu")) in.refuse("", "the key 'gpu' is missing");
  const auto entries = read_entries(in.objects("gpu"), gpu.graph->geometry());
  if (!entries) return std::nullopt;
  for (const InstanceEntry& entry : *entries) gpu.taken.insert(entry.placement);
  return gpu;
}

}  // namespace

Json partitions(JsonReader& in) {
  const auto gpu = read_list(in);
  if (!gpu) return {};
  const Geometry& geometry = gpu->graph->geometry();
  Json list = Json::array();
  for (const PlacementId id : largest_free_partitions(geometry, gpu->taken))
    list.push_back(instance(geometry, id));
  return {{"partitions", std::move(list)}};
}

Json waste_of_model(JsonReader& in) {
  const auto gpu = read_list(in);
  if (!gpu) return {};
  const WpmWaste waste = wpm_waste(gpu->graph->geometry(), gpu->taken);
  return {{"u", waste.u}, {"v", waste.v}, {"U", waste.U}, {"V", waste.V}, {"delta", waste.delta}};
}

}  // namespace cleave::cases::placement
