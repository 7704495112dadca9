// `cleave simulate`: one scheduler on one workload and fleet.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "cli/workload_arguments.hpp"

namespace cleave::cli {

namespace {

struct Options {
  RunArguments run;
  std::string scheduler;
};

std::string spread(const Distribution& d) {
  if (d.count == 0) return "-";
  return fmt::format("mean {}, median {}, 95 % within {}, longest {}", human(d.mean), human(d.p50),
                     human(d.p95), human(d.max));
}

void print_text(const RunSummary& s) {
  fmt::print("\nscheduler {}\n", s.scheduler);
  fmt::print("  jobs          {} finished, {} failed, {} rejected, {} waiting\n", s.finished, s.failed,
             s.rejected, s.waiting);
  const double hours = in_seconds(s.makespan) / 3600;
  fmt::print("  makespan      {}{}\n", human(s.makespan),
             hours > 0 ? fmt::format(", {:.1f} jobs an hour", static_cast<double>(s.finished) / hours) : "");
  fmt::print("  wait          {}\n", spread(s.wait));
  fmt::print("  turnaround    {}\n", spread(s.turnaround));
  fmt::print("  execution     {}\n", spread(s.execution));
  fmt::print("  held          {} of compute, {} of memory\n", percent(s.compute_utilization),
             percent(s.memory_allocated_utilization));
  fmt::print("  fragmentation {:.4f} on average\n", s.fragmentation_mean);
  fmt::print("  instances     {} created, {} destroyed\n", s.creates, s.destroys);
  if (s.deadline_misses > 0) fmt::print("  deadlines     {} missed\n", s.deadline_misses);
  fmt::print("\n{}", remarks(s));
}

Result<int> simulate_command(const Options& options) {
  const auto spec = parse_scheduler(options.scheduler);
  if (!spec) return std::unexpected(spec.error());
  const auto fleet = options.run.read_fleet();
  if (!fleet) return std::unexpected(fleet.error());
  const auto workload = options.run.read_workload();
  if (!workload) return std::unexpected(workload.error());
  Result<RunSummary> summary;
  const auto begin = std::chrono::steady_clock::now();
  {
    ProgressLine progress("simulating", 1);
    summary = simulate(*fleet, *workload, *spec, options.run.simulation(progress.of_run(0)));
  }
  const double seconds = in_seconds(std::chrono::steady_clock::now() - begin);
  if (!summary) return std::unexpected(summary.error());
  if (options.run.json) {
    Json json = to_json(*summary);
    if (options.run.timing) json["seconds"] = seconds;
    print(json);
    return 0;
  }
  fmt::print("{}", introduction(*fleet, *workload));
  print_text(*summary);
  if (options.run.timing) fmt::print("simulated in {:.3f} s\n", seconds);
  return 0;
}

}  // namespace

void add_simulate(CLI::App& program, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = add_command(
      program, "simulate", "Run a workload on a simulated fleet under one scheduler",
      "cleave simulate --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl --scheduler online");
  options->run.add(*command);
  command
      ->add_option("--scheduler", options->scheduler,
                   "NAME[:key=value;key=value]; `cleave schedulers` lists them")
      ->required();
  command->callback([options, &run] { run = [options] { return simulate_command(*options); }; });
}

}  // namespace cleave::cli
