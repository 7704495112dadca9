// When a running job is expected to end: declared at first, by its reports as soon as they say how
// fast it goes, and rescaled by the law after it has moved.

#include "control/verdicts/expected_end.hpp"

#include <gtest/gtest.h>

#include "control/node/node_state_test.hpp"
#include "physics/profile_times.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class ExpectedEndTest : public testing::Test {
 protected:
  ExpectedEndTest() { job.record.spec.times = {{"1g.5gb", 310s}, {"7g.40gb", 92s}}; }

  LiveAttempt& run_on(const std::string& profile) {
    LiveAttempt& attempt = node.add_attempt(job, node.placement(profile, 0));
    attempt.record.profile = profile;
    attempt.record.began = wall(now);
    return attempt;
  }
  static Instant wall(Duration time) { return Instant{} + 1'000'000h + time; }
  /// Iterations of this length from now on; the last is heard now.
  void report(LiveAttempt& attempt, std::int64_t from, std::int64_t to, std::int64_t total,
              Duration each) {
    for (std::int64_t i = from; i <= to; ++i) {
      now += each;
      attempt.progress.add(i, total, now);
      learn_pace(job, attempt, model(), now);
    }
  }
  [[nodiscard]] const GpuModel& model() const { return node.state.gpu({}).geometry().model(); }
  [[nodiscard]] std::optional<ExpectedEnd> end() const {
    return expected_end(job, model(), {now, wall(now)});
  }
  /// Seconds from now on.
  [[nodiscard]] double left() const {
    const auto known = end();
    return known ? in_seconds(known->at - wall(now)) : -1;
  }

  NodeForTest node;
  LiveJob& job = node.add_job(1);
  Duration now = 100s;
};

TEST_F(ExpectedEndTest, BeforeReportsItIsWhatWasDeclared) {
  EXPECT_FALSE(end()) << "it does not run";
  run_on("1g.5gb");
  EXPECT_NEAR(left(), 310, 1e-6);
  EXPECT_EQ(end()->source, TimeSource::declared);
  now += 400s;
  EXPECT_NEAR(left(), 0, 1e-6) << "it takes longer than was declared, and runs";
}

TEST_F(ExpectedEndTest, ARunningJobNeverEndsInThePast) {
  LiveAttempt& attempt = run_on("1g.5gb");
  report(attempt, 1, 1, 10, 1s);  // how far it is, but no pace
  for (int i = 0; i < 100; ++i) {
    now += 5s;
    EXPECT_GE(left(), 0);
  }
  report(attempt, 2, 6, 10, 1s);
  for (int i = 0; i < 1000; ++i) {
    now += 3s;
    EXPECT_GE(left(), 0);
  }
}

TEST_F(ExpectedEndTest, OnAnotherProfileItIsByTheLaw) {
  run_on("3g.20gb");
  const auto by_law = complete_times(declared_times(job.record.spec).declared, model());
  ASSERT_TRUE(by_law);
  EXPECT_NEAR(left(), by_law->find("3g.20gb")->time, 1e-6);
  EXPECT_EQ(end()->source, TimeSource::law);
}

TEST_F(ExpectedEndTest, ReportsSayBetter) {
  LiveAttempt& attempt = run_on("1g.5gb");
  report(attempt, 1, 1, 100, 1s);
  EXPECT_EQ(end()->source, TimeSource::declared) << "one report has no pace";
  EXPECT_NEAR(left(), 310 * 0.99, 1e-6);
  report(attempt, 2, 20, 100, 6s);
  EXPECT_EQ(end()->source, TimeSource::reports);
  EXPECT_NEAR(left(), 80 * 6, 1e-3) << "twice as slow as declared";
  report(attempt, 21, 60, 100, 2s);
  EXPECT_LT(left(), 40 * 3.1) << "its latest pace counts most";
  EXPECT_GT(left(), 40 * 1.9);
  report(attempt, 61, 100, 100, 2s);
  EXPECT_NEAR(left(), 0, 1e-6);
}

TEST_F(ExpectedEndTest, AJobThatStallsEndsLaterAndLater) {
  LiveAttempt& attempt = run_on("1g.5gb");
  report(attempt, 1, 20, 100, 1s);
  const Instant before = end()->at;
  now += 500ms;
  EXPECT_EQ(end()->at, before) << "its next report is not late";
  now += 1000s;
  EXPECT_GT(end()->at, before + 2000s);
}

TEST_F(ExpectedEndTest, OneThatStallsNearItsEndDoesToo) {
  LiveAttempt& attempt = run_on("1g.5gb");
  report(attempt, 1, 6, 10, 1s);
  for (int i = 0; i < 100; ++i) {
    const Instant before = end()->at;
    now += 3s;
    EXPECT_GT(end()->at, before);
    EXPECT_GT(left(), 3) << "three iterations, none faster than the late one";
  }
}

TEST_F(ExpectedEndTest, ACountThatBeginsAgainIsAnother) {
  LiveAttempt& attempt = run_on("1g.5gb");
  report(attempt, 1, 50, 100, 1s);
  report(attempt, 1, 10, 100, 2s);
  EXPECT_NEAR(left(), 90 * 2, 1e-3);
}

TEST_F(ExpectedEndTest, ReportsThatAreHeardAgainAtOnceAreNoPace) {
  LiveAttempt& attempt = run_on("1g.5gb");
  report(attempt, 1, 300, 1000, 1us);  // a daemon that begins
  EXPECT_NE(end()->source, TimeSource::reports);
  EXPECT_NEAR(left(), 310 * 0.7, 0.1) << "but they say how far it is";
  report(attempt, 301, 310, 1000, 3s);
  EXPECT_EQ(end()->source, TimeSource::reports);
  EXPECT_NEAR(left(), 690 * 3, 300);
}

TEST_F(ExpectedEndTest, AfterAMoveTheLawRescalesThePace) {
  job.record.spec.progress = Keeps::checkpoint;
  LiveAttempt& first = run_on("1g.5gb");
  report(first, 1, 50, 100, 6s);  // 600 s in all, where 310 were declared
  first.record.end = AttemptEnd::moved;
  EXPECT_FALSE(end()) << "it is on its way out";
  run_on("7g.40gb");
  EXPECT_EQ(end()->source, TimeSource::earlier_reports);
  EXPECT_NEAR(left(), 600 * 92.0 / 310 / 2, 1) << "the half that is left";
  LiveAttempt& second = job.attempts.at(*job.main);
  report(second, 51, 60, 100, 1s);
  EXPECT_EQ(end()->source, TimeSource::reports);
  EXPECT_NEAR(left(), 40, 1e-3);
}

TEST_F(ExpectedEndTest, OneThatKeepsNothingBeginsAgain) {
  LiveAttempt& first = run_on("1g.5gb");
  report(first, 1, 50, 100, 6s);
  first.record.end = AttemptEnd::lost;
  run_on("1g.5gb");
  EXPECT_NEAR(left(), 600, 1) << "all of it, at the pace that it had here";
  EXPECT_EQ(end()->source, TimeSource::reports);
}

TEST_F(ExpectedEndTest, WithoutATotalReportsSayNothing) {
  LiveAttempt& attempt = run_on("1g.5gb");
  for (std::int64_t i = 1; i < 50; ++i) attempt.progress.add(i, std::nullopt, now += 1s);
  EXPECT_EQ(end()->source, TimeSource::declared);
  EXPECT_NEAR(left(), 310 - 49, 1e-6);
}

}  // namespace
}  // namespace cleave
