#include "study/bench/bench_training.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/random.hpp"
#include "base/time.hpp"
#include "study/reproduce/reproduce_completion_time.hpp"

namespace cleave {

namespace {

/// Compute slices, and the time of GPU-bound work on them relative to the whole GPU.
constexpr struct {
  double slices, work;
} profiles[] = {{1, 6.7}, {2, 3.46}, {3, 2.1}, {4, 1.78}, {7, 1}};
constexpr int models = 11, batches = 9, most_processes = 5;
constexpr double overlap = 6;  // the p of the law below

/// ((a + ...)^p + (work)^p)^(1/p): a part that no slice shortens, and one that each process adds
/// to.
double law(double floor, double work) {
  return std::pow(std::pow(floor, overlap) + std::pow(work, overlap), 1 / overlap);
}

}  // namespace

MeasuredJobs invented_jobs(std::uint64_t seed) {
  MeasuredJobs jobs;
  jobs.features = {"batch", "processes", "slices", "whole_s"};
  jobs.rows.width = jobs.features.size();
  std::uint64_t row = 0;
  for (std::uint64_t model = 0; model < models; ++model) {
    const double floor = 0.002 + 0.018 * uniform_of(seed, model, 0);
    const double work = 0.0002 + 0.0008 * uniform_of(seed, model, 1);
    for (int b = 0; b < batches; ++b)
      for (int processes = 1; processes <= most_processes; ++processes) {
        const double batch = std::exp2(b);
        const auto seconds = [&](double slower) {
          return law(floor * (1 + 0.018 * (processes - 1)), work * batch * slower * processes) *
                 std::exp(0.03 * normal_of(seed, models + row, 0));
        };
        const double whole = seconds(1);
        for (const auto& profile : profiles) {
          ++row;
          jobs.rows.add(std::vector{batch, static_cast<double>(processes), profile.slices, whole});
          jobs.seconds.push_back(profile.work > 1 ? seconds(profile.work) : whole);
          jobs.groups.push_back(std::string("m") + static_cast<char>('a' + model));
        }
      }
  }
  return jobs;
}

Result<TrainingBench> bench_training(int repeats, const std::optional<MeasuredJobs>& given) {
  const MeasuredJobs jobs = given ? *given : invented_jobs(1);
  TrainingBench bench;
  bench.rows = jobs.size();
  bench.repeats = repeats;
  std::vector<double> seconds;
  double sum = 0;  // so that no forecast can be left out
  for (int i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto model = CompletionTime::train(jobs, "time_s", parva_options(1));
    const auto trained = std::chrono::steady_clock::now();
    if (!model) return std::unexpected(model.error());
    for (std::size_t row = 0; row < jobs.size(); ++row)
      if (const auto forecast = model->forecast(jobs.rows[row])) sum += forecast->seconds;
    seconds.push_back(in_seconds(trained - begin));
    bench.prediction_ns = in_seconds(std::chrono::steady_clock::now() - trained) * 1e9 /
                          static_cast<double>(jobs.size());
  }
  if (!(sum >= 0)) return fail(ErrorKind::internal, "", "times below zero were predicted");
  std::ranges::sort(seconds);
  bench.seconds_median = seconds[seconds.size() / 2];
  bench.seconds_least = seconds.front();
  return bench;
}

}  // namespace cleave
