// `cleave bench forecast`: what each forecaster takes for one memory report of a long run, and how
// long completion times take to learn.

#include "base/format.hpp"
#include "base/random.hpp"
#include "cli/columns.hpp"
#include "forecast/memory/forecaster.hpp"
#include "study/bench/bench_parts.hpp"
#include "study/bench/bench_training.hpp"

namespace cleave::cli {

namespace {

struct BenchForecastCommandOptions {
  std::size_t samples = 1'000'000;
  int repeats = 3;
  bool json = false;
};

struct StreamingBench {
  std::string_view forecaster;
  std::size_t samples = 0, jobs = 0;
  double samples_per_s = 0;
};

const Columns<StreamingBench> streaming_columns = {
    {"forecaster", "forecaster", &StreamingBench::forecaster},
    {"samples", "samples", &StreamingBench::samples},
    {"jobs", "jobs", &StreamingBench::jobs},
    {"samples_per_s", "million samples/s", &StreamingBench::samples_per_s, decimals(2, 1e-6)}};

const Columns<TrainingBench> training_columns = {
    {"rows", json_only, &TrainingBench::rows},
    {"repeats", json_only, &TrainingBench::repeats},
    {"seconds_median", json_only, &TrainingBench::seconds_median},
    {"seconds_least", json_only, &TrainingBench::seconds_least},
    {"prediction_ns", json_only, &TrainingBench::prediction_ns}};

/// Memory that grows along a line, with noise.
std::vector<MemoryReport> make_reports(std::size_t samples) {
  std::vector<MemoryReport> reports;
  reports.reserve(samples);
  const auto all = static_cast<std::int64_t>(samples);
  for (std::int64_t i = 1; i <= all; ++i) {
    const double held = 8000 + 20'000 * static_cast<double>(i) / static_cast<double>(all) +
                        40 * normal_of(1, 0, static_cast<std::uint64_t>(i));
    reports.push_back(
        {i, all, MiB{static_cast<std::int64_t>(held * 1.1)}, MiB{static_cast<std::int64_t>(held)}});
  }
  return reports;
}

StreamingBench measure(const ForecasterRow& row, Forecaster& forecaster,
                       const std::vector<MemoryReport>& reports, std::size_t jobs) {
  // What is said is added up, so that nothing of the work can be left out.
  std::int64_t said = 0;
  // Time of this process on its processor: what others do on the machine does not count.
  const std::clock_t begin = std::clock();
  for (std::size_t i = 0; i < reports.size() / jobs; ++i)
    for (std::size_t job = 0; job < jobs; ++job)
      if (const auto peak = forecaster.report(static_cast<JobId>(job), reports[i]))
        said += peak->at_least.value;
  const double took = std::max(1.0, static_cast<double>(std::clock() - begin)) / CLOCKS_PER_SEC;
  for (std::size_t job = 0; job < jobs; ++job) forecaster.forget(static_cast<JobId>(job));
  const double count = static_cast<double>(reports.size() / jobs * jobs);
  return {row.name, reports.size(), jobs, said >= 0 ? count / took : 0};
}

/// Every forecaster of the table but `none`: one job with `samples` reports, and as many reports in
/// turn from a thousand jobs. Reports are made beforehand.
Result<std::vector<StreamingBench>> bench_streaming(std::size_t samples) {
  const auto reports = make_reports(samples);
  std::vector<StreamingBench> runs;
  for (const ForecasterRow& row : forecasters()) {
    if (row.name == "none") continue;
    const auto forecaster = make_forecaster(row.name);
    if (!forecaster) return std::unexpected(forecaster.error());
    for (const std::size_t jobs : {1U, 1000U})
      if (samples >= jobs) runs.push_back(measure(row, **forecaster, reports, jobs));
  }
  return runs;
}

Result<int> forecast(const BenchForecastCommandOptions& options) {
  const auto streaming = bench_streaming(options.samples);
  if (!streaming) return std::unexpected(streaming.error());
  const auto training = bench_training(options.repeats);
  if (!training) return std::unexpected(training.error());
  if (options.json) {
    print(Json{{"streaming", json_rows(streaming_columns, *streaming)},
               {"training", json_row(training_columns, *training)}});
    return 0;
  }
  fmt::print("Memory reports a second of processor time, on one core\n\n{}\n",
             text_rows(streaming_columns, *streaming));
  fmt::print(
      "Completion times: learnt from {} jobs in {:.2f} s (median of {}), a forecast takes {:.1f} "
      "us\n",
      training->rows, training->seconds_median, training->repeats, training->prediction_ns / 1000);
  return 0;
}

}  // namespace

void add_bench_forecast(CommandLine& bench, Run& run) {
  const auto [command, options] =
      add_command(bench, run, "forecast", "Memory reports a second, and learning completion times",
                  "cleave bench forecast --samples 100000", forecast);
  command->add_option("--samples", options.samples, "Memory reports for each forecaster")
      ->check(Check::range(1000, 1000000000))
      ->default_str("1000000");
  command
      ->add_option("--repeats", options.repeats, "Number of times that completion times are learnt")
      ->check(Check::range(1, 1000))
      ->default_str("3");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
