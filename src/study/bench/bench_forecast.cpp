#include "study/bench/bench_forecast.hpp"

#include <algorithm>
#include <ctime>

#include "base/random.hpp"
#include "forecast/memory/forecaster.hpp"

namespace cleave {

namespace {

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
  return {std::string(row.name), reports.size(), jobs, said >= 0 ? count / took : 0};
}

}  // namespace

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

}  // namespace cleave
