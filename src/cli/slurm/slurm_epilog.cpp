// `cleave slurm epilog` and `reconcile`: what a job held on a node is given back, when it ends, or
// later where its epilog never ran. Neither ever fails, since a failing epilog drains its node.

#include "base/format.hpp"
#include "cli/daemon/claim_client.hpp"
#include "cli/slurm/slurm_commands.hpp"
#include "cli/slurm/slurm_hooks.hpp"

namespace cleave::cli {

namespace {

/// For a daemon that is being started again, or a process that is about to end.
constexpr std::chrono::seconds epilog_patience{20};

Result<void> end(const HookOptions& given) {
  const auto hook = hook_job();
  if (!hook) return std::unexpected(hook.error());
  const HookOptions options = on_node(given, hook->node);
  remove_note(options, *hook);
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto released = release_claim(*daemon, slurm_claim_key(hook->number), epilog_patience);
  if (!released) return std::unexpected(released.error());
  return {};
}

struct ReconcileOptions : HookOptions {
  std::string node;
};

Result<int> reconcile(const ReconcileOptions& given) {
  const HookOptions options = on_node(given, given.node);
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto released = release_left_over(*daemon, options, given.node);
  if (!released) return std::unexpected(released.error());
  fmt::print("{} claim{} of ended jobs given back\n", *released, *released == 1 ? "" : "s");
  return 0;
}

Result<int> epilog(const HookOptions& given) {
  return never_failing("epilog", end(given));
}

}  // namespace

void add_slurm_epilog(CommandLine& group, Run& run) {
  const auto [command, options] = add_command(
      group, run, "epilog",
      "For Slurm's Epilog on a node: give back the instances of a job. Its exit code is always 0",
      "cleave slurm epilog", epilog);
  add_hook_options(*command, options);
}

void add_slurm_reconcile(CommandLine& group, Run& run) {
  const auto [command, options] =
      add_command(group, run, "reconcile",
                  "Give back what jobs hold on a node that Slurm does not have there any more",
                  "cleave slurm reconcile n1", reconcile);
  command->add_option("NODE", options.node, "The node's name in Slurm")
      ->required()
      ->check(not_empty());
  add_hook_options(*command, options);
}

}  // namespace cleave::cli
