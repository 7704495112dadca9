// `cleave forecast NAME`: what can be said of a job before it runs, and while it runs.

#include "cli/command.hpp"

namespace cleave::cli {

void add_forecast(CLI::App& program, Run& run) {
  CLI::App* group = program.add_subcommand("forecast", "How long a job will take");
  group->require_subcommand(1);
  add_forecast_time(*group, run);
}

}  // namespace cleave::cli
