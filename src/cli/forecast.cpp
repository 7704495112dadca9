// `cleave forecast ...`: numbers about the future of a job, one file for each.

#include "cli/command.hpp"

namespace cleave::cli {

void add_forecast(CLI::App& program, Run& run) {
  CLI::App* forecast =
      program.add_subcommand("forecast", "How much memory a job will need, and how long it will take");
  forecast->require_subcommand(1);
  add_forecast_memory(*forecast, run);
}

}  // namespace cleave::cli
