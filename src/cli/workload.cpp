// `cleave workload generate NAME[:options]`: a workload made up from a seed, as a file that people
// can edit.

#include "base/format.hpp"
#include "cli/command.hpp"
#include "model/workload_file.hpp"
#include "simulate/generate/generate.hpp"

namespace cleave::cli {

AddCommand add_workload_list, add_workload_from, add_workload_history, add_workload_info;

namespace {

struct WorkloadCommandOptions {
  std::string name;
  std::uint64_t seed = 1;
};

Result<int> generate(const WorkloadCommandOptions& options) {
  const auto workload = generate_workload(options.name, options.seed);
  if (!workload) return std::unexpected(workload.error());
  fmt::print("{}", workload_text(*workload));
  return 0;
}

}  // namespace

void add_workload(CommandLine& program, Run& run) {
  CommandLine* group = program.add_subcommand("workload", "Generate, convert and count workloads");
  group->require_subcommand();
  const auto [command, options] = add_command(
      *group, run, "generate", "Generate a workload from a seed, as JSON lines on standard output",
      "cleave workload generate lab-day --seed 7 > my-day.jsonl", generate);
  command
      ->add_option(
          "NAME", options.name,
          fmt::format("{}; with options NAME:key=value;key=value, listed by `cleave workload list`",
                      fmt::join(names_of(generators()), ", ")))
      ->required();
  command->add_option("--seed", options.seed, "The same seed gives the same file")
      ->check(whole_number(0))
      ->default_str("1");
  add_workload_list(*group, run);
  add_workload_from(*group, run);
  add_workload_history(*group, run);
  add_workload_info(*group, run);
}

}  // namespace cleave::cli
