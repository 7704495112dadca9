#include "study/bench/bench_simulation.hpp"

#include <algorithm>
#include <chrono>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/random.hpp"
#include "simulate/simulator.hpp"

namespace cleave {

namespace {

constexpr double mean_duration_s = 600;

Workload make_workload(const Geometry& geometry, std::size_t gpus, std::size_t jobs, double load) {
  Random random(5);
  const auto profiles = geometry.profile_list();
  double slices = 0;
  for (const Profile* profile : profiles) slices += profile->memory.value;
  slices /= static_cast<double>(profiles.size());
  // Little's law: jobs that run at once = arrivals a second x mean duration.
  const double at_once =
      load * static_cast<double>(gpus) * geometry.model().memory_slices.value / slices;
  const double mean_gap_s = mean_duration_s / at_once;
  Workload workload;
  SpeedModel flat;
  flat.flat = true;
  workload.jobs.reserve(jobs);
  double now = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    Job job;
    job.id = fmt::format("{}", i);
    job.arrival = Instant{} + *duration_from_seconds(now);
    job.duration = *duration_from_seconds(random.exponential(mean_duration_s));
    job.request = workload.intern(
        Request{ByProfile{std::string(profiles[random.below(profiles.size())]->name)}, {}});
    job.speed = workload.intern(flat);
    workload.jobs.push_back(std::move(job));
    now += random.exponential(mean_gap_s);
  }
  workload.read = jobs;
  return workload;
}

}  // namespace

Result<std::vector<SimulationBench>> bench_simulation(const SimulationBenchOptions& options) {
  std::vector<SimulationBench> all;
  for (std::size_t i = 0; i < options.gpus.size(); ++i) {
    const std::size_t gpus = options.gpus[i], jobs = options.jobs[i];
    const auto fleet = parse_fleet_in_short(fmt::format("{}x{}", gpus, options.model->key),
                                            ProfileChoice::plain());
    if (!fleet) return std::unexpected(fleet.error());
    const Workload workload = make_workload(fleet->geometries.front(), gpus, jobs, options.load);
    SimulationBench bench{gpus, jobs, options.scheduler.text, 0, 0, {}};
    std::vector<double> seconds;
    std::string summary;
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const auto begin = std::chrono::steady_clock::now();
      const auto run = simulate(*fleet, workload, options.scheduler);
      seconds.push_back(in_seconds(std::chrono::steady_clock::now() - begin));
      if (!run) return std::unexpected(run.error());
      bench.events = run->events;
      summary = to_json(*run).dump();
    }
    std::ranges::sort(seconds);
    bench.seconds = seconds[seconds.size() / 2];
    constexpr std::size_t most_looks = 20'000'000;  // of a scan at a GPU
    if (gpus * jobs <= most_looks) {
      const auto scanned = simulate(*fleet, workload, options.scheduler, {.use_index = false});
      bench.no_index_identical = scanned && to_json(*scanned).dump() == summary;
    }
    all.push_back(std::move(bench));
  }
  return all;
}

}  // namespace cleave
