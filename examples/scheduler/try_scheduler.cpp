// The scheduler of this folder against two of Cleave's, on 21 days of a laboratory and four GPUs.

#include <cstdio>
#include <thread>

#include "shortest_first.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/side_by_side.hpp"

namespace {

using namespace cleave;

Result<ComparisonPlan> read_plan(const char* options) {
  ComparisonPlan plan;
  auto fleet = parse_fleet_in_short("4xA100-40GB", {});
  if (!fleet) return std::unexpected(fleet.error());
  plan.fleet = *std::move(fleet);
  auto others = parse_schedulers("full-gpu,adaptive");
  if (!others) return std::unexpected(others.error());
  plan.specs = *std::move(others);
  const std::string text = std::string(shortest_first.name) + options;
  auto own = read_spec(std::span(&shortest_first, 1), text, "scheduler");
  if (!own) return std::unexpected(own.error());
  plan.specs.push_back({own->row, std::move(own->options), text});
  for (std::uint64_t seed = 1; seed <= 21; ++seed) {
    auto jobs = generate_workload("lab-day", seed);
    if (!jobs) return std::unexpected(jobs.error());
    plan.seeds.push_back(seed);
    plan.workloads.push_back(*std::move(jobs));
  }
  return plan;
}

void print(const RunComparison& comparison) {
  for (const SchedulerComparison& scheduler : comparison.schedulers) {
    std::printf("%s\n", scheduler.scheduler.c_str());
    for (const FigureComparison& each : scheduler.figures) {
      if (each.figure != "turnaround_mean_s" && each.figure != "wait_mean_s") continue;
      std::printf("  %-17s  median %5.0f s", std::string(each.figure).c_str(), each.value->median);
      if (each.ratio)
        std::printf(", %.2f of the first (%.2f to %.2f)", each.ratio->median, each.ratio->low,
                    each.ratio->high);
      std::printf("\n");
    }
  }
}

Result<void> compare_all(const char* options) {
  const auto plan = read_plan(options);
  if (!plan) return std::unexpected(plan.error());
  const auto runs = run_side_by_side(*plan, std::thread::hardware_concurrency(),
                                     [](std::size_t) { return Progress(); });
  if (!runs) return std::unexpected(runs.error());
  print(compare(runs->seeds));
  return {};
}

}  // namespace

/// Options of the scheduler may be given: ":longest-wait=60".
int main(int argc, char** argv) {
  const auto done = compare_all(argc > 1 ? argv[1] : "");
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().text().c_str());
  return exit_code(done.error().kind);
}
