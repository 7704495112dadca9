#include "study/bench/bench_parts.hpp"
#include "study/study_commands.hpp"

namespace cleave::cli {

AddCommand add_bench_graph, add_bench_placement, add_bench_admission, add_bench_decisions,
    add_bench_gangs, add_bench_planner, add_bench_simulation, add_bench_forecast, add_bench_nvml,
    add_bench_daemon, add_bench_cuda_trace, add_bench_slurm;

void add_benches(CommandLine& bench, Run& run) {
  CommandLine* group = &bench;
  add_bench_graph(*group, run);
  add_bench_placement(*group, run);
  add_bench_admission(*group, run);
  add_bench_decisions(*group, run);
  add_bench_gangs(*group, run);
  add_bench_planner(*group, run);
  add_bench_simulation(*group, run);
  add_bench_forecast(*group, run);
  add_bench_nvml(*group, run);
  add_bench_daemon(*group, run);
  add_bench_cuda_trace(*group, run);
  add_bench_slurm(*group, run);
}

void add_fleet_sizes(CommandLine& command, std::vector<std::size_t>& gpus) {
  command.add_option("--gpus", gpus, "Sizes of the fleets")
      ->delimiter(',')
      ->check(Check::range(1, 4000000));
}

void add_bench_model(CommandLine& command, std::string& model, const std::string& of) {
  command.add_option("--model", model, "GPU model of the " + of)->default_str(model);
}

}  // namespace cleave::cli
