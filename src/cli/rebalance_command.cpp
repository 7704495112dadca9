// `cleave rebalance`: the moves that the online scheduler makes when work has just left a GPU.

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "cli/say.hpp"
#include "model/layout_text.hpp"
#include "placement/rebalance.hpp"
#include "planner/problem.hpp"

namespace cleave::cli {

namespace {

struct RebalanceCommandOptions {
  std::string fleet, gpu, threshold = "0.4", load = "compute", eligibility = "both-after",
                          profiles = "all";
  bool json = false;
};

Result<RebalanceOptions> read_options(const RebalanceCommandOptions& given) {
  const auto policy =
      choose_policy("fragmentation", {{"threshold", given.threshold}, {"load", given.load}});
  if (!policy) return std::unexpected(policy.error());
  RebalanceOptions options;
  options.threshold = policy->options.threshold;
  options.load = policy->options.load;
  if (given.eligibility == "lowers-imbalance") {
    options.eligibility = Eligibility::lowers_imbalance;
  } else if (given.eligibility != "both-after") {
    return fail(ErrorKind::bad_usage, "--eligibility",
                fmt::format("'{}' is not a condition", shown(given.eligibility)),
                "give both-after or lowers-imbalance");
  }
  return options;
}

Result<GpuId> find_gpu(const FleetFile& file, const std::string& name) {
  const auto found = std::ranges::find(file.gpus, name, &GpuEntry::name);
  if (found != file.gpus.end()) return static_cast<GpuId>(found - file.gpus.begin());
  return fail(ErrorKind::bad_input, "--gpu", fmt::format("this fleet has no GPU '{}'", shown(name)),
              suggestion(name, names_of(file.gpus)));
}

/// The fleet's workloads, where they are while they move, and what keeps them from moving: their
/// own `movable`, and for another GPU `pin`, `forbid` and the rest of their group.
class Tenants {
 public:
  Tenants(const PlanProblem& problem, GpuId target)
      : problem_(problem), target_(target), at_(problem.gpus.size()) {
    std::vector<WorkloadIndex> by_name;
    for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i) {
      const PlanWorkload& workload = problem.workloads[i];
      by_name.push_back(i);
      if (workload.now) at_[index(workload.now->gpu)][workload.now->placement] = i;
    }
    std::ranges::sort(by_name, {}, [&](WorkloadIndex i) { return problem.workloads[i].name; });
    rank_.resize(by_name.size());
    for (std::size_t i = 0; i < by_name.size(); ++i) rank_[by_name[i]] = i;
  }

  [[nodiscard]] HeldJobs jobs() const {
    return {
        [this](GpuId gpu) { return fixed(gpu); },
        [this](GpuId gpu, PlacementId placement) { return rank_[at_[index(gpu)].at(placement)]; }};
  }
  void moved(const JobMove& move) {
    const auto work = at_[index(move.from)].extract(move.from_placement);
    at_[index(move.to)][move.to_placement] = work.mapped();
  }
  [[nodiscard]] std::string_view name_at(GpuId gpu, PlacementId placement) const {
    return problem_.workloads[at_[index(gpu)].at(placement)].name;
  }

 private:
  [[nodiscard]] PlacementSet fixed(GpuId gpu) const {
    PlacementSet fixed;
    for (const auto& [placement, work] : at_[index(gpu)])
      if (!may_move(work, gpu)) fixed.insert(placement);
    return fixed;
  }

  [[nodiscard]] bool may_move(WorkloadIndex work, GpuId from) const {
    const PlanWorkload& workload = problem_.workloads[work];
    if (workload.stays) return false;
    const std::uint32_t group = workload.rule == none ? none : problem_.rules[workload.rule].group;
    if (group != none && problem_.groups[group].max_moving == 0) return false;
    if (from == target_) return true;
    return problem_.allows(work, target_) && (group == none || !shares(work, group));
  }

  /// Whether another of the group is where this one must not meet it.
  [[nodiscard]] bool shares(WorkloadIndex work, std::uint32_t group) const {
    for (std::size_t i = 0; i < at_.size(); ++i) {
      if (problem_.domain(group, static_cast<GpuId>(i)) != problem_.domain(group, target_))
        continue;
      for (const auto& [placement, other] : at_[i]) {
        const std::uint32_t rule = problem_.workloads[other].rule;
        if (other != work && rule != none && problem_.rules[rule].group == group) return true;
      }
    }
    return false;
  }

  const PlanProblem& problem_;
  GpuId target_;
  std::vector<std::map<PlacementId, WorkloadIndex>> at_;  // by GPU
  std::vector<std::size_t> rank_;  // by workload: its place in the order of names
};

struct Migration {
  JobMove move;
  std::string workload;
};

struct RebalanceAnswer {
  const FleetFile& file;
  const Fleet& before;
  const Fleet& after;
  GpuId gpu;
  RebalanceKind kind;
  const RebalanceOptions& options;
  std::vector<Migration> migrations;

