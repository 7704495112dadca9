#include "planner/given_goal.hpp"

#include <map>
#include <unordered_map>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "planner/plan_text.hpp"

namespace cleave {

namespace {

/// Without the fleet's own waiting work. All other work may move or end, unless it must stay.
Result<GivenProblem> problem_of(const FleetFile& now, std::vector<WaitingEntry> fresh,
                                const std::string& place) {
  GivenProblem given{std::make_unique<FleetFile>(now), {}};
  given.file->waiting = std::move(fresh);
  auto problem = PlanProblem::make(*given.file, ProblemKind::joint, place);
  if (!problem) return std::unexpected(problem.error());
  given.problem = std::move(*problem);
  given.problem.may_evict = true;
  return given;
}

using Workloads = std::unordered_map<std::string_view, WorkloadIndex>;
Workloads by_name(const PlanProblem& problem) {
  Workloads names;
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i)
    names.emplace(problem.workloads[i].name, i);
  return names;
}
using Gpus = std::unordered_map<std::string_view, GpuId>;
Gpus gpus_by_name(const PlanProblem& problem) {
  Gpus names;
  for (std::size_t i = 0; i < problem.gpus.size(); ++i)
    names.emplace(problem.gpus[i].name, static_cast<GpuId>(i));
  return names;
}

bool wall(const InstanceEntry& instance) {
  return !instance.owned || (!instance.workload && !instance.movable);
}

class GoalReader {
 public:
  GoalReader(const FleetFile& now, const FleetFile& goal, std::string place)
      : now_(now), goal_(goal), place_(std::move(place)) {}

  Result<GivenGoal> read(const std::string& now_place) {
    auto from = problem_of(now_, fresh_work(), now_place);
    if (!from) return std::unexpected(from.error());
    from_ = &*from;
    workloads_ = by_name(from->problem);
    const Gpus gpus = gpus_by_name(from->problem);
    target_.goal.resize(from->problem.workloads.size());
    target_.idle.resize(from->problem.gpus.size());
    for (std::size_t i = 0; i < goal_.gpus.size() && !error_; ++i) {
      const auto gpu = gpus.find(goal_.gpus[i].name);
      if (gpu == gpus.end()) {
        refuse(i, fmt::format("the fleet has no GPU '{}'", shown(goal_.gpus[i].name)),
               "a goal has to list the same GPUs");
      } else {
        read_gpu(i, gpu->second);
      }
    }
    if (!error_ && goal_.gpus.size() != now_.gpus.size())
      error_ = Error{ErrorKind::bad_input, place_,
                     fmt::format("it has {}, the fleet has {}", counted(goal_.gpus.size(), "GPU"),
                                 now_.gpus.size()),
                     "list every GPU with its instances"};
    if (error_) return std::unexpected(*error_);
    from->problem.place = place_;  // from here on, errors are about the goal
    return GivenGoal{std::move(*from), std::move(target_)};
  }

 private:
  void refuse(std::size_t gpu, std::string message, std::string remedy = {}) {
    if (!error_)
      error_ = Error{ErrorKind::bad_input, fmt::format("{}: gpus[{}]", place_, gpu),
                     std::move(message), std::move(remedy)};
  }

  /// Work that does not run yet, as work that waits for its profile.
  [[nodiscard]] std::vector<WaitingEntry> fresh_work() const {
    std::map<std::string_view, bool> running;
    for (const GpuEntry& gpu : now_.gpus)
      for (const InstanceEntry& instance : gpu.instances)
        if (instance.workload && instance.owned) running[*instance.workload] = true;
    std::vector<WaitingEntry> fresh;
    for (const GpuEntry& gpu : goal_.gpus)
      for (const InstanceEntry& instance : gpu.instances) {
        if (wall(instance) || !instance.workload || running.contains(*instance.workload)) continue;
        const Profile& profile = *goal_.geometries[gpu.geometry][instance.placement].profile;
        fresh.push_back(
            {*instance.workload, {ByProfile{std::string(profile.name)}, {}}, instance.constraints});
      }
    return fresh;
  }

  void read_gpu(std::size_t entry, GpuId gpu) {
    const GpuEntry& wanted = goal_.gpus[entry];
    PlanProblem& problem = from_->problem;
    const Geometry& theirs = goal_.geometries[wanted.geometry];
    const Geometry& ours = problem.geometry(gpu);
    if (&theirs.model() != &ours.model())
      return refuse(entry, fmt::format("{} is a {} and not a {}", wanted.name, ours.model().key,
                                       theirs.model().key));
    PlacementSet walls;
    for (const InstanceEntry& instance : wanted.instances) {
      const auto id =
          ours.find(*theirs[instance.placement].profile, theirs[instance.placement].start);
      if (!id) return refuse(entry, "it has a profile that is not in play", "widen --profiles");
      if (wall(instance)) {
        walls.insert(*id);
      } else if (instance.workload) {
        const WorkloadIndex i = workloads_.at(*instance.workload);
        target_.goal[i] = Seat{gpu, *id};
        problem.also_wants(i, problem.gpus[index(gpu)].kind, *id);
      } else {
        target_.idle[index(gpu)].insert(*id);
      }
    }
    if (walls != problem.gpus[index(gpu)].walls)
      refuse(entry,
             fmt::format("the goal changes instances on {} that must not change", wanted.name),
             "instances that are not owned, or not movable without a workload, must be the same in "
             "both");
  }

