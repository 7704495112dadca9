// `cleave bench nvml` from outside.

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "program.hpp"

namespace cleave {
namespace {

TEST(BenchNvml, MeasuresEveryKindOfCall) {
  const auto outcome = testing_program::cleave("bench nvml --seconds 0.002 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto said = parse_json(outcome.out, "bench");
  ASSERT_TRUE(said) << outcome.out;
  EXPECT_GE((*said)["runs"].size(), 10U);
  for (const auto& run : (*said)["runs"]) {
    EXPECT_GT(run["library_ns"], 0) << run;
    EXPECT_GT(run["door_ns"], 0) << run;
  }
  const Json& full = (*said)["full_node"];
  EXPECT_EQ(full["gpus"], 64) << full;
  EXPECT_EQ(full["instances"], 448) << full;
  EXPECT_EQ(full["calls"], 1 + 64 * 7 + 448 * 6) << full;
  // Under 10 ms and 1 us are claimed, for an otherwise idle machine.
  EXPECT_LT(full["enumeration_ms"], 100) << full;
  EXPECT_LT(full["median_call_ns"], 5000) << full;
  // 2 us are claimed, for an otherwise idle machine.
  EXPECT_LT((*said)["slowest_call_ns"], 20'000) << outcome.out;
  EXPECT_EQ(
      testing_program::cleave("bench nvml --seconds 0.002 --model RTX-PRO-6000-BW-96GB").exit_code,
      0);
  EXPECT_NE(testing_program::cleave("bench nvml --nvml /nonexistent/libnvidia-ml.so.1").exit_code,
            0);
}

}  // namespace
}  // namespace cleave
