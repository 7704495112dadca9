#include "study/study_commands.hpp"

namespace cleave::cli {

AddCommand add_reproduce_all, add_reproduce_optimal_placement, add_reproduce_online,
    add_reproduce_dyna_p, add_reproduce_taming, add_reproduce_migm, add_reproduce_physics,
    add_reproduce_coruns, add_reproduce_alarms, add_reproduce_completion_time, add_reproduce_carma;

void add_reproductions(CommandLine& reproduce, Run& run) {
  CommandLine* group = &reproduce;
  add_reproduce_all(*group, run);
  add_reproduce_optimal_placement(*group, run);
  add_reproduce_online(*group, run);
  add_reproduce_dyna_p(*group, run);
  add_reproduce_taming(*group, run);
  add_reproduce_migm(*group, run);
  add_reproduce_physics(*group, run);
  add_reproduce_coruns(*group, run);
  add_reproduce_alarms(*group, run);
  add_reproduce_completion_time(*group, run);
  add_reproduce_carma(*group, run);
}

}  // namespace cleave::cli
