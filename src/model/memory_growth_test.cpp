// The memory of simulated jobs: what they hold, what they say that they requested, and that old
// descriptions mean what they meant.

#include "model/memory_growth.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cleave {
namespace {

TEST(MemoryGrowth, WithoutReuseAndContextAReportHasOneNumberForEverything) {
  const MemoryGrowth growth{MiB{1000}, MiB{60}, MiB{20}, 100};
  for (std::int64_t i = 1; i <= 100; ++i) {
    const MemoryReport report = report_of(growth, 3, 7, i);
    EXPECT_EQ(report.iteration, i);
    EXPECT_EQ(report.iterations, 100);
    EXPECT_EQ(report.requested, report.allocated);
    EXPECT_EQ(report.allocated, held_during(growth, 3, 7, i));
    EXPECT_EQ(report.context, std::nullopt);
    EXPECT_EQ(report.workspace, std::nullopt);
  }
}

TEST(MemoryGrowth, ReuseAndContextAreReportedAsTheHookDoes) {
  MemoryGrowth growth{MiB{1000}, MiB{60}, {}, 100};
  growth.reuse_ratio = 4.75;
  growth.context = MiB{615};
  const MemoryReport report = report_of(growth, 3, 7, 10);
  EXPECT_EQ(report.requested, MiB{4 * 1600 + 3 * 400});
  EXPECT_EQ(report.allocated, MiB{1600});
  EXPECT_EQ(report.context, MiB{615});
  EXPECT_EQ(report.workspace, MiB{0}) << "so that none is assumed";
  EXPECT_EQ(report.held(), MiB{2215});
  EXPECT_EQ(held_during(growth, 3, 7, 10), MiB{2215});
  growth.context.reset();
  EXPECT_EQ(report_of(growth, 3, 7, 10).context, MiB{0}) << "requests are a sum, so it is new";
  EXPECT_EQ(held_during(growth, 3, 7, 10), MiB{1600});
}

TEST(MemoryGrowth, NoiseOfTheRequestsIsItsOwnAndBounded) {
  MemoryGrowth growth{MiB{1'000'000}, {}, {}, 20'000};
  const MemoryGrowth quiet = growth;
  growth.reuse_ratio = 2;
  growth.reuse_noise = 0.1;
  double sum = 0, squares = 0;
  for (std::int64_t i = 1; i <= growth.iterations; ++i) {
    const MemoryReport report = report_of(growth, 1, 0, i);
    ASSERT_EQ(report.allocated, quiet.base) << "what is held does not stray with the requests";
    const double off = static_cast<double>(report.requested.value) / 2e6 - 1;
    ASSERT_LE(std::abs(off), most_spreads * growth.reuse_noise + 1e-9);
    sum += off;
    squares += off * off;
  }
  const auto count = static_cast<double>(growth.iterations);
  EXPECT_NEAR(sum / count, 0, 0.003);
  EXPECT_NEAR(std::sqrt(squares / count), 0.1, 0.003);
  // Independent of the noise of what is held.
  growth.noise = MiB{10'000};
  double together = 0;
  for (std::int64_t i = 1; i <= growth.iterations; ++i) {
    const MemoryReport report = report_of(growth, 1, 0, i);
    const auto held = static_cast<double>(report.allocated.value);
    together += (held / 1e6 - 1) / 0.01 *
                (static_cast<double>(report.requested.value) / (2 * held) - 1) / 0.1;
  }
  EXPECT_NEAR(together / count, 0, 0.03);
}

}  // namespace
}  // namespace cleave
