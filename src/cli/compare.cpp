// `cleave compare`: several schedulers on the same workload and fleet, side by side.

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "cli/workload_arguments.hpp"

namespace cleave::cli {

namespace {

struct Options {
  RunArguments run;
  std::string schedulers;
};

struct Timed {
  Result<RunSummary> summary;
  double seconds = 0;
};

/// Each run is on its own; the threads share only what is read. The order of the answers is that of the
/// specs.
std::vector<Timed> run_all(const FleetFile& fleet, const Workload& workload,
                           const std::vector<SchedulerSpec>& specs, const RunArguments& arguments) {
  std::vector<Timed> runs(specs.size());
  ProgressLine progress("simulating", specs.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < specs.size(); i = next++) {
      const auto begin = std::chrono::steady_clock::now();
      runs[i].summary = simulate(fleet, workload, specs[i], arguments.simulation(progress.of_run(i)));
      runs[i].seconds = in_seconds(std::chrono::steady_clock::now() - begin);
    }
  };
  std::vector<std::jthread> threads;
  const std::size_t most = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(most, specs.size()); ++i) threads.emplace_back(work);
  work();
  return runs;
}

std::string mean_of(const Distribution& d) {
  return d.count == 0 ? "-" : human(d.mean);
}

void print_text(const std::vector<RunSummary>& runs) {
  Table table({"scheduler", "finished", "makespan", "mean wait", "95 % wait", "turnaround", "compute",
               "fragmented", "creates"});
  for (const RunSummary& s : runs)
    table.add({s.scheduler, fmt::format("{}", s.finished), human(s.makespan), mean_of(s.wait),
               s.wait.count == 0 ? "-" : human(s.wait.p95), mean_of(s.turnaround),
               percent(s.compute_utilization), fmt::format("{:.4f}", s.fragmentation_mean),
               fmt::format("{}", s.creates)});
  fmt::print("\n{}\n", table.text());
  const RunSummary& base = runs.front();
  for (const RunSummary& s : std::span(runs).subspan(1)) {
    if (base.makespan == Duration::zero() || base.turnaround.mean == Duration::zero()) continue;
    // Times over different sets of jobs do not compare.
    if (s.finished != base.finished || s.finished == 0) {
      fmt::print("{} finishes {} jobs and {} {}: their times are not compared\n", s.scheduler, s.finished,
                 base.scheduler, base.finished);
      continue;
    }
    fmt::print("{} needs {:.2f} times the makespan of {}, and {:.2f} times its mean turnaround\n",
               s.scheduler, in_seconds(s.makespan) / in_seconds(base.makespan), base.scheduler,
               in_seconds(s.turnaround.mean) / in_seconds(base.turnaround.mean));
  }
}

Result<int> compare(const Options& options) {
  const auto specs = parse_schedulers(options.schedulers);
  if (!specs) return std::unexpected(specs.error());
  const auto fleet = options.run.read_fleet();
  if (!fleet) return std::unexpected(fleet.error());
  const auto workload = options.run.read_workload();
  if (!workload) return std::unexpected(workload.error());
  std::vector<RunSummary> summaries;
  Json json = Json::array();
  double seconds = 0;
  for (const Timed& run : run_all(*fleet, *workload, *specs, options.run)) {
    if (!run.summary) return std::unexpected(run.summary.error());
    summaries.push_back(*run.summary);
    json.push_back(to_json(*run.summary));
    if (options.run.timing) json.back()["seconds"] = run.seconds;
    seconds += run.seconds;
  }
  if (options.run.json) {
    print(Json{{"runs", json}});
    return 0;
  }
  fmt::print("{}", introduction(*fleet, *workload));
  print_text(summaries);
  std::string said;
  for (const RunSummary& summary : summaries) {
    const std::string remark = remarks(summary);
    if (!remark.empty() && said.find(remark) == std::string::npos) said += remark;
  }
  fmt::print("\n{}", said);
  if (options.run.timing) fmt::print("simulated in {:.3f} s\n", seconds);
  return 0;
}

}  // namespace

void add_compare(CLI::App& program, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      add_command(program, "compare", "Several schedulers on the same workload and fleet, side by side",
                  "cleave compare --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl --schedulers "
                  "full-gpu,online");
  options->run.add(*command);
  command
      ->add_option("--schedulers", options->schedulers,
                   "SPEC,SPEC,...; the others are compared with the first")
      ->required();
  command->callback([options, &run] { run = [options] { return compare(*options); }; });
}

}  // namespace cleave::cli
