#include "slurm/lost_ends.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using std::chrono::seconds;

Instant at(int second) {
  return Instant(seconds(second));
}

TEST(LostEnds, AreOfJobsThatBeganBeforeSlurmctld) {
  SlurmSight sight;
  for (const int starts : {90, 110, 95}) {
    SlurmJob job;
    job.number = starts;
    job.state = SlurmJobState::running;
    job.asks = {{"1g.5gb", 1}};
    job.starts = at(starts);
    sight.jobs.push_back(job);
  }
  sight.jobs.back().state = SlurmJobState::pending;
  const auto asked = [&](int now) { return may_have_ended(sight, at(now)); };
  EXPECT_TRUE(asked(105).empty()) << "nobody knows when slurmctld began";
  sight.begun = at(100);
  ASSERT_EQ(asked(105).size(), 1U);
  EXPECT_EQ(asked(105).front()->number, 90);
  EXPECT_TRUE(asked(1000).empty());
}

TEST(LostEnds, AreThoseOfThePresentRun) {
  const auto ends = parse_ends(
      "7|100|130|0:0|COMPLETED\n8|100|130|3:0|FAILED\n9|100|130|0:15|CANCELLED by 7\n"
      "7|50|60|0:0|COMPLETED\n10|100|Unknown|0:0|RUNNING\nwrong\n"
      "11|100|120|1:0|NODE_FAIL\n12|100|120|0:0|REQUEUED\n");
  ASSERT_EQ(ends.size(), 4U);
  SlurmJob running, again, killed, other;
  running.number = 8, again.number = 7, killed.number = 9, other.number = 10;
  SlurmJob missing = other, put_back = other;
  missing.number = 11, put_back.number = 12;
  running.starts = killed.starts = other.starts = missing.starts = put_back.starts = at(100);
  again.starts = at(140);
  const auto lost = lost_ends({&running, &again, &killed, &other, &missing, &put_back}, ends);
  ASSERT_EQ(lost.size(), 2U) << "job 7 runs anew, job 10 runs, the last two wait again";
  EXPECT_EQ(lost[0].job, 8);
  EXPECT_EQ(lost[0].status, 3 << 8);
  EXPECT_EQ(lost[1].status, 15);
}

}  // namespace
}  // namespace cleave
