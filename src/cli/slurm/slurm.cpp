// `cleave slurm`: MIG that follows the jobs of a cluster that stays Slurm's.

#include "cli/slurm/slurm_commands.hpp"

namespace cleave::cli {

void add_slurm(CommandLine& program, Run& run) {
  CommandLine* group = program.add_subcommand(
      "slurm", "Instances for the jobs of Slurm: the controller, and tools for a site");
  group->require_subcommand();
  add_slurm_controller(*group, run);
  add_slurm_show(*group, run);
  add_slurm_plan(*group, run);
  add_slurm_setup(*group, run);
  add_slurm_shadow(*group, run);
  add_slurm_prolog(*group, run);
  add_slurm_epilog(*group, run);
  add_slurm_task_prolog(*group, run);
  add_slurm_reconcile(*group, run);
  add_slurm_mark_ended(*group, run);
}

}  // namespace cleave::cli
