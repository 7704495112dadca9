// What simulated jobs hold and report while they run.

#include "simulate/memory_truth.hpp"

#include <gtest/gtest.h>

#include "model/workload_file.hpp"

namespace cleave {
namespace {

TEST(MemoryTruth, TheContextIsHeldAndReportedApart) {
  const auto workload = parse_workload(
      R"({"id": "a", "duration_s": 60, "memory": {"base_mib": 1000, "per_iteration_mib": 60, )"
      R"("iterations": 200, "reuse_ratio": 4.5, "context_mib": 600}}
{"id": "b", "duration_s": 60, "memory": {"base_mib": 1600, "per_iteration_mib": 60, )"
      R"("iterations": 200}})",
      "jobs");
  ASSERT_TRUE(workload) << workload.error().text();
  const MemoryTruth truth(*workload, 1);
  // The same memory, with the context as a part of its own or not.
  for (const MiB capacity : {MiB{1600}, MiB{4864}, MiB{9984}, MiB{20'000}})
    EXPECT_EQ(truth.first_beyond(0, capacity, 1), truth.first_beyond(1, capacity, 1))
        << capacity.value;
  EXPECT_EQ(truth.first_beyond(0, MiB{4864}, 1), 55);
  EXPECT_EQ(truth.during(0, 54), MiB{4840});
  EXPECT_EQ(truth.mean_held(workload->jobs[0], 0, 1), truth.mean_held(workload->jobs[1], 0, 1));
  EXPECT_EQ(truth.report(0, 10), (MemoryReport{10, 200, MiB{7200}, MiB{1600}, MiB{600}, MiB{0}}));
  EXPECT_EQ(truth.report(1, 10), (MemoryReport{10, 200, MiB{2200}, MiB{2200}}));
}

}  // namespace
}  // namespace cleave
