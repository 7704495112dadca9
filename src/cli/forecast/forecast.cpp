// `cleave forecast`: what a job will need, before it runs and while it runs; a file for each.

#include "cli/command.hpp"

namespace cleave::cli {

AddCommand add_forecast_kernel, add_forecast_memory, add_forecast_model, add_forecast_run,
    add_forecast_source, add_forecast_time;

void add_forecast(CommandLine& program, Run& run) {
  CommandLine* group = program.add_subcommand(
      "forecast", "Forecast what a job will need, before it runs and while it runs");
  group->require_subcommand();
  add_forecast_kernel(*group, run);
  add_forecast_memory(*group, run);
  add_forecast_model(*group, run);
  add_forecast_run(*group, run);
  add_forecast_source(*group, run);
  add_forecast_time(*group, run);
}

}  // namespace cleave::cli