  const FleetFile& now_;
  const FleetFile& goal_;
  std::string place_;
  GivenProblem* from_ = nullptr;
  Workloads workloads_;
  Target target_;
  std::optional<Error> error_;
};

std::optional<Op> op_named(std::string_view text) {
  for (const Op op : {Op::destroy, Op::create, Op::start, Op::drain, Op::stop})
    if (name(op) == text) return op;
  return std::nullopt;
}

/// One step as the plan has it. After an error, which the reader keeps, the value means nothing.
Step read_step(JsonReader& in, const PlanProblem& problem, const Gpus& gpus,
               const Workloads& workloads) {
  Step step;
  const std::string op = in.text("op"), gpu = in.text("gpu"), profile = in.text("profile");
  const std::int64_t start = in.integer("start", 0, 99);
  const auto workload = in.text_if("workload");
  in.done();
  const auto found_op = op_named(op);
  const auto found_gpu = gpus.find(gpu);
  if (!found_op) in.refuse("op", fmt::format("'{}' is not a step of a plan", shown(op)));
  if (found_gpu == gpus.end()) {
    in.refuse("gpu", fmt::format("the fleet has no GPU '{}'", shown(gpu)));
    return step;
  }
  const auto placement = problem.geometry(found_gpu->second).find(profile, static_cast<int>(start));
  if (!placement) in.refuse("profile", placement.error().message, placement.error().remedy);
  const bool about_work = found_op && *found_op != Op::create && *found_op != Op::destroy;
  if (about_work && !workload) in.refuse("", "the key 'workload' is missing");
  if (workload && !workloads.contains(*workload))
    in.refuse("workload", fmt::format("the fleet has no workload '{}'", shown(*workload)));
  if (!found_op || !placement || (workload && !workloads.contains(*workload))) return step;
  return {*found_op, {found_gpu->second, *placement}, workload ? workloads.at(*workload) : none};
}

/// Where the steps would lead if all of them were legal.
Target after(const PlanProblem& problem, const std::vector<Wave>& waves) {
  Target end{goal_of_now(problem), {}};
  std::vector<PlacementSet> exists;
  for (const PlanGpu& gpu : problem.gpus) exists.push_back(gpu.idle);
  for (const auto& seat : end.goal)
    if (seat) exists[index(seat->gpu)].insert(seat->placement);
  for (const Wave& wave : waves)
    for (const Step& step : wave) {
      PlacementSet& here = exists[index(step.seat.gpu)];
      if (step.op == Op::create) here.insert(step.seat.placement);
      if (step.op == Op::destroy) here.erase(step.seat.placement);
      if (step.op == Op::start) end.goal[step.workload] = step.seat;
      if (step.op == Op::stop && end.goal[step.workload] == step.seat)
        end.goal[step.workload].reset();
    }
  for (const auto& seat : end.goal)
    if (seat) exists[index(seat->gpu)].erase(seat->placement);
  end.idle = std::move(exists);
  return end;
}

}  // namespace

Result<GivenGoal> given_goal(const FleetFile& now, const FleetFile& goal,
                             const std::string& now_place, const std::string& goal_place) {
  return GoalReader(now, goal, goal_place).read(now_place);
}

Result<GivenMoves> given_moves(const FleetFile& now, std::string_view plan,
                               const std::string& now_place, const std::string& plan_place) {
  const auto document = parse_json(plan, plan_place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, plan_place, error);
  const std::string state = in.text("fleet");
  std::map<std::string, bool> running;
  for (const GpuEntry& gpu : now.gpus)
    for (const InstanceEntry& instance : gpu.instances)
      if (instance.workload && instance.owned) running[*instance.workload] = true;
  std::vector<WaitingEntry> fresh;
  if (!in.has("waves"))
    in.refuse("", "the key 'waves' is missing", "a plan is what `cleave plan --json` prints");
  for (JsonReader& placement : in.objects("placements"))
    if (const std::string workload = placement.text("workload"); !running.contains(workload))
      fresh.push_back({workload, {ByProfile{placement.text("profile")}, {}}, {}});
  if (error) return std::unexpected(*error);
  auto from = problem_of(now, std::move(fresh), now_place);
  if (!from) return std::unexpected(from.error());
  if (fingerprint(from->problem) != state)
    return fail(ErrorKind::infeasible, plan_place,
                fmt::format("it was made for another state ({}) than that of {} ({})", shown(state),
                            now_place, fingerprint(from->problem)),
                "make a new plan from the present state");
  GivenMoves given{std::move(*from), {}};
  const Gpus gpus = gpus_by_name(given.from.problem);
  const Workloads workloads = by_name(given.from.problem);
  for (std::vector<JsonReader>& wave : in.object_lists("waves")) {
    given.moves.waves.emplace_back();
    for (JsonReader& step : wave)
      given.moves.waves.back().push_back(read_step(step, given.from.problem, gpus, workloads));
  }
  if (error) return std::unexpected(*error);
  given.moves.reached = after(given.from.problem, given.moves.waves);
  if (in.objects("disruptive").empty()) {
    const PlanProblem& problem = given.from.problem;
    for (JsonReader& placement : in.objects("placements")) {
      const auto found = workloads.find(placement.text("workload"));
      const std::optional<Seat> seat =
          found == workloads.end() ? std::nullopt : given.moves.reached.goal[found->second];
      if (!seat || problem.gpus[index(seat->gpu)].name != placement.text("gpu") ||
          problem.placement(*seat).profile->name != placement.text("profile") ||
          problem.placement(*seat).start != placement.integer("start", 0, 99))
        placement.refuse("", "the waves do not lead there");
    }
    if (error) return std::unexpected(*error);
  }
  return given;
}

}  // namespace cleave