  [[nodiscard]] const std::string& name(GpuId id) const { return file.gpus[index(id)].name; }
  [[nodiscard]] const Geometry& geometry() const { return before.geometry(before[gpu]); }
  [[nodiscard]] Ratio load(const Fleet& fleet) const {
    return load_of({fleet.graph(fleet[gpu]), fleet[gpu]}, options.load);
  }
};

void print_json(const RebalanceAnswer& answer) {
  const Geometry& geometry = answer.geometry();
  Json migrations = Json::array();
  for (const auto& [move, workload] : answer.migrations) {
    Json destroys = Json::array();
    for (const PlacementId id : by_start(geometry, move.destroys))
      destroys.push_back({{"profile", geometry[id].profile->name}, {"start", geometry[id].start}});
    migrations.push_back({{"workload", workload},
                          {"from", answer.name(move.from)},
                          {"to", answer.name(move.to)},
                          {"profile", geometry[move.to_placement].profile->name},
                          {"start", geometry[move.to_placement].start},
                          {"from_start", geometry[move.from_placement].start},
                          {"reuse", move.reuse},
                          {"destroys", destroys},
                          {"fragmentation_before", ratio_json(move.cost_before.ratio())},
                          {"fragmentation_after", ratio_json(move.cost_after.ratio())}});
  }
  print(Json{{"kind", answer.kind == RebalanceKind::intra ? "intra" : "inter"},
             {"migrations", migrations},
             {"gpu", answer.name(answer.gpu)},
             {"load_before", ratio_json(answer.load(answer.before))},
             {"load_after", ratio_json(answer.load(answer.after))},
             {"profiles", geometry.profile_names()}});
}

void print_text(const RebalanceAnswer& answer) {
  const Geometry& geometry = answer.geometry();
  const bool intra = answer.kind == RebalanceKind::intra;
  const std::string load =
      fmt::format("load {:.2f}, threshold {}", answer.load(answer.before).value(),
                  answer.options.threshold.decimal());
  say("{} is {} ({}): {}\n\n", answer.name(answer.gpu), intra ? "busy" : "lazy", load,
      intra ? "its own work moves while that lowers its fragmentation"
            : "it takes work from busy GPUs of its model");
  if (answer.migrations.empty()) fmt::print("nothing moves\n\n");
  for (const auto& [move, workload] : answer.migrations) {
    const int start = geometry[move.to_placement].start;
    say("move '{}' ({}) from {} at {} to {}, {}\n", shown(workload),
        geometry[move.to_placement].profile->name, answer.name(move.from),
        geometry[move.from_placement].start,
        intra ? fmt::format("{}", start) : fmt::format("{} at {}", answer.name(move.to), start),
        move.reuse ? "an existing idle instance" : "a new instance");
    if (!move.destroys.empty())
      fmt::print("  destroys idle {} first\n", layout_text(geometry, move.destroys));
    fmt::print("  fragmentation {:.4f} before, {:.4f} after\n", move.cost_before.ratio().value(),
               move.cost_after.ratio().value());
  }
  if (!answer.migrations.empty()) fmt::print("\n");
  const auto line = [&](const char* when, const GpuState& state) {
    const std::string names = legend(geometry, state.held, state.idle, state.walls);
    fmt::print("{}  [{}]  {}\n", when, draw(geometry, state.held, state.idle, state.walls),
               names.empty() ? "empty" : names);
  };
  line("now  ", answer.before[answer.gpu]);
  line("after", answer.after[answer.gpu]);
}

Result<int> run_rebalance(const RebalanceCommandOptions& given) {
  const auto options = read_options(given);
  if (!options) return std::unexpected(options.error());
  auto file = load_fleet(given.fleet, given.profiles);
  if (!file) return std::unexpected(file.error());
  const auto gpu = find_gpu(*file, given.gpu);
  if (!gpu) return std::unexpected(gpu.error());
  file->waiting.clear();  // the queue is served after the moves
  const auto problem = PlanProblem::make(*file, ProblemKind::compact, given.fleet);
  if (!problem) return std::unexpected(problem.error());

  const Fleet before(*file);
  Fleet after = before;
  Tenants tenants(*problem, *gpu);
  std::vector<Migration> migrations;
  const Rebalance result =
      rebalance(after, *gpu, *options, tenants.jobs(), [&](const JobMove& move) {
        migrations.push_back({move, std::string(tenants.name_at(move.from, move.from_placement))});
        tenants.moved(move);
      });
  const RebalanceAnswer answer{
      *file, before, after, *gpu, result.kind, *options, std::move(migrations)};
  if (given.json) {
    print_json(answer);
  } else {
    print_text(answer);
  }
  return 0;
}

}  // namespace

void add_rebalance(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "rebalance",
      "Show the moves that the online scheduler makes after work has left a GPU",
      "cleave rebalance --fleet examples/fleets/departed.json --gpu n0/1", run_rebalance);
  command
      ->add_option("--fleet", options.fleet, "A fleet file with the state after the work has left")
      ->required();
  command->add_option("--gpu", options.gpu, "The GPU that the work has left")->required();
  command
      ->add_option("--threshold", options.threshold,
                   "Load below which a GPU counts as lazy, and from which it counts as busy")
      ->default_str("0.4");
  command->add_option("--load", options.load, "Measure of load: compute, memory or joint")
      ->default_str("compute");
  command
      ->add_option("--eligibility", options.eligibility,
                   "Which work a lazy GPU may take: its load after the move must be below the "
                   "source's load after the move (both-after) or before it (lowers-imbalance)")
      ->default_str("both-after");
  add_profiles(*command, options.profiles);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
