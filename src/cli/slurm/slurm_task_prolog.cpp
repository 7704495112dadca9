// `cleave slurm task-prolog`: tells a task its instances. It runs as the job's user, who may not
// ask the daemon: the prolog has left a note.

#include "base/format.hpp"
#include "cli/slurm/slurm_commands.hpp"
#include "cli/slurm/slurm_hooks.hpp"

namespace cleave::cli {

namespace {

/// A task without its instance must not run beside others on a GPU that it happens to see.
Result<int> tell(const HookOptions& given) {
  const auto hook = hook_job();
  if (!hook) return never_failing("task-prolog", std::unexpected(hook.error()));
  const HookNote note = read_note(on_node(given, hook->node), *hook);
  fmt::print("{}", task_prolog_text(note));
  return note.refused.empty() ? 0 : 1;
}

}  // namespace

void add_slurm_task_prolog(CommandLine& group, Run& run) {
  const auto [command, options] = add_command(
      group, run, "task-prolog",
      "For Slurm's TaskProlog: print what sets CUDA_VISIBLE_DEVICES to the job's instances",
      "cleave slurm task-prolog", tell);
  add_hook_options(*command, options);
}

}  // namespace cleave::cli
