// What an attempt teaches: the time and the peak of whole work, and nothing of a part.

#include "control/verdicts/lesson.hpp"

#include <gtest/gtest.h>

#include "control/node/node_state_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class LessonTest : public testing::Test {
 protected:
  LessonTest() {
    job.record.spec.application = "resnet";
    attempt.record.profile = "2g.10gb";
    attempt.watched = true;
    outcome.lasted = 90s;
  }
  [[nodiscard]] std::optional<ProfileRecord> lesson(bool finished = true) const {
    return lesson_of(job, attempt, outcome, finished, node.state.gpu({}).geometry().model(),
                     Instant{} + 490'000h);
  }
  [[nodiscard]] std::optional<double> time(bool finished = true) const {
    const auto taught = lesson(finished);
    return taught ? taught->time_s : std::nullopt;
  }
  /// Iterations of a second each.
  void report(std::int64_t from, std::int64_t to, std::optional<std::int64_t> total) {
    for (std::int64_t i = from; i <= to; ++i) attempt.progress.add(i, total, now += 1s);
  }

  NodeForTest node;
  LiveJob& job = node.add_job(1);
  LiveAttempt& attempt = node.add_attempt(job, node.placement("2g.10gb", 0));
  ProcessOutcome outcome;
  Duration now = 100s;
};

TEST_F(LessonTest, WholeWorkIsATimeAndAPeak) {
  attempt.record.peak = MiB{7000};
  const auto taught = lesson();
  ASSERT_TRUE(taught);
  EXPECT_EQ(taught->key, (ProfileKey{"resnet", "A100-40GB", 1, "2g.10gb", false}));
  EXPECT_EQ(taught->time_s, 90);
  EXPECT_EQ(taught->peak_memory, MiB{7000});
  EXPECT_EQ(taught->samples, 1);
  EXPECT_EQ(taught->date, "2025-11-24T16:00:00Z");
  job.record.spec.batch = 64;
  EXPECT_EQ(lesson()->key.batch, 64);
  attempt.record.profile.clear();
  EXPECT_EQ(lesson()->key.profile, no_mig) << "a whole GPU";
}

TEST_F(LessonTest, WhatSaysNothingTeachesNothing) {
  EXPECT_FALSE(lesson(false)) << "it was stopped, and reported nothing";
  job.record.spec.application.reset();
  EXPECT_FALSE(lesson());
  job.record.spec.application = "resnet";
  attempt.record.profile = "9g.90gb";
  EXPECT_FALSE(lesson()) << "no repository could name that profile";
}

TEST_F(LessonTest, CountersOfMostOfTheRunAreTaught) {
  attempt.busy.hear({}, 10s);
  attempt.busy.hear(BusyShares{0.75, 0.5, 0.25, {}}, 60s);
  const auto taught = lesson();
  ASSERT_TRUE(taught);
  EXPECT_EQ(taught->counters.size(), 3U);
  EXPECT_EQ(taught->counters.at("sm_activity"), 0.75);
  EXPECT_EQ(taught->counters.at("sm_occupancy"), 0.5);
  EXPECT_EQ(taught->counters.at("tensor_activity"), 0.25);
  outcome.lasted = 101s;
  EXPECT_TRUE(lesson()->counters.empty()) << "less than half of it was counted";
}

TEST_F(LessonTest, APartOfTheWorkIsNoTime) {
  EXPECT_TRUE(time());
  EXPECT_FALSE(time(false)) << "it did not end well";
  attempt.watched = false;
  EXPECT_FALSE(time()) << "an earlier daemon started it";
  attempt.watched = true;
  attempt.shared = true;
  EXPECT_FALSE(time()) << "it was not alone";
  attempt.shared = false;
  attempt.record.key.attempt = 2;
  for (const Keeps keeps : {Keeps::unsaid, Keeps::checkpoint, Keeps::stateless}) {
    job.record.spec.progress = keeps;
    EXPECT_FALSE(lesson()) << "it may go on where the first attempt ended";
  }
  job.record.spec.progress = Keeps::nothing;
  EXPECT_TRUE(time()) << "it began again";
  job.record.spec.movable = true;
  EXPECT_FALSE(time()) << "it may have taken over";
}

// A program that was submitted again goes on from its own checkpoint, in a first attempt.
TEST_F(LessonTest, WhatBeganAtALaterIterationIsAPart) {
  report(401, 1000, 1000);
  EXPECT_FALSE(lesson());
  attempt.progress = {};
  report(1, 1000, 1000);
  EXPECT_TRUE(time());
  attempt.progress = {};
  report(15, 1000, 1000);
  EXPECT_TRUE(time()) << "reports by time begin some iterations late";
  attempt.progress = {};
  report(400, 600, std::nullopt);
  EXPECT_FALSE(lesson());
}

// Otherwise the next daemon could not read it.
TEST_F(LessonTest, WhatNoRepositoryTakesIsNotTaught) {
  outcome.lasted = {};
  attempt.record.peak = MiB{std::int64_t{1} << 34};
  EXPECT_FALSE(lesson());
  attempt.record.peak = MiB{4000};
  attempt.capacity = MiB{3900};
  EXPECT_FALSE(lesson()) << "it asked for that in vain";
  attempt.capacity = MiB{4000};
  EXPECT_EQ(lesson()->peak_memory, MiB{4000});
}

TEST_F(LessonTest, APaceIsNoTime) {
  report(1, 80, 200);
  EXPECT_FALSE(lesson(false)) << "it may be one of the beginning, or what a user guessed";
}

TEST_F(LessonTest, ACountThatBeginsAgainIsNotAllTheWork) {
  report(1, 50, 50);
  report(1, 40, 50);
  EXPECT_FALSE(time(false));
  EXPECT_EQ(time(), 90) << "but what ended well was all of it";
}

}  // namespace
}  // namespace cleave
