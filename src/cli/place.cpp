// `cleave place`: where one request would go on a fleet, or why nowhere.

#include <map>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "model/layout_text.hpp"
#include "placement/one_move.hpp"
#include "placement/policy.hpp"
#include "placement/why_not.hpp"

namespace cleave::cli {

namespace {

struct PlaceCommandOptions {
  std::string fleet, profile, memory, policy{default_policy}, profiles = "all";
  int compute = 0;
  std::map<std::string, std::string> policy_options;  // by name; empty: not given
  bool json = false;
};

/// The fleet's models with all their profiles.
std::vector<Geometry> whole_models(const FleetFile& fleet) {
  std::vector<Geometry> whole;
  for (const Geometry& geometry : fleet.geometries)
    whole.emplace_back(geometry.model(), ProfileChoice().on(geometry.model()));
  return whole;
}

Result<Request> read_request(const PlaceCommandOptions& options, const FleetFile& fleet) {
  if (options.profile.empty()) {
    const auto size = parse_size(options.memory);
    if (!size) return fail_at("--memory", size.error());
    if (*size == MiB{0})
      return fail(ErrorKind::bad_usage, "--memory", "a request for no memory is for no instance",
                  "say at least 1MiB");
    return Request{BySize{*size, {options.compute}}, {}};
  }
  Request request{ByProfile{options.profile}, {}};
  if (!resolve(request, fleet.geometries).impossible.empty()) {
    if (resolve(request, whole_models(fleet)).impossible.empty())
      return fail(ErrorKind::bad_input, "--profile",
                  fmt::format("{} is not among the chosen profiles", shown(options.profile)),
                  "widen --profiles");
    std::vector<std::string> known;
    for (const Geometry& geometry : fleet.geometries)
      for (const std::string& name : geometry.profile_names()) known.push_back(name);
    return fail(ErrorKind::bad_input, "--profile",
                fmt::format("no GPU of this fleet has a profile '{}'", shown(options.profile)),
                suggestion(options.profile, known));
  }
  return request;
}

struct PlaceAnswer {
  const FleetFile& file;
  const Fleet& before;
  const Decision& decision;
  const ChosenPolicy& policy;

