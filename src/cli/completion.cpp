// `cleave completion`: commands and options for the shell's Tab key.

#include "manual/completion.hpp"

#include "base/format.hpp"
#include "cli/command.hpp"
#include "engine/scheduler.hpp"
#include "forecast/memory/forecaster.hpp"
#include "placement/policy.hpp"
#include "simulate/generate/generate.hpp"

namespace cleave::cli {

namespace {

/// Whose values are the names of a table, by the option's own name.
std::vector<std::string> names_for(const std::string& option) {
  if (option == "--policy") return names_of(policies());
  if (option == "--scheduler" || option == "--schedulers" || option == "SPEC")
    return names_of(schedulers());
  if (option == "--forecaster" || option == "--forecast") return names_of(forecasters());
  if (option == "--generate") return names_of(generators());
  return {};
}

}  // namespace

void add_completion(CommandLine& program, Run& run) {
  auto shell = std::make_shared<std::string>();
  CommandLine* command =
      add_command(program, "completion", "Print a shell's completion of commands and options",
                  "source <(cleave completion bash)");
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(Check::one_of(completion_shells));
  command->callback([shell, &program, &run] {
    run = [shell, &program]() -> Result<int> {
      fmt::print("{}", completion(command_tree(program), *shell, names_for));
      return 0;
    };
  });
}

}  // namespace cleave::cli
