// What is known of a job's times: the better source goes before the worse one, and the law of
// slices is asked wherever two profiles are known.

#include "control/node/job_times.hpp"

#include <gtest/gtest.h>

#include <map>

#include "physics/profile_times.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

const GpuModel& a100() {
  return **find_gpu_model("A100-40GB");
}
const Profile* profile(std::string_view name) {
  return a100().find(name);
}
JobSpec with_times(std::vector<StatedTime> times) {
  JobSpec spec;
  spec.times = std::move(times);
  return spec;
}
double seconds(const KnownJobTimes& times, std::string_view on) {
  const auto time = time_on(times, a100(), profile(on));
  return time ? in_seconds(time->time) : 0;
}
TimeSource source(const KnownJobTimes& times, std::string_view on) {
  const auto time = time_on(times, a100(), profile(on));
  EXPECT_TRUE(time) << on;
  return time ? time->source : TimeSource::guess;
}

TEST(JobTimes, NothingIsKnownOfAJobThatSaysNothing) {
  EXPECT_FALSE(time_on(declared_times({}), a100(), profile("7g.40gb")));
  EXPECT_FALSE(time_on(declared_times({}), a100(), nullptr));
}

TEST(JobTimes, OneTimeIsAGuessElsewhere) {
  JobSpec spec;
  spec.expected = 100s;
  const KnownJobTimes times = declared_times(spec);
  EXPECT_DOUBLE_EQ(seconds(times, "7g.40gb"), 100);
  EXPECT_EQ(source(times, "7g.40gb"), TimeSource::declared);
  EXPECT_NEAR(seconds(times, "1g.5gb"), 700, 1e-6) << "14 of 98 SMs";
  EXPECT_EQ(source(times, "1g.5gb"), TimeSource::guess);
  const KnownJobTimes small = declared_times(with_times({{"1g.5gb", 700s}}));
  EXPECT_NEAR(seconds(small, "7g.40gb"), 100, 1e-6);
  EXPECT_EQ(source(small, "7g.40gb"), TimeSource::guess);
  EXPECT_EQ(source(small, "1g.5gb"), TimeSource::declared);
}

TEST(JobTimes, TwoTimesGiveTheOthersByTheOneLaw) {
  const KnownJobTimes times =
      declared_times(with_times({{"1g.5gb", 310s}, {"A100-40GB:7g.40gb", 92s}}));
  const auto by_law = complete_times(times.declared, a100());
  ASSERT_TRUE(by_law);
  for (const ProfileTime& each : by_law->profiles) {
    EXPECT_NEAR(seconds(times, each.profile->name), each.time, 1e-6);
    EXPECT_EQ(source(times, each.profile->name),
              each.basis == TimeBasis::known ? TimeSource::declared : TimeSource::law);
  }
  EXPECT_NEAR(in_seconds(time_on(times, a100(), nullptr)->time), 92, 1e-6) << "without MIG";
  const KnownJobTimes large = declared_times(with_times({{"3g.20gb", 120s}, {"7g.40gb", 92s}}));
  EXPECT_FALSE(time_on(large, a100(), profile("1g.5gb"))) << "it may not fit there";
  EXPECT_FALSE(time_on(times, **find_gpu_model("A30-24GB"), nullptr)) << "another model";
}

TEST(JobTimes, WhatWasReportedGoesBeforeWhatWasDeclared) {
  KnownJobTimes times = declared_times(with_times({{"1g.5gb", 310s}, {"7g.40gb", 92s}}));
  times.reported["A100-40GB:1g.5gb"] = 1 / 620.0;  // twice the time that was declared
  EXPECT_NEAR(seconds(times, "1g.5gb"), 620, 1e-6);
  EXPECT_EQ(source(times, "1g.5gb"), TimeSource::reports);
  EXPECT_NEAR(seconds(times, "7g.40gb"), 184, 1e-6) << "the declared ratio";
  EXPECT_EQ(source(times, "7g.40gb"), TimeSource::earlier_reports);
  times.reported["A100-40GB:7g.40gb"] = 1 / 100.0;
  const auto by_law = complete_times(times.reported, a100());
  ASSERT_TRUE(by_law);
  EXPECT_NEAR(seconds(times, "3g.20gb"), by_law->find("3g.20gb")->time, 1e-6)
      << "two that were reported need no declared ones";
}

