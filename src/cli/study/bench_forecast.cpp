// `cleave bench forecast`: memory reports a second, and learning completion times.

#include "study/bench/bench_forecast.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "study/bench/bench_training.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::size_t samples = 1'000'000;
  int repeats = 3;
  bool json = false;
};

Result<int> forecast(const Options& options) {
  const auto streaming = bench_streaming(options.samples);
  if (!streaming) return std::unexpected(streaming.error());
  const auto training = bench_training(options.repeats);
  if (!training) return std::unexpected(training.error());
  if (options.json) {
    Json list = Json::array();
    for (const StreamingBench& run : *streaming)
      list.push_back({{"forecaster", run.forecaster},
                      {"samples", run.samples},
                      {"jobs", run.jobs},
                      {"samples_per_s", run.samples_per_s}});
    print(Json{{"streaming", list},
               {"training",
                {{"rows", training->rows},
                 {"repeats", training->repeats},
                 {"seconds_median", training->seconds_median},
                 {"seconds_least", training->seconds_least},
                 {"prediction_ns", training->prediction_ns}}}});
    return 0;
  }
  Table table({"forecaster", "samples", "jobs", "million samples/s"});
  for (const StreamingBench& run : *streaming)
    table.add({run.forecaster, fmt::format("{}", run.samples), fmt::format("{}", run.jobs),
               fmt::format("{:.2f}", run.samples_per_s / 1e6)});
  fmt::print("Memory reports a second of processor time, on one core\n\n{}\n", table.text());
  fmt::print(
      "Completion times: learnt from {} jobs in {:.2f} s (median of {}), a forecast takes {:.1f} "
      "us\n",
      training->rows, training->seconds_median, training->repeats, training->prediction_ns / 1000);
  return 0;
}

}  // namespace

void add_bench_forecast(CommandLine& bench, Run& run) {
  auto options = std::make_shared<Options>();
  CommandLine* command =
      add_command(bench, "forecast", "Memory reports a second, and learning completion times",
                  "cleave bench forecast --samples 100000");
  command->add_option("--samples", options->samples, "Memory reports for each forecaster")
      ->check(Check::range(1000, 1000000000))
      ->default_str("1000000");
  command->add_option("--repeats", options->repeats, "How often completion times are learnt")
      ->check(Check::range(1, 1000))
      ->default_str("3");
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return forecast(*options); }; });
}

}  // namespace cleave::cli
