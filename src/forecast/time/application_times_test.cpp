// What is predicted of applications: measured times as they are, the law between two of them, and a
// trained model for the rest.

#include "forecast/time/application_times.hpp"

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
  const auto by_law =
      complete_times(measured_speeds(times.repository(), "bert", 8, a100()), a100());
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

TEST(ApplicationTimes, ThePeakIsTheMostThatARunOfTheBatchHeld) {
  ProfileRecord small = record("bert", 8, "1g.5gb", 310), large = record("bert", 8, "7g.40gb", 92);
  ProfileRecord whole = record("gpt", 1, "none", 92);
  small.peak_memory = MiB{4000};
  large.peak_memory = MiB{4200};
  whole.peak_memory = MiB{900};
  const auto times = times_of({small, large, whole, record("other", 1, "1g.5gb", 3)});
  const auto peak = [&](const char* application, std::int64_t batch) {
    return measured_peak(times.repository(), application, batch, a100());
  };
  EXPECT_EQ(peak("bert", 8), MiB{4200});
  EXPECT_FALSE(peak("bert", 16)) << "of another batch nothing follows";
  EXPECT_EQ(peak("gpt", 1), MiB{900}) << "a run without MIG counts";
  EXPECT_FALSE(peak("other", 1));
}

TEST(ApplicationTimes, AreReadFromTwoTextsWithTheErrorsOfTheirReaders) {
  EXPECT_EQ(*parse_application_times(std::nullopt, std::nullopt), nullptr);
  ProfileRepository repository;
  repository.add(record("bert", 8, "1g.5gb", 310), MergeRule::mean);
  const NamedText profiles{"p.jsonl", repository_text(repository)},
      model{"m.json", trained().save()};
  const auto both = parse_application_times(profiles, model);
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_EQ((*both)->repository().records().size(), 1U);
  EXPECT_NE((*both)->model(), nullptr);
  EXPECT_EQ((*parse_application_times(profiles, std::nullopt))->model(), nullptr);
  const auto wrong = parse_application_times(NamedText{"p.jsonl", "\n{\"batch\": 1}"}, model);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().place.substr(0, 9), "p.jsonl:2");
  const auto cut = parse_application_times(profiles, NamedText{"m.json", "{"});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().place.substr(0, 6), "m.json");
}

}  // namespace
}  // namespace cleave
