// `cleave slurm task-prolog`: tells a task its instances. It runs as the job's user, who may not
// ask the daemon: the prolog has left a note.

#include <thread>

#include "base/format.hpp"
#include "cli/slurm/slurm_commands.hpp"
#include "cli/slurm/slurm_hooks.hpp"

namespace cleave::cli {

namespace {

constexpr std::chrono::seconds minute{60};
/// Then its node has no prolog. From the third time on Slurm's two minutes pass before each.
constexpr std::int64_t most_put_back = 10;

/// After a run that slurmctld has forgotten, slurmd takes the prolog of the next one for done, and
/// runs none.
HookNote without_prolog(const HookJob& hook) {
  const auto job = look_up_patiently(hook.number, minute);
  if (job && claim_order_of(*job, hook).asks.empty()) return {};
  return {{},
          job ? "slurmd began this job without its prolog, and so without its instances"
              : comment_text(job.error().text())};
}

/// The prolog may have found it waiting already, where slurmctld had forgotten this start, and
/// slurmctld learn of it later: so it is put back here too, and slurmd ends it. What cannot wait
/// again ends at once.
void wait_for_the_end(const HookJob& hook) {
  const auto job = look_up_patiently(hook.number, minute);
  if (job && job->restarts > most_put_back) return;
  for (int attempt = 0; attempt < 3; ++attempt)
    if (job && job->requeueable && is_batch(hook.number) && put_back(*job))
      std::this_thread::sleep_for(minute);
}

/// What an earlier run left whose epilog never ran, and whose instances the controller may have
/// given back, which it does after 15 s. Only a batch job runs more than once, and its script
/// begins right after the prolog: so slurmctld is seldom asked.
bool is_of_an_earlier_run(const HookOptions& options, const HookJob& hook, const HookNote& note) {
  constexpr std::chrono::seconds sure{15};
  const auto left = note_age(options, hook);
  if (!hook.is_script || !note.begun || !left || *left < sure) return false;
  const auto job = look_up_patiently(hook.number, minute);
  return !job || job->starts != note.begun;
}

/// A task without its instance must not run beside others on a GPU that it happens to see.
Result<int> tell(const HookOptions& given) {
  const auto hook = hook_job();
  if (!hook) return never_failing("task-prolog", std::unexpected(hook.error()));
  const HookOptions options = on_node(given, hook->node);
  auto left = read_note(options, *hook);
  if (left && is_of_an_earlier_run(options, *hook, *left)) left.reset();
  const HookNote note = left ? *left : without_prolog(*hook);
  if (!note.refused.empty()) wait_for_the_end(*hook);
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
