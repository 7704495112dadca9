// What is predicted of applications: measured times as they are, the law between two of them, and a
// trained model for the rest.

#include "engine/application_times.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/format.hpp"
#include "physics/profile_times.hpp"

namespace cleave {
namespace {

const GpuModel& a100() {
  return **find_gpu_model("A100-40GB");
}

ProfileRecord record(const std::string& application, std::int64_t batch, const std::string& profile,
                     double seconds) {
  ProfileRecord record;
  record.key = {application, "A100-40GB", batch, profile, false};
  record.time_s = seconds;
  return record;
}

ApplicationTimes times_of(std::vector<ProfileRecord> records,
                          std::optional<CompletionTime> model = std::nullopt) {
  ProfileRepository repository;
  for (ProfileRecord& each : records) repository.add(std::move(each), MergeRule::replace);
  return {std::move(repository), std::move(model)};
}

/// Of 30 applications, by counters alone: work / slices.
CompletionTime trained() {
  std::string csv = "compute_slices,work,time_s\n";
  for (int app = 1; app <= 30; ++app)
    for (const int slices : {1, 2, 3, 4, 7})
      csv += fmt::format("{},{},{}\n", slices, 10 * app, 10.0 * app / slices);
  const auto jobs = read_measured_jobs(csv, "made.csv", {});
  EXPECT_TRUE(jobs) << jobs.error().text();
  auto model = CompletionTime::train(*jobs, "time_s", {});
  EXPECT_TRUE(model) << model.error().text();
  return std::move(*model);
}

TEST(ApplicationTimes, WhatWasMeasuredIsTheAnswer) {
  const auto times =
      times_of({record("bert", 8, "1g.5gb", 300), record("bert", 16, "1g.5gb", 500)});
  const auto one = times.time_on("bert", 8, a100(), *a100().find("1g.5gb"));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->seconds, 300);
  EXPECT_EQ(one->basis, ApplicationTimeBasis::measured);
  EXPECT_EQ(times.time_on("bert", 16, a100(), *a100().find("1g.5gb"))->seconds, 500);
  EXPECT_FALSE(times.time_on("bert", 8, a100(), *a100().find("7g.40gb"))) << "one profile is known";
  EXPECT_FALSE(times.time_on("bert", 32, a100(), *a100().find("1g.5gb")));
  EXPECT_FALSE(times.time_on("gpt", 8, a100(), *a100().find("1g.5gb")));
}

TEST(ApplicationTimes, TwoProfilesGiveTheOthersByTheOneLaw) {
  const auto times = times_of({record("bert", 8, "1g.5gb", 310), record("bert", 8, "7g.40gb", 92)});
  const auto by_law = complete_times(times.measured("bert", 8, a100()), a100());
  ASSERT_TRUE(by_law);
  for (const ProfileTime& each : by_law->profiles) {
    const auto time = times.time_on("bert", 8, a100(), *each.profile);
    ASSERT_TRUE(time);
    EXPECT_NEAR(time->seconds, each.time, 1e-9);
    EXPECT_EQ(time->basis == ApplicationTimeBasis::measured, each.basis == TimeBasis::known);
  }
}

TEST(ApplicationTimes, AModelAnswersWhereTooLittleWasMeasured) {
  ProfileRecord whole = record("bert", 8, "7g.40gb", 20);
  whole.counters["work"] = 140;
  const auto times = times_of({whole}, trained());
  const auto small = times.time_on("bert", 8, a100(), *a100().find("1g.5gb"));
  ASSERT_TRUE(small);
  EXPECT_EQ(small->basis, ApplicationTimeBasis::model);
  EXPECT_NEAR(small->seconds / 140, 1, 0.2) << "with the counters of the whole GPU";
  EXPECT_EQ(times.time_on("bert", 8, a100(), *a100().find("7g.40gb"))->seconds, 20) << "measured";
  ProfileRecord unlike = record("huge", 8, "7g.40gb", 20);
  unlike.counters["work"] = 1e6;
  EXPECT_FALSE(times_of({unlike}, trained()).time_on("huge", 8, a100(), *a100().find("1g.5gb")))
      << "unlike all that the model has seen";
  EXPECT_FALSE(times_of({}, trained()).time_on("bert", 8, a100(), *a100().find("1g.5gb")))
      << "no counters";
}

TEST(ApplicationTimes, RowsForPartitionsAndPeaks) {
  ProfileRecord small = record("bert", 8, "1g.5gb", 310), large = record("bert", 8, "7g.40gb", 92);
  small.p98_latency_s = 2;
  small.throughput_per_s = 4;
  small.peak_memory = MiB{4000};
  large.tokens_per_s = 12;
  large.peak_memory = MiB{4200};
  const auto times = times_of({small, large, record("other", 1, "1g.5gb", 3)});
  const auto rows = times.batch_rows(a100(), 2);
  ASSERT_EQ(rows.size(), 2U) << "the third has no throughput";
  for (const BatchRow& row : rows) {
    EXPECT_EQ(row.kind, 2U);
    EXPECT_EQ(row.batch, 8);
    const bool whole = a100().profiles[static_cast<std::size_t>(row.profile)].name == "7g.40gb";
    EXPECT_EQ(row.latency_s, whole ? 92 : 2);
    EXPECT_EQ(row.throughput_per_s, whole ? 12 : 4);
  }
  EXPECT_EQ(times.peak("bert", 8, a100()), MiB{4200});
  EXPECT_FALSE(times.peak("other", 1, a100()));
}

}  // namespace
}  // namespace cleave
