// What a repository says of batches, as rows for the choice of a partition.

#include "engine/batch_rows.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(BatchRows, AreTheRecordsWithLatencyAndThroughput) {
  const GpuModel& a100 = **find_gpu_model("A100-40GB");
  const auto record = [](const char* application, const char* profile, double seconds) {
    ProfileRecord made;
    made.key = {application, "A100-40GB", 8, profile, false};
    made.time_s = seconds;
    return made;
  };
  ProfileRecord small = record("bert", "1g.5gb", 310), large = record("bert", "7g.40gb", 92);
  small.p98_latency_s = 2;
  small.throughput_per_s = 4;
  large.tokens_per_s = 12;
  ProfileRepository repository;
  for (const auto& each : {small, large, record("other", "1g.5gb", 3)})
    repository.add(each, MergeRule::replace);
  const auto rows = batch_rows_of(repository, a100, 2);
  ASSERT_EQ(rows.size(), 2U) << "the third has no throughput";
  for (const BatchRow& row : rows) {
    EXPECT_EQ(row.kind, 2U);
    EXPECT_EQ(row.batch, 8);
    const bool whole = a100.profiles[static_cast<std::size_t>(row.profile)].name == "7g.40gb";
    EXPECT_EQ(row.latency_s, whole ? 92 : 2);
    EXPECT_EQ(row.throughput_per_s, whole ? 12 : 4);
  }
}

}  // namespace
}  // namespace cleave
