// A day of jobs on four GPUs under two schedulers, by Cleave's simulator.

#include <chrono>
#include <cstdio>

#include "engine/scheduler.hpp"
#include "model/fleet_file.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/simulator.hpp"

namespace {

double hours(cleave::Duration duration) {
  return std::chrono::duration<double, std::ratio<3600>>(duration).count();
}

cleave::Result<void> compare() {
  const auto fleet = cleave::parse_fleet_in_short("4xA100-40GB", {});
  if (!fleet) return std::unexpected(fleet.error());
  const auto jobs = cleave::generate_workload("lab-day", 1);
  if (!jobs) return std::unexpected(jobs.error());
  for (const char* name : {"full-gpu", "adaptive"}) {
    const auto scheduler = cleave::parse_scheduler(name);
    if (!scheduler) return std::unexpected(scheduler.error());
    const auto run = cleave::simulate(*fleet, *jobs, *scheduler);
    if (!run) return std::unexpected(run.error());
    std::printf("%-8s  %zu jobs, %.1f h from submission to end on average\n", name,
                run->turnaround.count, hours(run->turnaround.mean));
  }
  return {};
}

}  // namespace

int main() {
  const auto done = compare();
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().text().c_str());
  return cleave::exit_code(done.error().kind);
}
