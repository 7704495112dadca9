// Jobs of higher priority go first, under every scheduler.

#include <gtest/gtest.h>

#include "engine/engine_driver_test.hpp"

namespace cleave {
namespace {

bool starts(const std::string& answer, unsigned job) {
  return answer.find("start " + std::to_string(job) + " on") != std::string::npos;
}

/// As the row has it, with a layout that has an instance for these tests.
std::string spec_of(const SchedulerRow& row) {
  return row.name == "static" ? "static:layout=7g.40gb@0" : std::string(row.name);
}

TEST(Priority, IsHonouredByEveryScheduler) {
  for (const SchedulerRow& row : schedulers()) {
    SCOPED_TRACE(row.name);
    EXPECT_FALSE(row.priority.empty());
    EngineDriver driver(spec_of(row));
    EXPECT_TRUE(starts(driver.submit(0, "7g.40gb"), 0));
    const std::int64_t priorities[] = {0, -1, 2, 1, 0, 2, INT64_MIN, INT64_MAX};
    for (unsigned i = 0; i < std::size(priorities); ++i)
      EXPECT_EQ(driver.submit(i + 1, "7g.40gb", priorities[i]), "") << "what runs, runs on";
    unsigned before = 0;
    for (const unsigned job : {8U, 3U, 6U, 4U, 1U, 5U, 2U, 7U}) {
      const std::string answer = driver.finish(std::exchange(before, job));
      EXPECT_TRUE(starts(answer, job)) << job << ": " << answer;
    }
    EXPECT_EQ(driver.finish(before).find("start"), std::string::npos);
  }
}

TEST(Priority, OrdersJobsOfOneInstant) {
  for (const SchedulerRow& row : schedulers()) {
    // Those that answer each event by itself have started the first by then.
    if (row.name == "full-gpu" || row.name == "online") continue;
    SCOPED_TRACE(row.name);
    EngineDriver driver(spec_of(row));
    const std::string answer =
        driver.submit_all({{"7g.40gb", 0}, {"7g.40gb", 1}, {"7g.40gb", 5}, {"7g.40gb", 5}}, 0);
    EXPECT_TRUE(starts(answer, 2)) << answer;
  }
}

TEST(Priority, AJobThatWaitsAgainHasItsOldPlace) {
  for (const SchedulerRow& row : schedulers()) {
    SCOPED_TRACE(row.name);
    EngineDriver driver(spec_of(row));
    EXPECT_TRUE(starts(driver.submit(0, "7g.40gb", 1), 0));
    EXPECT_EQ(driver.submit(1, "7g.40gb", 0), "");
    EXPECT_EQ(driver.submit(2, "7g.40gb", 1), "");
    EXPECT_EQ(driver.submit(3, "7g.40gb", 2), "");
    EXPECT_EQ(driver.lose(0), "");
    EXPECT_TRUE(starts(driver.recover(0), 3));
    EXPECT_EQ(driver.cancel(2), "");
    EXPECT_TRUE(starts(driver.finish(3), 0));
    EXPECT_TRUE(starts(driver.finish(0), 1));
  }
}

TEST(Priority, TheFirstHoldsBackTheOthersWhereTurnsAreKept) {
  for (const char* spec : {"online", "scheme-b", "static:layout=4g.20gb@0+2g.10gb@4+1g.10gb@6"}) {
    SCOPED_TRACE(spec);
    EngineDriver driver(spec);
    EXPECT_TRUE(starts(driver.submit(0, "4g.20gb"), 0));
    EXPECT_EQ(driver.submit(1, "4g.20gb"), "");
    EXPECT_EQ(driver.submit(2, "2g.10gb"), "") << "would fit, but does not overtake";
    EXPECT_TRUE(starts(driver.submit(3, "2g.10gb", 1), 3)) << "comes before the one that waits";
    EXPECT_EQ(driver.submit(4, "4g.20gb", 1), "");
    EXPECT_EQ(driver.finish(3), "");
    EXPECT_TRUE(starts(driver.finish(0), 4));
  }
}

TEST(Priority, ASizeWithJobsOfHigherPriorityIsCutFirst) {
  EngineDriver a("scheme-a", "1xA30-24GB");
  EXPECT_TRUE(starts(a.submit(0, "2g.12gb"), 0));
  EXPECT_EQ(a.submit(1, "4g.24gb"), "");
  EXPECT_EQ(a.submit(2, "1g.6gb", 1), "");
  EXPECT_EQ(a.submit(3, "1g.6gb", 0), "");
  EXPECT_EQ(a.submit(4, "1g.6gb", 3), "");
  const std::string answer = a.finish(0);
  EXPECT_TRUE(starts(answer, 4) && starts(answer, 2) && starts(answer, 3))
      << "the next larger but for the priorities: " << answer;
  EXPECT_LT(answer.find("start 4"), answer.find("start 2"));
}

TEST(Priority, ASizeWithInstancesEnoughForItsFirstJobsLeavesTheNextGpuToOthers) {
  EngineDriver a("scheme-a", "2xA30-24GB");
  EXPECT_TRUE(starts(a.submit(0, "4g.24gb"), 0));
  EXPECT_TRUE(starts(a.submit(1, "4g.24gb"), 1));
  EXPECT_EQ(a.submit(2, "1g.6gb", 1), "");
  for (const unsigned job : {3U, 4U, 5U, 6U}) EXPECT_EQ(a.submit(job, "1g.6gb"), "");
  EXPECT_EQ(a.submit(7, "2g.12gb", 1), "");
  EXPECT_EQ(a.lose(1), "");
  EXPECT_EQ(a.lose(0), "");
  EXPECT_EQ(a.submit(8, "1g.6gb"), "");
  EXPECT_TRUE(starts(a.recover(0), 2)) << "the smallest of those of the highest priority";
  EXPECT_TRUE(starts(a.recover(1), 7)) << "though more of the small ones wait than have a place";
}

TEST(Priority, AJobOfHigherPriorityComesBeforeTheSharesThatWereDealt) {
  EngineDriver a("scheme-a:shares=equal", "1xA30-24GB");
  EXPECT_TRUE(starts(a.submit(0, "4g.24gb"), 0));
  for (const unsigned job : {1U, 2U, 3U, 4U}) EXPECT_EQ(a.submit(job, "2g.12gb"), "");
  EXPECT_TRUE(starts(a.finish(0), 1)) << "two to each instance";
  EXPECT_EQ(a.submit(5, "2g.12gb", 1), "");
  EXPECT_TRUE(starts(a.finish(1), 5));
  EXPECT_TRUE(starts(a.finish(5), 3)) << "what was dealt there";
}

TEST(Priority, BatchesAreOfTheHighestPriorityFirst) {
  EngineDriver dyna("dyna-p", "1xA30-24GB");
  EXPECT_TRUE(starts(dyna.submit(0, "4g.24gb"), 0));
  EXPECT_EQ(dyna.submit(1, "1g.6gb", 1), "");
  EXPECT_EQ(dyna.submit(2, "4g.24gb"), "");
  EXPECT_EQ(dyna.submit(3, "2g.12gb"), "");
  const std::string answer = dyna.finish(0);
  EXPECT_TRUE(starts(answer, 1)) << "though a full GPU has more throughput: " << answer;
  EXPECT_TRUE(starts(answer, 3)) << "and what is left goes to the next: " << answer;
  EXPECT_FALSE(starts(answer, 2)) << answer;
}

}  // namespace
}  // namespace cleave
