// Every scheduler of the table runs every generated workload, and the public traces if they are
// present, to the end: nothing waits forever, nothing is lost. CLEAVE_LONG=1 runs the whole traces.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/sanitized_test.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/simulator.hpp"
#include "simulate/traces/trace.hpp"

namespace cleave {
namespace {

std::size_t jobs_of_several(const Workload& workload) {
  return static_cast<std::size_t>(std::ranges::count_if(
      workload.jobs, [&](const Job& job) { return workload.requests[job.request].places > 1; }));
}

/// What was read of a trace is what was left out and what became of the jobs, in GPU-hours too.
void adds_up(const Workload& workload, const RunSummary& run) {
  std::size_t left = 0;
  for (const ReasonCount& entry : run.left_out) left += entry.count;
  EXPECT_EQ(run.jobs + left, workload.read);
  const GpuHours& hours = run.gpu_hours;
  const double ended = hours.finished + hours.failed + hours.rejected + hours.waiting;
  EXPECT_NEAR(ended + hours.left_out, workload.gpu_hours_read, 1e-9 * workload.gpu_hours_read);
}

/// Runs every scheduler; each job fits the empty fleet.
void everybody_ends(const FleetFile& fleet, const Workload& workload, const std::string& what) {
  const std::size_t several = jobs_of_several(workload);
  for (const SchedulerRow& row : schedulers()) {
    SCOPED_TRACE(fmt::format("{} under {}", what, row.name));
    const auto s = simulate(fleet, workload, *parse_scheduler(row.name));
    ASSERT_TRUE(s) << s.error().text();
    EXPECT_EQ(s->finished + s->failed + s->rejected + s->waiting, workload.jobs.size());
    adds_up(workload, *s);
    // A service may wait to its end, and some schedulers take batches only.
    if (workload.has_kinds()) continue;
    EXPECT_EQ(s->waiting, 0U);
    // A fixed layout may have no instance for a job, and rejected jobs never ran.
    if (row.name != "static") {
      EXPECT_EQ(s->rejected, row.several ? 0U : several) << "others take no jobs of several";
      EXPECT_EQ(s->failed, 0U);
    }
  }
}

TEST(Workloads, GeneratedOnesRunToTheEnd) {
  for (const GeneratorRow& row : generators())
    for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 2); ++seed) {
      const auto workload = generate_workload(row.name, seed);
      ASSERT_TRUE(workload) << workload.error().text();
      everybody_ends(*parse_fleet_in_short(row.fleet, ProfileChoice::plain()), *workload,
                     fmt::format("{} seed {}", row.name, seed));
    }
}

/// A trace where it lies, below the repository's root, with a fleet on which all its jobs fit.
struct KnownTrace {
  const char *format, *file, *fleet;
};

void trace_ends(const KnownTrace& trace, const std::string& path, SeveralGpus several) {
  TraceOptions options;
  if (std::getenv("CLEAVE_LONG") == nullptr) options.limit = sanitized ? 500 : 1500;
  options.several = several;
  const auto workload = read_trace(fmt::format("{}:{}", trace.format, path), options);
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(jobs_of_several(*workload) > 0, trace.format != std::string_view("miso"));
  everybody_ends(
      *parse_fleet_in_short(trace.fleet, ProfileChoice::plain()), *workload,
      fmt::format("{} {}", trace.format, words_of_several[static_cast<std::size_t>(several)]));
}

TEST(Workloads, TracesRunToTheEnd) {
  for (const KnownTrace& trace :
       {KnownTrace{"alibaba2023", "/../shared/data/alibaba-gpu-v2023/openb_pod_list_default.csv.gz",
                   "20x8xA100-40GB"},
        {"philly", "/../shared/data/philly/philly.csv.gz", "75x8xA100-40GB"},
        {"miso", "/../shared/data/mig-miso-a100-40gb/jobs_100.csv", "8xA100-40GB"},
        {"sacct", "/examples/traces/sacct.txt", "4xA100-40GB"},
        {"swf", "/examples/traces/log.swf", "4x7xA100-40GB"}}) {
    const std::string path = source_dir() + trace.file;
    if (!std::filesystem::exists(path)) {
      fmt::print("{} is not here\n", path);
      continue;
    }
    for (const SeveralGpus several : {SeveralGpus::gpus, SeveralGpus::instances})
      trace_ends(trace, path, several);
  }
}

}  // namespace
}  // namespace cleave
