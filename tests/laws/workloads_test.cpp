// Every scheduler of the table runs every generated workload, and the public traces if they are
// present, to the end: nothing waits forever, nothing is lost. CLEAVE_LONG=1 runs the whole traces.

#include <gtest/gtest.h>

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

/// Runs every scheduler; each job fits an empty GPU.
void everybody_ends(const FleetFile& fleet, const Workload& workload, const std::string& what) {
  for (const SchedulerRow& row : schedulers()) {
    SCOPED_TRACE(fmt::format("{} under {}", what, row.name));
    const auto s = simulate(fleet, workload, *parse_scheduler(row.name));
    ASSERT_TRUE(s) << s.error().text();
    EXPECT_EQ(s->finished + s->failed + s->rejected + s->waiting, workload.jobs.size());
    // A service may wait to its end, and some schedulers take batches only.
    if (workload.has_kinds()) continue;
    EXPECT_EQ(s->waiting, 0U);
    // A fixed layout may have no instance for a job, and rejected jobs never ran.
    if (row.name != "static") {
      EXPECT_EQ(s->rejected, 0U);
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

TEST(Workloads, TracesRunToTheEnd) {
  const std::filesystem::path data = std::filesystem::path(source_dir()) / "../shared/data";
  const bool whole = std::getenv("CLEAVE_LONG") != nullptr;
  int found = 0;
  for (const auto& [format, file, gpus] :
       {std::tuple("alibaba2023", "alibaba-gpu-v2023/openb_pod_list_default.csv.gz", 160),
        {"philly", "philly/philly.csv.gz", 600},
        {"miso", "mig-miso-a100-40gb/jobs_100.csv", 8}}) {
    if (!std::filesystem::exists(data / file)) continue;
    ++found;
    TraceOptions options;
    if (!whole) options.limit = sanitized ? 1000 : 3000;
    const auto workload = read_trace(fmt::format("{}:{}", format, (data / file).string()), options);
    ASSERT_TRUE(workload) << workload.error().text();
    everybody_ends(*parse_fleet_in_short(fmt::format("{}xA100-40GB", gpus), ProfileChoice::plain()),
                   *workload, format);
  }
  if (found == 0) GTEST_SKIP() << "no traces at ../shared/data";
}

}  // namespace
}  // namespace cleave
