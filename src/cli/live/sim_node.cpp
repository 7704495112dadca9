// `cleave sim-node`: simulated nodes, to try everything without a GPU.

#include <optional>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/shell_word.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/live/live.hpp"
#include "cli/live/sim_host.hpp"
#include "cli/table.hpp"
#include "device/gpu_lock.hpp"
#include "model/layout_text.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::cli {

namespace fs = std::filesystem;

namespace {

struct SimNodeCommandOptions {
  std::string directory, gpus, numbering = "model", mig = "on", fault, folder;
  std::vector<std::string> before_dashes;
  std::optional<std::uint64_t> seed;  // of the UUIDs
  std::uint32_t gpu = 0;
  std::optional<std::uint32_t> times, instance;
  bool instant = false, check_root = false, follow = false, json = false;
};

constexpr std::pair<std::string_view, InstanceNumbering> numberings[] = {
    {"model", InstanceNumbering::by_model},
    {"upper-first", InstanceNumbering::upper_first},
    {"lower-first", InstanceNumbering::lower_first},
};

Result<int> create_node(const SimNodeCommandOptions& options) {
  auto gpus = parse_sim_gpus(options.gpus);
  if (!gpus) return std::unexpected(gpus.error());
  SimNodeSpec spec;
  spec.gpus = std::move(*gpus);
  spec.instant = options.instant;
  for (const auto& [name, numbering] : numberings)
    if (name == options.numbering) spec.numbering = numbering;
  spec.mig_enabled = options.mig == "on";
  if (options.check_root) spec.administrator = Administrator::root;
  spec.seed = options.seed.value_or(new_sim_seed());
  if (const auto made = create_sim_node(options.directory, spec); !made)
    return std::unexpected(made.error());
  std::error_code failed;
  const fs::path node = fs::absolute(options.directory, failed).lexically_normal();
  const fs::path library = simulated_library().parent_path();
  if (options.json) {
    print(Json{{"node", node.string()},
               {"gpus", spec.gpus.size()},
               {"environment",
                {{sim_node_variable, node.string()}, {"LD_LIBRARY_PATH", library.string()}}}});
    return 0;
  }
  fmt::print("export {}={}\nexport LD_LIBRARY_PATH={}\n", sim_node_variable,
             shell_word(node.string()), shell_word(library.string()));
  std::fflush(stdout);
  tell(
      "{} made. Cleave's programs need the first line, other programs both; eval \"$(cleave "
      "sim-node create ...)\" sets them at once.\n",
      counted(spec.gpus.size(), "simulated GPU"));
  return 0;
}

Json to_json(const std::vector<SimProcessView>& processes) {
  Json list = Json::array();
  for (const SimProcessView& each : processes)
    list.push_back({{"pid", each.pid}, {"memory_mib", each.memory.value}, {"busy", each.busy}});
  return list;
}

Json to_json(const SimGpuView& gpu) {
  Json instances = Json::array();
  for (const SimGpuInstanceView& each : gpu.instances) {
    Json computes = Json::array();
    for (const SimComputeInstanceView& compute : each.compute_instances)
      computes.push_back({{"compute_instance", compute.id},
                          {"uuid", compute.uuid},
                          {"start", compute.start},
                          {"compute_slices", compute.slices},
                          {"processes", to_json(compute.processes)}});
    instances.push_back({{"gpu_instance", each.id},
                         {"profile", each.profile->name},
                         {"start", each.start},
                         {"compute_instances", computes}});
  }
  return {{"uuid", gpu.uuid},
          {"model", gpu.model->key},
          {"mig", {{"enabled", gpu.mig_enabled}, {"pending", gpu.mig_pending}}},
          {"lost", gpu.lost},
          {"faults", gpu.faults},
          {"instances", instances},
          {"processes", to_json(gpu.processes)},
          {"power_w", gpu.power_w},
          {"energy_j", gpu.energy_j}};
}

std::string drawn(const SimGpuView& gpu) {
  const Geometry geometry(*gpu.model, ProfileChoice().on(*gpu.model));
  PlacementSet held, idle;
  for (const SimGpuInstanceView& each : gpu.instances) {
    const auto id = geometry.find(*each.profile, each.start);
    if (!id) continue;
    bool busy = false;
    for (const SimComputeInstanceView& compute : each.compute_instances)
      busy = busy || !compute.processes.empty();
    (busy ? held : idle).insert(*id);
  }
  return fmt::format("[{}]", draw(geometry, held, idle));
}

Result<int> show(const SimNodeCommandOptions& options) {
  const auto node = look_at_sim_node(options.directory);
  if (!node) return std::unexpected(node.error());
  const auto flaw = sim_node_flaw(options.directory);
  if (!flaw) return std::unexpected(flaw.error());
  if (options.json) {
    Json gpus = Json::array();
    for (const SimGpuView& gpu : node->gpus) gpus.push_back(to_json(gpu));
    print(Json{{"instant", node->instant},
               {"flaw", flaw->empty() ? Json(nullptr) : Json(*flaw)},
               {"gpus", gpus}});
    return 0;
  }
  Table table({"GPU", "model", "MIG", "layout", "power", "faults", "UUID"});
  for (std::size_t i = 0; i < node->gpus.size(); ++i) {
    const SimGpuView& gpu = node->gpus[i];
    std::string mig = gpu.mig_enabled ? "on" : "off";
    if (gpu.mig_enabled != gpu.mig_pending)
      mig += gpu.mig_pending ? ", on pending" : ", off pending";
    table.add({fmt::format("{}", i), std::string(gpu.model->key), mig,
               gpu.mig_enabled ? drawn(gpu) : "-", fmt::format("{:.0f} W", gpu.power_w),
               gpu.faults.empty() ? (gpu.lost ? "lost" : "none")
                                  : fmt::format("{}", fmt::join(gpu.faults, ", ")),
               gpu.uuid});
  }
  fmt::print("{}{}\n\n{}", counted(node->gpus.size(), "simulated GPU"),
             node->instant ? "; instances are created and destroyed without delay" : "",
             table.text());
  if (!flaw->empty()) fmt::print("\nbroken: {}\n", *flaw);
  return 0;
}

/// Whose GPUs would be lost: a daemon that manages them, a command that changes one, programs.
std::optional<Error> user_of(const fs::path& directory) {
  const auto node = look_at_sim_node(directory);
  if (!node) return std::nullopt;  // it is not there, or damaged
  const auto used = [&](const std::string& by, std::uint32_t pid) {
    return Error{ErrorKind::infeasible, directory.string(),
                 fmt::format("the node is used by {} (pid {})", by, pid), "end it first"};
  };
  for (const SimGpuView& gpu : node->gpus) {
    if (const auto holder = GpuLock::holder(directory / "cleave", gpu.uuid))
      return used(holder->program.empty() ? "a program" : shown(holder->program), holder->pid);
    if (!gpu.processes.empty()) return used("a process", gpu.processes.front().pid);
    for (const SimGpuInstanceView& instance : gpu.instances)
      for (const SimComputeInstanceView& compute : instance.compute_instances)
        if (!compute.processes.empty()) return used("a process", compute.processes.front().pid);
  }
  return std::nullopt;
}

Result<int> destroy_node(const SimNodeCommandOptions& options) {
  if (auto user = user_of(options.directory)) return std::unexpected(*std::move(user));
  if (const auto gone = destroy_sim_node(options.directory); !gone)
    return std::unexpected(gone.error());
  // What Cleave remembered of this node goes with it.
  std::error_code ignored;
  fs::remove_all(fs::path(options.directory) / "cleave", ignored);
  if (fs::is_empty(options.directory, ignored)) fs::remove(options.directory, ignored);
  if (options.json) print(Json{{"destroyed", options.directory}});
  return 0;
}

Result<int> fault(const SimNodeCommandOptions& options) {
  const auto node = look_at_sim_node(options.directory);
  if (!node) return std::unexpected(node.error());
  if (options.gpu >= node->gpus.size())
    return fail(ErrorKind::bad_input, "--gpu", fmt::format("there is no GPU {}", options.gpu),
                fmt::format("the node has {}", counted(node->gpus.size(), "GPU")));
  if (const auto set = set_sim_fault(options.directory, static_cast<int>(options.gpu),
                                     options.fault, options.times, options.instance);
      !set)
    return std::unexpected(set.error());
  if (options.json) print(Json{{"gpu", options.gpu}, {"fault", options.fault}});
  return 0;
}

Result<int> enter(const SimNodeCommandOptions& options) {
  if (command_words().empty() || !options.before_dashes.empty())
    return fail(ErrorKind::bad_usage, "COMMAND", "no command is given",
                "write it after --: cleave sim-node enter DIR -- COMMAND");
  return enter_sim_host(options.directory, command_words());
}

Result<int> root(const SimNodeCommandOptions& options) {
  if (options.json) print(Json{{"root", options.folder}});
  return write_sim_host(options.directory, options.folder, options.follow);
}

AddedCommand<SimNodeCommandOptions> add_action(CommandLine& group, Run& run,
                                               const std::string& name, const std::string& what,
                                               const std::string& example,
                                               Result<int> (*act)(const SimNodeCommandOptions&)) {
  const auto added = add_command(group, run, name, what, example, act);
  added.command->add_option("DIR", added.options.directory, "The node's directory")
      ->required()
      ->check(not_empty());
  add_json(*added.command, added.options.json);
  return added;
}

void add_host(CommandLine& group, Run& run) {
  const auto [enter_command, entered] = add_command<SimNodeCommandOptions>(
      group, run, "enter",
      "Run a command on a host with the node's GPUs: /proc, /sys and /dev look as they do with "
      "NVIDIA's driver, and there is an nvidia-smi; nothing of this host is changed",
      "cleave sim-node enter /tmp/node -- nvidia-smi -L", enter);
  enter_command->add_option("DIR", entered.directory, "The node's directory")
      ->required()
      ->check(not_empty());
  enter_command->add_option("COMMAND", entered.before_dashes,
                            "After --: the command and its arguments");
  const auto [root_command, written] =
      add_action(group, run, "root",
                 "Write the files of such a host, with library and nvidia-smi, into a folder for "
                 "containers",
                 "cleave sim-node root /tmp/node --to /tmp/host", root);
  root_command->add_option("--to", written.folder, "The folder: new, empty or written before")
      ->required()
      ->check(not_empty());
  root_command->add_flag("--follow", written.follow,
                         "Keep it up to date with the node's instances, until interrupted");
}

}  // namespace

