// `cleave instances`, `cleave create` and `cleave destroy`: instances one by one.

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/daemon/claimed_instances.hpp"
#include "cli/interrupts.hpp"
#include "cli/live/live.hpp"
#include "cli/say.hpp"
#include "cli/table.hpp"
#include "device/live_instances.hpp"

namespace cleave::cli {

namespace {

struct InstanceCommandOptions : LiveOptions {
  std::string gpu, what;  // --gpu; PROFILE[@START] or a MIG UUID
  std::optional<std::uint32_t> instance;
  std::uint32_t computes = 1;
  bool adopt = false;
};

void print_instances(const std::vector<LiveGpu>& gpus, bool all_asked,
                     const ClaimedInstances& claims) {
  std::vector<InstanceRow> rows;
  for (const LiveGpu& gpu : gpus) {
    for (const MigDevice& each : gpu.visible) rows.push_back({&gpu, nullptr, &each});
    for (const InstanceView& each : gpu.instances) rows.push_back({&gpu, &each, nullptr});
  }
  if (rows.empty())
    say("{}\n", all_asked ? "no instances" : "no instances on the GPUs that answered");
  else
    say("{}", text_rows(instance_columns(), rows));
  for (const LiveGpu& gpu : gpus) say("{}", claims.lines(gpu));
}

Result<int> instances(const InstanceCommandOptions& options) {
  const auto node = open_node(options);
  if (!node) return std::unexpected(node.error());
  const auto ledger = Ledger::open(node->state, program_name);
  if (!ledger) return std::unexpected(ledger.error());
  auto indices = all_gpus(*node->door);
  if (!indices) return std::unexpected(indices.error());
  if (!options.gpu.empty()) {
    const auto one = find_gpu(*node->door, options.gpu);
    if (!one) return std::unexpected(one.error());
    *indices = {*one};
  }
  std::vector<LiveGpu> gpus;
  std::vector<Error> unread;
  for (const GpuIndex index : *indices) {
    auto view = view_gpu(*node->door, index);
    if (!view) {
      unread.push_back(view.error());
      continue;
    }
    unread.insert(unread.end(), view->unread.begin(), view->unread.end());
    set_owners(*view, ledger->state());
    gpus.push_back(std::move(*view));
  }
  if (!ledger->remark().empty()) tell("cleave: {}\n", ledger->remark());
  const bool nothing =
      gpus.empty() || (gpus.front().visible.empty() && gpus.front().instances.empty());
  if (indices->size() == 1 && !unread.empty() && nothing) return std::unexpected(unread.back());
  for (const Error& error : unread) tell("cleave: {}\n", error.text());
  const auto claims = ClaimedInstances::of_daemon();
  if (!options.json) {
    print_instances(gpus, unread.empty(), claims);
    return 0;
  }
  Json list = Json::array();
  for (const LiveGpu& gpu : gpus)
    for (const InstanceView& each : gpu.instances) {
      list.push_back(json_row(instance_columns(), {&gpu, &each, nullptr}));
      list.back()["claim"] = claims.key(gpu, each.live.placement.start);
    }
  for (const LiveGpu& gpu : gpus)
    for (const MigDevice& each : gpu.visible) {
      list.push_back(json_row(instance_columns(), {&gpu, nullptr, &each}));
      list.back()["claim"] = nullptr;
    }
  Json errors = Json::array();
  for (const Error& error : unread) errors.push_back(error_json(error));
  print(Json{{"instances", list}, {"errors", errors}});
  return 0;
}

/// The placement for `3g.20gb` or `3g.20gb@4`: where the driver likes it best among the places that
/// are free.
Result<PlacementId> placement_for(const LiveGpu& gpu, const std::string& what) {
  const auto geometry = geometry_of(gpu);
  if (!geometry) return std::unexpected(geometry.error());
  if (what.find(',') != std::string::npos)
    return fail(ErrorKind::bad_input, "PROFILE", "more than one instance",
                "`cleave gpu-layout` makes several");
  const auto goal = parse_wanted_layout(what, **geometry);
  if (!goal) return fail_at(gpu.place(), goal.error());
  if (goal->size() != 1) return fail(ErrorKind::bad_input, "PROFILE", "no profile is named");
  // Every existing instance is in the way, no matter who made it.
  std::vector<StandingInstance> walls = gpu.standing(false);
  for (StandingInstance& wall : walls) wall.ours = false;
  PlacementSet standing;
  for (const StandingInstance& wall : walls) standing.insert(wall.placement);
  const auto change = plan_layout_change(**geometry, walls, *goal);
  if (change && change->creates() == 1) return (change->result - change->kept).first();
  if (!change && change.error().kind == ErrorKind::bad_input)
    return fail_at(gpu.place(), change.error());
  if (const std::string rule = rule_against(**geometry, standing, *goal); !rule.empty())
    return fail(ErrorKind::infeasible, gpu.place(),
                fmt::format("{} cannot exist beside [{}]: {}", what,
                            layout_text(**geometry, standing), rule),
                fmt::format("`cleave gpu {}` shows how many instances of a profile are possible",
                            (*geometry)->model().key));
  return fail(
      ErrorKind::infeasible, gpu.place(),
      fmt::format("there is no room for {} beside [{}]", what, layout_text(**geometry, standing)),
      "`cleave instances` shows what is in the way; `cleave gpu-layout` changes the whole GPU");
}

Result<int> create(const InstanceCommandOptions& options) {
  const auto node = open_node(options);
  if (!node) return std::unexpected(node.error());
  const auto gpu = find_gpu(*node->door, options.gpu);
  if (!gpu) return std::unexpected(gpu.error());
  auto changing = ChangingGpu::begin(*node->door, *gpu, node->state, program_name);
  if (!changing) return std::unexpected(changing.error());
  const Interrupts wait(Interrupts::Waiting::goes_on);
  const auto id = placement_for(changing->view(), options.what);
  if (!id) return std::unexpected(id.error());
  const Placement& placement = changing->view().geometry->geometry()[*id];
  const auto made = changing->create(*placement.profile, placement.start, {}, options.computes);
  if (!made) return std::unexpected(made.error());
  std::vector<std::string> uuids;
  for (const LiveComputeInstance& compute : made->computes) uuids.push_back(compute.uuid);
  const std::string uuid = uuids.empty() ? "" : uuids.front();
  if (!options.json) {
    say("{}@{} on {}: {}\n", placement.profile->name, placement.start, place_of(*gpu),
        fmt::join(uuids, ", "));
    for (const std::string& each : uuids) fmt::print("CUDA_VISIBLE_DEVICES={}\n", each);
    return 0;
  }
  for (const InstanceView& each : changing->view().instances)
    if (each.live.id == made->id) {
      Json json = json_row(instance_columns(), {&changing->view(), &each, nullptr});
      json["uuid"] = uuid;
      print(json);
      return 0;
    }
  return fail(ErrorKind::infeasible, place_of(*gpu), "the new instance disappeared at once",
              "another program destroyed it");
}

struct Target {
  GpuIndex gpu{};
  GpuInstanceId instance{};
};

/// By MIG UUID, on whatever GPU.
Result<Target> find_instance(Door& door, const std::string& uuid) {
  const auto gpus = all_gpus(door);
  if (!gpus) return std::unexpected(gpus.error());
  std::vector<GpuIndex> not_asked;
  for (const GpuIndex gpu : *gpus) {
    const auto live = live_instances(door, gpu);
    if (!live) {
      not_asked.push_back(gpu);
      continue;
    }
    for (const LiveInstance& instance : *live)
      for (const LiveComputeInstance& compute : instance.computes)
        if (compute.uuid == uuid) {
          if (instance.computes.size() > 1)
            return fail(
                ErrorKind::bad_input, shown(uuid, 100),
                fmt::format("it is one of {} compute instances of {}", instance.computes.size(),
                            place_of(gpu, instance.id)),
                "to destroy them all with their GPU instance, name it with --gpu and --instance");
          return Target{gpu, instance.id};
        }
  }
  if (not_asked.empty())
    return fail(ErrorKind::infeasible, shown(uuid, 100), "no GPU has an instance with this UUID",
                "see `cleave instances`");
  std::vector<std::string> places;
  for (const GpuIndex gpu : not_asked) places.push_back(place_of(gpu));
  return fail(ErrorKind::infeasible, shown(uuid, 100),
              fmt::format("{} did not answer, and no other GPU has an instance with this UUID",
                          fmt::join(places, ", ")),
              "`cleave gpus` says why");
}

Result<Target> target_of(Door& door, const InstanceCommandOptions& options) {
  if (!options.what.empty()) return find_instance(door, options.what);
  const auto gpu = find_gpu(door, options.gpu);
  if (!gpu) return std::unexpected(gpu.error());
  return Target{*gpu, GpuInstanceId{*options.instance}};
}

Result<int> destroy(const InstanceCommandOptions& options) {
  const bool by_number = !options.gpu.empty() && options.instance;
  if (options.what.empty() != by_number ||
      (!by_number && (!options.gpu.empty() || options.instance)))
    return fail(ErrorKind::bad_usage, "", "no instance is named",
                "name a MIG UUID, or --gpu and --instance");
  const auto node = open_node(options);
  if (!node) return std::unexpected(node.error());
  const auto target = target_of(*node->door, options);
  if (!target) return std::unexpected(target.error());
  auto changing = ChangingGpu::begin(*node->door, target->gpu, node->state, program_name);
  if (!changing) return std::unexpected(changing.error());
  const Interrupts wait(Interrupts::Waiting::goes_on);
  if (const auto geometry = geometry_of(changing->view()); !geometry)
    return std::unexpected(geometry.error());
  Json json;
  std::string what;
  for (const InstanceView& each : changing->view().instances)
    if (each.live.id == target->instance) {
      // Between the look-up and the lock another may have come to stand under this number.
      if (!options.what.empty() && called(each.live) != options.what)
        return fail(ErrorKind::infeasible, shown(options.what, 100), "it was destroyed meanwhile");
      json = json_row(instance_columns(), {&changing->view(), &each, nullptr});
      what = fmt::format("{}@{} on {}: {}", each.live.profile, each.live.placement.start,
                         place_of(target->gpu), called(each.live));
    }
  if (const auto gone = changing->destroy(target->instance, options.adopt, until_interrupted());
      !gone)
    return std::unexpected(gone.error());
  if (options.json) {
    print(Json{{"destroyed", json}});
  } else {
    say("destroyed {}\n", what);
  }
  return 0;
}

}  // namespace

void add_instances(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "instances",
                  "List the instances of live GPUs, who made them, and what runs in them",
                  "cleave instances --gpu 0", instances);
  add_gpu_choice(*command, options.gpu);
  add_live(*command, options);
}

void add_create(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "create", "Create one instance on a live GPU",
                  "cleave create --gpu 0 3g.20gb", create);
  add_gpu_choice(*command, options.gpu)->required();
  command
      ->add_option("PROFILE[@START]", options.what,
                   "The profile; without a start, the driver's preferred one")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--compute-instances", options.computes,
                   "Number of equal compute instances to make in it, each for one program: memory "
                   "is shared, processors are not")
      ->check(whole_number(1))
      ->default_str("1");
  add_live(*command, options);
}

void add_destroy(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "destroy", "Destroy one instance that Cleave made",
                  "cleave destroy MIG-3f2b0c1d-... | cleave destroy --gpu 0 --instance 2", destroy);
  command->add_option("MIG-UUID", options.what, "The instance's MIG UUID")->check(not_empty());
  add_gpu_choice(*command, options.gpu);
  command
      ->add_option("--instance", options.instance,
                   "The instance's number on its GPU, as shown by `cleave instances`")
      ->check(whole_number(0));
  command->add_flag("--adopt", options.adopt, "Also allow an instance that Cleave did not make");
  add_live(*command, options);
}

}  // namespace cleave::cli
