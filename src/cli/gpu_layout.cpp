// `cleave gpu-layout`: from what stands on a GPU to the layout that is wanted, planned first.

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "cli/interrupts.hpp"
#include "cli/live/live.hpp"
#include "cli/table.hpp"
#include "model/layout_text.hpp"

namespace cleave::cli {

namespace {

struct GpuLayoutCommandOptions : LiveOptions {
  std::string gpu, layout;
  bool dry_run = false, adopt = false;
};

std::string_view word(LayoutStep::Kind kind) {
  return kind == LayoutStep::Kind::destroy ? "destroy" : "create";
}

std::string text_of(const Geometry& geometry, PlacementId id) {
  return fmt::format("{}@{}", geometry[id].profile->name, geometry[id].start);
}

/// What was done of a plan, as JSON rows and lines for people.
struct Account {
  Json steps = Json::array();
  std::size_t done = 0;
};

void print_plan(const GpuLayoutCommandOptions& options, const LiveGpu& gpu,
                const Geometry& geometry, const LayoutChange& change) {
  PlacementSet held, idle, foreign;
  for (const InstanceView& each : gpu.instances)
    if (each.placement) {
      const bool ours = options.adopt || each.owner == Ownership::ours;
      (ours ? each.processes.empty() ? idle : held : foreign).insert(*each.placement);
    }
  fmt::print("now   {}\n", picture(gpu));
  const PlacementSet new_ones = change.result - change.kept;
  fmt::print("goal  [{}]  {}\n\n",
             draw(geometry, held & change.result, (idle & change.result) | new_ones,
                  foreign & change.result),
             change.result.empty() ? "empty" : layout_text(geometry, change.result));
  const auto list = [&](PlacementSet set) {
    return set.empty() ? std::string("nothing") : layout_text(geometry, set);
  };
  fmt::print("kept: {}\ndestroyed: {}\ncreated: {}\n", list(change.kept),
             list(change.now - change.kept), list(new_ones));
}

Json step_json(const Geometry& geometry, const LayoutStep& step) {
  return {{"op", word(step.kind)},
          {"profile", geometry[step.placement].profile->name},
          {"start", geometry[step.placement].start}};
}

Json plan_json(const GpuLayoutCommandOptions& options, const LiveGpu& gpu, const Geometry& geometry,
               const LayoutChange& change) {
  Json steps = Json::array();
  for (const LayoutStep& step : change.steps) steps.push_back(step_json(geometry, step));
  return {{"gpu", static_cast<std::uint32_t>(gpu.facts.index)},
          {"dry_run", options.dry_run},
          {"now", layout_text(geometry, change.now)},
          {"result", layout_text(geometry, change.result)},
          {"kept", layout_text(geometry, change.kept)},
          {"destroys", change.destroys()},
          {"creates", change.creates()},
          {"steps", steps}};
}

Result<std::string> take_step(ChangingGpu& changing, const Geometry& geometry,
                              const LayoutStep& step, bool adopt) {
  if (step.kind == LayoutStep::Kind::create) {
    const Placement& placement = geometry[step.placement];
    const auto made = changing.create(*placement.profile, placement.start);
    if (!made) return std::unexpected(made.error());
    return called(*made);
  }
  for (const InstanceView& each : changing.view().instances)
    if (each.placement == step.placement) {
      std::string name = called(each.live);
      if (const auto gone = changing.destroy(each.live.id, adopt, until_interrupted()); !gone)
        return std::unexpected(gone.error());
      return name;
    }
  return fail(ErrorKind::infeasible, changing.view().place(),
              fmt::format("{} is gone: another program is changing this GPU",
                          text_of(geometry, step.placement)),
              "look at `cleave instances` and start again");
}

/// Walks the list; what was done before it stopped is in the account.
Result<void> apply(ChangingGpu& changing, const Geometry& geometry, const LayoutChange& change,
                   const GpuLayoutCommandOptions& options, Account& account) {
  // What --adopt leaves standing is ours from now on, as the picture has it.
  if (options.adopt)
    for (const InstanceView& each : std::vector(changing.view().instances))
      if (each.placement && change.kept.contains(*each.placement))
        if (const auto adopted = changing.adopt(each.live.id); !adopted) return adopted;
  for (const LayoutStep& step : change.steps) {
    if (Interrupts::came() != 0)
      return fail(ErrorKind::infeasible, changing.view().place(), "interrupted",
                  "run it again to continue from here");
    const auto name = take_step(changing, geometry, step, options.adopt);
    if (!name) return std::unexpected(name.error());
    ++account.done;
    Json done = step_json(geometry, step);
    done["instance"] = *name;
    account.steps.push_back(std::move(done));
    if (!options.json) {
      fmt::print("{} {}  {}\n", step.kind == LayoutStep::Kind::destroy ? "destroyed" : "created  ",
                 text_of(geometry, step.placement), *name);
      std::fflush(stdout);
    }
  }
  return {};
}

/// What came of a plan that was not walked to its end. In JSON the whole answer comes all the same:
/// the UUIDs of what was made are nowhere else in it.
Result<int> stopped(const LayoutChange& change, const Geometry& geometry, const Account& account,
                    Error error, Json json) {
  std::vector<std::string> left;
  json["left"] = Json::array();
  for (std::size_t i = account.done; i < change.steps.size(); ++i) {
    left.push_back(fmt::format("{} {}", word(change.steps[i].kind),
                               text_of(geometry, change.steps[i].placement)));
    json["left"].push_back(step_json(geometry, change.steps[i]));
  }
  error.message += fmt::format(" (stopped after {} of {} steps; left to do: {})", account.done,
                               change.steps.size(), fmt::join(left, ", "));
  if (!json.contains("done")) return std::unexpected(std::move(error));
  json["error"] = error_json(error);
  tell("cleave: {}\n", error.text());
  print(json);
  return exit_code(error.kind);
}

Result<LayoutChange> plan(const LiveGpu& gpu, const Geometry& geometry,
                          const GpuLayoutCommandOptions& options) {
  for (const InstanceView& each : gpu.instances)
    if (!each.placement)
      return fail(ErrorKind::infeasible, gpu.place(),
                  fmt::format("{} is a {} at {}, which is not among the driver's profiles",
                              called(each.live), each.live.profile, each.live.placement.start),
                  "nothing can be planned without knowing what it blocks");
  const auto goal = parse_wanted_layout(options.layout, geometry);
  if (!goal) return fail_at(gpu.place(), goal.error());
  auto change = plan_layout_change(geometry, gpu.standing(options.adopt), *goal);
  if (!change) return fail_at(gpu.place(), change.error());
  return change;
}

int answer(const GpuLayoutCommandOptions& options, const LiveGpu& gpu, const Geometry& geometry,
           const LayoutChange& change) {
  if (options.json) {
    print(plan_json(options, gpu, geometry, change));
  } else {
    print_plan(options, gpu, geometry, change);
  }
  return 0;
}

Result<int> dry_run(const LiveNode& node, GpuIndex gpu, const GpuLayoutCommandOptions& options) {
  auto view = view_gpu(*node.door, gpu);
  if (!view) return std::unexpected(view.error());
  const auto ledger = Ledger::open(node.state, program_name);
  if (!ledger) return std::unexpected(ledger.error());
  set_owners(*view, ledger->state());
  const auto geometry = geometry_of(*view);
  if (!geometry) return std::unexpected(geometry.error());
  const auto change = plan(*view, **geometry, options);
  if (!change) return std::unexpected(change.error());
  return answer(options, *view, **geometry, *change);
}

Result<int> gpu_layout(const GpuLayoutCommandOptions& options) {
  const auto node = open_node(options);
  if (!node) return std::unexpected(node.error());
  const auto gpu = find_gpu(*node->door, options.gpu);
  if (!gpu) return std::unexpected(gpu.error());
  if (options.dry_run) return dry_run(*node, *gpu, options);
  auto changing = ChangingGpu::begin(*node->door, *gpu, node->state, program_name);
  if (!changing) return std::unexpected(changing.error());
  const Interrupts wait(Interrupts::Waiting::goes_on);
  const auto geometry = geometry_of(changing->view());
  if (!geometry) return std::unexpected(geometry.error());
  const auto change = plan(changing->view(), **geometry, options);
  if (!change) return std::unexpected(change.error());
  Json json = plan_json(options, changing->view(), **geometry, *change);
  if (!options.json) {
    print_plan(options, changing->view(), **geometry, *change);
    if (!change->steps.empty()) fmt::print("\n");
  }
  Account account;
  const auto applied = apply(*changing, **geometry, *change, options, account);
  if (options.json) json["done"] = account.steps;
  if (!applied) return stopped(*change, **geometry, account, applied.error(), std::move(json));
  if (options.json) {
    json["left"] = Json::array();
    print(json);
  }
  return 0;
}

}  // namespace

void add_gpu_layout(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "gpu-layout",
      "Change a live GPU to a layout, touching only what differs and only what Cleave made",
      "cleave gpu-layout --gpu 0 4g.20gb@0,2g.10gb --dry-run", gpu_layout);
  add_gpu_choice(*command, options.gpu)->required();
  command
      ->add_option("LAYOUT", options.layout,
                   "Profiles, with or without @start, separated by commas; '' is the empty GPU. "
                   "Instances that Cleave did not make stay and need not be named")
      ->required();
  command->add_flag("--dry-run", options.dry_run, "Show the plan and change nothing");
  command->add_flag("--adopt", options.adopt,
                    "Take over instances that Cleave did not make: those named in the layout "
                    "become Cleave's, the others are destroyed");
  add_live(*command, options);
}

}  // namespace cleave::cli
