// Jobs of higher priority go first, under every scheduler.

#include <gtest/gtest.h>

#include <map>

#include "engine/command_words_test.hpp"
#include "engine/engine.hpp"

namespace cleave {
namespace {

/// Priorities as a test gives them.
class Priorities final : public JobFacts {
 public:
  [[nodiscard]] std::int64_t priority(JobId job) const override {
    const auto known = of.find(job);
    return known == of.end() ? 0 : known->second;
  }
  std::map<JobId, std::int64_t> of;
};

/// Drives one scheduler by hand; answers as text: "create 0 1g.5gb@6, start 1".
class PriorityDriver {
 public:
  explicit PriorityDriver(std::string_view spec, std::string_view fleet = "1xA100-40GB")
      : file_(*parse_fleet_in_short(fleet, *ProfileChoice::parse("plain"))),
        fleet_(file_),
        requests_(file_.geometries),
        engine_(*Engine::make(*parse_scheduler(spec), {fleet_, requests_, true, &facts_}, requests_,
                              nullptr)) {}

  std::string submit(unsigned job, std::string profile, std::int64_t priority = 0) {
    facts_.of[static_cast<JobId>(job)] = priority;
    const RequestId request = requests_.intern({ByProfile{std::move(profile)}, {}});
    return answer(Submitted{static_cast<JobId>(job), request});
  }
  /// Several at one instant.
  std::string submit_all(const std::vector<std::pair<std::string, std::int64_t>>& jobs,
                         unsigned first) {
    std::vector<Command> commands;
    for (const auto& [profile, priority] : jobs) {
      facts_.of[static_cast<JobId>(first)] = priority;
      const RequestId request = requests_.intern({ByProfile{profile}, {}});
      engine_.on(Submitted{static_cast<JobId>(first++), request}, Instant{}, commands);
    }
    engine_.settle(Instant{}, commands);
    return CommandWords(fleet_).text(commands);
  }
  std::string finish(unsigned job) { return answer(Finished{static_cast<JobId>(job)}); }
  std::string cancel(unsigned job) { return answer(Cancelled{static_cast<JobId>(job)}); }
  std::string lose(unsigned gpu) { return answer(GpuLost{static_cast<GpuId>(gpu)}); }
  std::string recover(unsigned gpu) { return answer(GpuReturned{static_cast<GpuId>(gpu)}); }

 private:
  std::string answer(const Event& event) {
    std::vector<Command> commands;
    engine_.on(event, Instant{}, commands);
    engine_.settle(Instant{}, commands);
    return CommandWords(fleet_).text(commands);
  }

  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  Priorities facts_;
  Engine engine_;
};

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
    PriorityDriver driver(spec_of(row));
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
    PriorityDriver driver(spec_of(row));
    const std::string answer =
        driver.submit_all({{"7g.40gb", 0}, {"7g.40gb", 1}, {"7g.40gb", 5}, {"7g.40gb", 5}}, 0);
    EXPECT_TRUE(starts(answer, 2)) << answer;
  }
}

TEST(Priority, AJobThatWaitsAgainHasItsOldPlace) {
  for (const SchedulerRow& row : schedulers()) {
    SCOPED_TRACE(row.name);
    PriorityDriver driver(spec_of(row));
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
    PriorityDriver driver(spec);
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
  PriorityDriver a("scheme-a", "1xA30-24GB");
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
  PriorityDriver a("scheme-a", "2xA30-24GB");
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
  PriorityDriver a("scheme-a:shares=equal", "1xA30-24GB");
  EXPECT_TRUE(starts(a.submit(0, "4g.24gb"), 0));
  for (const unsigned job : {1U, 2U, 3U, 4U}) EXPECT_EQ(a.submit(job, "2g.12gb"), "");
  EXPECT_TRUE(starts(a.finish(0), 1)) << "two to each instance";
  EXPECT_EQ(a.submit(5, "2g.12gb", 1), "");
  EXPECT_TRUE(starts(a.finish(1), 5));
  EXPECT_TRUE(starts(a.finish(5), 3)) << "what was dealt there";
}

TEST(Priority, BatchesAreOfTheHighestPriorityFirst) {
  PriorityDriver dyna("dyna-p", "1xA30-24GB");
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