TEST(JobTimes, OnePaceAloneIsAGuessElsewhere) {
  KnownJobTimes times;
  times.reported["A100-40GB:1g.5gb"] = 1 / 700.0;
  EXPECT_EQ(source(times, "1g.5gb"), TimeSource::reports);
  EXPECT_NEAR(seconds(times, "7g.40gb"), 100, 1e-6);
  EXPECT_EQ(source(times, "7g.40gb"), TimeSource::guess);
}

/// What was measured of its application, in seconds.
KnownJobTimes with_measured(std::map<std::string, double> learnt,
                            std::map<std::string, double> given = {},
                            std::map<std::string, double> modelled = {}) {
  const auto table = [](const std::map<std::string, double>& seconds) {
    SpeedTable speeds;
    for (const auto& [profile, time] : seconds) speeds["A100-40GB:" + profile] = 1 / time;
    return speeds;
  };
  KnownJobTimes times;
  times.measured = std::make_shared<const MeasuredTimes>(
      MeasuredTimes{table(learnt), table(given), table(modelled)});
  return times;
}

TEST(JobTimes, OfItsApplicationTheUsersOwnGoesFirst) {
  const KnownJobTimes times =
      with_measured({{"1g.5gb", 620}}, {{"1g.5gb", 310}, {"7g.40gb", 92}}, {{"3g.20gb", 5}});
  EXPECT_NEAR(seconds(times, "1g.5gb"), 620, 1e-6);
  EXPECT_EQ(source(times, "1g.5gb"), TimeSource::measured);
  EXPECT_NEAR(seconds(times, "7g.40gb"), 184, 1e-6) << "by the ratio of the operator's records";
  EXPECT_EQ(source(times, "7g.40gb"), TimeSource::measured_elsewhere);
  const KnownJobTimes two = with_measured({{"1g.5gb", 620}, {"7g.40gb", 100}}, {{"3g.20gb", 1}});
  EXPECT_GT(seconds(two, "3g.20gb"), 100) << "the law from two of its own";
  EXPECT_EQ(source(two, "3g.20gb"), TimeSource::measured_elsewhere);
}

TEST(JobTimes, ThenTheOperatorsThenTheModelThenAGuess) {
  const KnownJobTimes given =
      with_measured({}, {{"1g.5gb", 310}, {"7g.40gb", 92}}, {{"3g.20gb", 5}, {"7g.40gb", 5}});
  EXPECT_NEAR(seconds(given, "7g.40gb"), 92, 1e-6);
  EXPECT_EQ(source(given, "7g.40gb"), TimeSource::measured);
  EXPECT_EQ(source(given, "3g.20gb"), TimeSource::measured_elsewhere);
  const KnownJobTimes modelled = with_measured({}, {{"1g.5gb", 310}}, {{"3g.20gb", 5}});
  EXPECT_NEAR(seconds(modelled, "3g.20gb"), 5, 1e-6);
  EXPECT_EQ(source(modelled, "3g.20gb"), TimeSource::model);
  EXPECT_EQ(source(modelled, "7g.40gb"), TimeSource::guess) << "from the one that was measured";
}

TEST(JobTimes, WhatTheJobSaysOfItselfGoesBeforeItsApplication) {
  KnownJobTimes times = with_measured({{"1g.5gb", 620}, {"7g.40gb", 100}});
  times.declared = {{"1g.5gb", 1 / 50.0}};
  EXPECT_NEAR(seconds(times, "1g.5gb"), 50, 1e-6);
  EXPECT_EQ(source(times, "1g.5gb"), TimeSource::declared);
  EXPECT_EQ(source(times, "7g.40gb"), TimeSource::measured) << "which is better than a guess";
  times.reported = {{"A100-40GB:1g.5gb", 1 / 310.0}};
  EXPECT_EQ(source(times, "1g.5gb"), TimeSource::reports);
  EXPECT_NEAR(seconds(times, "7g.40gb"), 50, 1e-6) << "rescaled as its application was measured";
  EXPECT_EQ(source(times, "7g.40gb"), TimeSource::earlier_reports);
}

}  // namespace
}  // namespace cleave
