#include "slurm/slurm_accounts.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(SlurmAccounts, InstancesOfBothKindsAndWholeGpus) {
  const auto read = parse_sacct(
      "7|7|alice|COMPLETED|1764205000|1764205010|1764205100|billing=3,cpu=1,gres/mig:3g.20gb=2,"
      "gres/mig=2,node=1\n"
      "9|8_1|bob|CANCELLED by 0|1764205000|Unknown|1764205100|cpu=1,gres/gpu:a100_1g.5gb=1,"
      "gres/gpu=1\n"
      "10|10|bob|FAILED|1764205000|1764205001|1764205002|cpu=1,gres/gpu=4\n"
      "11|11|bob|FAILED|1764205000|1764205001|1764205002|cpu=1\n"
      "12|12|bob|FAILED|1|1|1|gres/mig:1g.5gb=1,gres/mig:2g.10gb=1\n"
      "|||\n");
  ASSERT_EQ(read.jobs.size(), 3U);
  EXPECT_EQ(read.jobs[0].profile, "3g.20gb");
  EXPECT_EQ(read.jobs[0].instances, 2);
  EXPECT_EQ(read.jobs[1].profile, "1g.5gb");
  EXPECT_EQ(read.jobs[1].shown, "8_1");
  EXPECT_EQ(read.jobs[1].state, "CANCELLED");
  EXPECT_FALSE(read.jobs[1].started);
  EXPECT_EQ(read.jobs[2].profile, "");
  EXPECT_EQ(read.jobs[2].instances, 4);
  EXPECT_EQ(read.several, 1U);
  EXPECT_EQ(read.unreadable, 1U);
}

}  // namespace
}  // namespace cleave
