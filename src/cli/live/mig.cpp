// `cleave mig enable|disable`: the only command that changes a GPU's MIG mode. It says first what
// it will interrupt, asks, and resets nothing.

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/interrupts.hpp"
#include "cli/live/live.hpp"

namespace cleave::cli {

namespace {

struct MigCommandOptions : LiveOptions {
  std::string gpu;
  bool enable = false, yes = false, adopt = false;
};

std::string_view word(bool on) {
  return on ? "on" : "off";
}

/// The GPU has the requested mode and only a pending change to the other one is cancelled: its
/// instances stay.
bool changes_nothing_now(const MigMode& mode, const MigCommandOptions& options) {
  return mode.current == options.enable;
}

/// What the change of mode does to the GPU, a line each.
std::vector<std::string> interrupted(const LiveGpu& gpu) {
  std::vector<std::string> lines;
  for (const InstanceView& each : gpu.instances)
    lines.push_back(fmt::format("destroys {}@{} ({}, {})", each.live.profile,
                                each.live.placement.start, called(each.live), name(each.owner)));
  if (!gpu.processes.empty())
    lines.push_back(fmt::format("affects {} on the GPU: pid {}",
                                counted(gpu.processes.size(), "process"),
                                pids_text(gpu.processes)));
  return lines;
}

/// Instances that must not go are a reason to refuse before anything is asked.
Result<void> may_go(const LiveGpu& gpu, const MigCommandOptions& options) {
  for (const InstanceView& each : gpu.instances) {
    const std::string place = place_of(gpu.facts.index, each.live.id);
    if (!each.processes.empty())
      return fail(ErrorKind::infeasible, place,
                  fmt::format("{} run in it: pid {}", counted(each.processes.size(), "process"),
                              pids_text(each.processes)),
                  "wait until they are done, or end them");
    if (each.owner != Ownership::ours && !options.adopt)
      return fail(
          ErrorKind::infeasible, place,
          fmt::format("{} {}, and it would be destroyed",
                      each.owner == Ownership::half_made ? "it is unknown whether Cleave made this"
                                                         : "Cleave did not make this",
                      each.live.profile),
          fmt::format("to destroy it anyway: `cleave destroy --gpu {} --instance {} --adopt`, or "
                      "--adopt here for all of them",
                      static_cast<std::uint32_t>(gpu.facts.index),
                      static_cast<std::uint32_t>(each.live.id)));
  }
  return {};
}

/// Asks for confirmation, unless --yes was given. Prints in any case what will be destroyed.
Result<void> agreed(const MigCommandOptions& options, const LiveGpu& gpu, const MigMode& mode) {
  const bool stays = changes_nothing_now(mode, options);
  const std::vector<std::string> goes = stays ? std::vector<std::string>() : interrupted(gpu);
  if (options.yes) {
    if (!options.json)
      for (const std::string& line : goes) fmt::print("{}\n", line);
    std::fflush(stdout);
    return {};
  }
  const std::string change = stays ? "cancelling the pending change of MIG mode"
                                   : fmt::format("switching MIG {}", word(options.enable));
  if (::isatty(STDIN_FILENO) == 0 || options.json)
    return fail(ErrorKind::bad_usage, gpu.place(),
                fmt::format("{} must be confirmed{}{}", change, goes.empty() ? "" : ": it ",
                            fmt::join(goes, "; ")),
                "confirm it with --yes");
  tell("{} ({}): {}\n", gpu.place(), shown(gpu.facts.name), change);
  for (const std::string& line : goes) tell("  {}\n", line);
  fmt::print(stderr, "Go on? [y/N] ");
  std::fflush(stderr);
  std::string said;
  std::getline(std::cin, said);
  if (said == "y" || said == "yes") return {};
  return fail(ErrorKind::infeasible, gpu.place(), "nothing was changed: the answer was not yes");
}

void report(const MigCommandOptions& options, const LiveGpu& gpu, const MigMode& mode,
            nvml::Return activation, const Json& destroyed = Json::array()) {
  const bool pending = mode.current != options.enable;
  if (options.json) {
    Json json{{"gpu", static_cast<std::uint32_t>(gpu.facts.index)},
              {"uuid", gpu.facts.uuid},
              {"enabled", mode.current},
              {"pending", mode.pending}};
    json["status"] = text(activation);
    json["destroyed"] = destroyed;
    print(json);
    return;
  }
  if (!pending) {
    fmt::print("MIG of {} is {}\n", gpu.place(), word(mode.current));
    return;
  }
  fmt::print("MIG of {} is {}; {} is pending until the GPU is reset or the machine rebooted\n",
             gpu.place(), word(mode.current), word(mode.pending));
  const RefusalWords words = explain({activation, "nvmlDeviceSetMigMode"});
  fmt::print("the driver says: {}. Cleave resets nothing.\n", words.message);
}

/// Destroys all instances. `destroyed` has those that went, also if an error stopped it.
Result<void> clear_gpu(ChangingGpu& changing, const MigCommandOptions& options, Json& destroyed) {
  const std::vector<InstanceView> all = changing.view().instances;
  for (const InstanceView& each : all) {
    const auto stopped = [&](Error error) {
      if (!destroyed.empty())
        error.message += fmt::format(" ({} of {} instances are destroyed, the mode is as it was)",
                                     destroyed.size(), all.size());
      return std::unexpected(std::move(error));
    };
    if (Interrupts::came() != 0)
      return stopped({ErrorKind::infeasible, changing.view().place(),
                      "interrupted; the mode is as it was", "run it again to continue from here"});
    if (const auto gone = changing.destroy(each.live.id, options.adopt, until_interrupted()); !gone)
      return stopped(gone.error());
    destroyed.push_back({{"profile", each.live.profile},
                         {"start", each.live.placement.start},
                         {"instance", called(each.live)}});
  }
  return {};
}

Result<int> mig(const MigCommandOptions& options) {
  const auto node = open_node(options);
  if (!node) return std::unexpected(node.error());
  const auto gpu = find_gpu(*node->door, options.gpu);
  if (!gpu) return std::unexpected(gpu.error());
  auto changing = ChangingGpu::begin(*node->door, *gpu, node->state, program_name);
  if (!changing) return std::unexpected(changing.error());
  // With the lock held, no other process of Cleave changes the GPU.
  const auto mode = node->door->mig_mode(*gpu);
  if (!mode) return std::unexpected(error_of(mode.error(), place_of(*gpu)));
  if (mode->current == options.enable && mode->pending == options.enable) {
    report(options, changing->view(), *mode, nvml::Return::success);
    return 0;
  }
  const bool stays = changes_nothing_now(*mode, options);
  if (!changing->view().unread.empty() && !options.enable)
    return std::unexpected(changing->view().unread.front());
  if (!stays)
    if (const auto may = may_go(changing->view(), options); !may)
      return std::unexpected(may.error());
  if (const auto yes = agreed(options, changing->view(), *mode); !yes)
    return std::unexpected(yes.error());
  const Interrupts wait(Interrupts::Waiting::goes_on);
  Json destroyed = Json::array();
  if (!stays)
    if (const auto gone = clear_gpu(*changing, options, destroyed); !gone)
      return std::unexpected(gone.error());
  const auto activation = node->door->set_mig_mode(*gpu, options.enable);
  if (!activation) return std::unexpected(error_of(activation.error(), place_of(*gpu)));
  const auto after = node->door->mig_mode(*gpu);
  if (!after) return std::unexpected(error_of(after.error(), place_of(*gpu)));
  if (after->current != options.enable && after->pending != options.enable)
    return std::unexpected(error_of({*activation, "nvmlDeviceSetMigMode"}, place_of(*gpu)));
  report(options, changing->view(), *after, *activation, destroyed);
  return 0;
}

}  // namespace

void add_mig(CommandLine& program, Run& run) {
  CommandLine* group = program.add_subcommand("mig", "Switch the MIG mode of a live GPU");
  group->require_subcommand();
  for (const bool enable : {true, false}) {
    const auto [command, options] =
        enable
            ? add_command(*group, run, "enable", "Switch MIG on", "cleave mig enable --gpu 0", mig)
            : add_command(*group, run, "disable",
                          "Switch MIG off; Cleave's idle instances are destroyed",
                          "cleave mig disable --gpu 0", mig);
    options.enable = enable;
    add_gpu_choice(*command, options.gpu)->required();
    command->add_flag("--yes", options.yes,
                      "Do not ask for confirmation; required where there is no terminal");
    if (!enable)
      command->add_flag("--adopt", options.adopt,
                        "Also destroy idle instances that Cleave did not make");
    add_live(*command, options);
  }
}

}  // namespace cleave::cli