  [[nodiscard]] const GpuState& gpu() const { return before[decision.gpu]; }
  [[nodiscard]] const Geometry& geometry() const { return before.geometry(gpu()); }
  [[nodiscard]] const Placement& placement() const { return geometry()[decision.placement]; }
  [[nodiscard]] const std::string& name() const { return file.gpus[index(decision.gpu)].name; }
  [[nodiscard]] Ratio cost_after() const {
    const StateGraph& graph = before.graph(gpu());
    return graph.cost(graph.add(gpu().occupied, decision.placement)).ratio();
  }
};

void print_json(const PlaceAnswer& answer) {
  const GpuView view{answer.before.graph(answer.gpu()), answer.gpu()};
  Json destroys = Json::array();
  for (const PlacementId id : by_start(answer.geometry(), answer.decision.destroys))
    destroys.push_back(
        {{"profile", answer.geometry()[id].profile->name}, {"start", answer.geometry()[id].start}});
  print(Json{{"gpu", answer.name()},
             {"profile", answer.placement().profile->name},
             {"start", answer.placement().start},
             {"reuse", answer.decision.reuse},
             {"destroys", destroys},
             {"scores",
              {{"policy", answer.policy.policy->name},
               {"class", busy(view, answer.policy.options) ? "busy" : "lazy"},
               {"load", ratio_json(load_of(view, answer.policy.options.load))},
               {"fragmentation_after", ratio_json(answer.cost_after())}}},
             {"profiles", answer.geometry().profile_names()}});
}

void print_text(const PlaceAnswer& answer) {
  Fleet after = answer.before;
  after.hold(answer.decision.gpu, answer.decision.placement);
  const GpuState& now = answer.gpu();
  const GpuState& then = after[answer.decision.gpu];
  const Placement& where = answer.placement();
  fmt::print("{} at {} on GPU {}, {}\n\n", where.profile->name, where.start, answer.name(),
             answer.decision.reuse ? "an existing idle instance" : "a new instance");
  if (!answer.decision.destroys.empty())
    fmt::print("destroys idle {} first\n\n",
               layout_text(answer.geometry(), answer.decision.destroys));
  const auto line = [&](const char* when, const GpuState& state) {
    const std::string names = legend(answer.geometry(), state.held, state.idle, state.walls);
    fmt::print("{}  [{}]  {}\n", when, draw(answer.geometry(), state.held, state.idle, state.walls),
               names.empty() ? "empty" : names);
  };
  line("now  ", now);
  line("after", then);
  fmt::print("\npolicy {}: fragmentation of this GPU is {:.4f} after it\n",
             answer.policy.policy->name, answer.cost_after().value());
}

const InstanceEntry* instance_at(const FleetFile& file, GpuId gpu, PlacementId placement) {
  for (const InstanceEntry& instance : file.gpus[index(gpu)].instances)
    if (instance.placement == placement) return &instance;
  return nullptr;
}

/// The cheapest thing that would make room: one instance to move and where to, or GPUs to add.
std::string remedy(const FleetFile& file, const Fleet& fleet, const ResolvedRequest& request,
                   const WhyNot& why) {
  if (!why.impossible.empty()) return why.remedy();
  const auto movable = [&](GpuId gpu, PlacementId placement) {
    const InstanceEntry* instance = instance_at(file, gpu, placement);
    return instance != nullptr && instance->movable;
  };
  if (const auto move = one_move(fleet, request, movable)) {
    const Geometry& geometry = fleet.geometry(fleet[move->gpu]);
    const Placement &from = geometry[move->from], &to = geometry[move->to],
                    &placed = geometry[move->placed];
    return fmt::format("move '{}' ({}) from {} at {} to {} at {}, then {} fits on {} at {}",
                       *instance_at(file, move->gpu, move->from)->workload, from.profile->name,
                       file.gpus[index(move->gpu)].name, from.start,
                       file.gpus[index(move->to_gpu)].name, to.start, placed.profile->name,
                       file.gpus[index(move->gpu)].name, placed.start);
  }
  std::vector<std::string> models;
  for (std::size_t kind = 0; kind < file.geometries.size(); ++kind)
    if (!request.candidates[kind].empty()) models.emplace_back(file.geometries[kind].model().key);
  return fmt::format("{}; no single move helps, but one more empty {} would", why.remedy(),
                     any_of(models));
}

Result<int> place(const PlaceCommandOptions& options) {
  if (options.profile.empty() == options.memory.empty())
    return fail(ErrorKind::bad_usage, "place",
                "say what to place: --profile P or --memory SIZE, one of the two");
  if (options.compute != 0 && options.memory.empty())
    return fail(ErrorKind::bad_usage, "--compute-slices",
                "--compute-slices is used only with --memory");
  OptionTexts given;
  for (const auto& [name, value] : options.policy_options)
    if (!value.empty()) given.emplace(name, value);
  const auto policy = choose_policy(options.policy, given);
  if (!policy) return std::unexpected(policy.error());
  const auto file = load_fleet(options.fleet, options.profiles);
  if (!file) return std::unexpected(file.error());
  const auto request = read_request(options, *file);
  if (!request) return std::unexpected(request.error());

  const Fleet fleet(*file);
  const ResolvedRequest resolved = resolve(*request, file->geometries);
  const auto decision = decide_by_scan(fleet, resolved, *policy);
  if (!decision) {
    const WhyNot why = why_not(fleet, resolved);
    return fail(ErrorKind::infeasible, options.fleet, why.message(*request),
                remedy(*file, fleet, resolved, why));
  }
  const PlaceAnswer answer{*file, fleet, *decision, *policy};
  if (options.json) {
    print_json(answer);
  } else {
    print_text(answer);
  }
  return 0;
}

}  // namespace

void add_place(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "place", "Where one request would be placed on a fleet, or why it does not fit",
      "cleave place --fleet examples/fleets/one-node.json --profile 2g.10gb", place);
  command
      ->add_option("--fleet", options.fleet,
                   "A fleet file, or empty GPUs: 4xA100-40GB, or 4x8xA100-80GB on four nodes")
      ->required();
  command->add_option("--profile", options.profile,
                      "A profile by name; MODEL:NAME for one GPU model only");
  command->add_option("--memory", options.memory,
                      "Memory needed: MiB, or a number with KiB, MiB or GiB");
  command
      ->add_option("--compute-slices", options.compute,
                   "With --memory: the least number of compute slices")
      ->check(Check::range(0, 99));
  command->add_option("--policy", options.policy, "Placement policy; `cleave policies` lists them")
      ->default_str(std::string(default_policy));
  // Policies share names of options: one flag each, described by every policy that has it.
  std::map<std::string, std::string> described;
  for (const Policy& policy : policies())
    for (const OptionRow& row : policy.options) {
      std::string& text = described[std::string(row.name)];
      text += fmt::format("{}policy {}: {}, {} (default {})", text.empty() ? "" : "; ", policy.name,
                          row.values, row.help, row.otherwise);
    }
  for (const auto& [name, text] : described)
    command->add_option("--" + name, options.policy_options[name], text);
  add_profiles(*command, options.profiles);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
