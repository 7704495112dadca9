#pragma once
// The commands below `cleave slurm`, a file each.

#include "cli/command.hpp"

namespace cleave::cli {

AddCommand add_slurm_controller, add_slurm_mark_ended, add_slurm_show, add_slurm_plan,
    add_slurm_setup, add_slurm_shadow;

// Those that a node's slurmd calls.
AddCommand add_slurm_prolog, add_slurm_epilog, add_slurm_task_prolog, add_slurm_reconcile;

}  // namespace cleave::cli