void add_sim_node(CommandLine& program, Run& run) {
  CommandLine* group =
      program.add_subcommand("sim-node",
                             "Manage simulated nodes: GPUs that obey the rules of real ones, for "
                             "Cleave and for any program that uses NVML");
  group->require_subcommand();
  const auto [command, made] =
      add_action(*group, run, "create",
                 "Create a node and print the environment variables that show it to programs",
                 "cleave sim-node create /tmp/node --gpus 4xA100-40GB --instant", create_node);
  command->add_option("--gpus", made.gpus, "Its GPUs, such as 4xA100-40GB,2xH100-80GB-SXM5")
      ->required();
  command->add_flag("--instant", made.instant,
                    "Create and destroy instances without the delays of hardware");
  command
      ->add_option("--numbering", made.numbering,
                   "How GPU instances are numbered: as the model's drivers do (model), upper-first "
                   "or lower-first")
      ->check(Check::one_of({"model", "upper-first", "lower-first"}))
      ->default_str("model");
  command->add_option("--mig", made.mig, "Whether MIG is on at first: on or off")
      ->check(Check::one_of({"on", "off"}))
      ->default_str("on");
  command->add_flag("--check-root", made.check_root,
                    "Refuse changes by users other than root, as hardware does");
  command
      ->add_option("--seed", made.seed,
                   "Seed of the UUIDs, which are then the same each time; random by default")
      ->check(whole_number(0));
  add_action(*group, run, "show", "Show the state of the node, including what NVML does not report",
             "cleave sim-node show /tmp/node", show);
  add_action(*group, run, "destroy", "Remove the node and Cleave's own records of it",
             "cleave sim-node destroy /tmp/node", destroy_node);
  add_host(*group, run);
  const auto [fault_command, broken] =
      add_action(*group, run, "fault", "Make one of its GPUs fail on purpose, or repair it",
                 "cleave sim-node fault /tmp/node --gpu 0 fail-create --times 1", fault);
  std::string kinds;
  for (const SimFaultRow& row : sim_faults())
    kinds += fmt::format("\n  {}: {}", row.name, row.what);
  fault_command->add_option("--gpu", broken.gpu, "Index of the GPU")
      ->required()
      ->check(whole_number(0));
  fault_command->add_option("KIND", broken.fault, "What breaks:" + kinds)->required();
  fault_command
      ->add_option("--instance", broken.instance,
                   "The GPU instance, by NVML's number, that an Xid or a memory error is of")
      ->check(whole_number(0));
  fault_command->add_option("--times", broken.times, "Affect only the next N calls")
      ->check(whole_number(1));
}

}  // namespace cleave::cli
