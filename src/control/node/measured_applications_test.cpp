// What is known of applications: it follows what is learnt, and what one user's jobs taught never
// reaches another user's.

#include "control/node/measured_applications.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"
#include "control/verdicts/size_by_measurements.hpp"

namespace cleave {
namespace {

const GpuModel& a100() {
  return **find_gpu_model("A100-40GB");
}

ProfileRecord record(const std::string& application, const std::string& profile, double seconds) {
  ProfileRecord record;
  record.key = {application, "A100-40GB", 1, profile, false};
  record.time_s = seconds;
  return record;
}

JobSpec of(const std::string& application) {
  JobSpec spec;
  spec.application = application;
  return spec;
}

TEST(MeasuredApplications, WhatAJobHoldsFollowsWhatIsLearnt) {
  MeasuredApplications known;
  EXPECT_EQ(known.times_of(1, JobSpec{}), nullptr) << "it names no application";
  const auto times = known.times_of(1, of("resnet"));
  ASSERT_NE(times, nullptr);
  EXPECT_TRUE(times->learnt.empty());
  static_cast<void>(known.learn(1, record("resnet", "1g.5gb", 100), 10));
  EXPECT_DOUBLE_EQ(times->learnt.at("A100-40GB:1g.5gb"), 0.01);
  static_cast<void>(known.learn(1, record("bert", "1g.5gb", 7), 10));
  EXPECT_EQ(times->learnt.size(), 1U) << "another application";
  JobSpec batch = of("resnet");
  batch.batch = 2;
  EXPECT_TRUE(known.times_of(1, batch)->learnt.empty()) << "another batch";
  EXPECT_EQ(known.times_of(1, of("resnet")), times) << "many jobs hold one";
  static_cast<void>(known.keep(0));
  EXPECT_TRUE(times->learnt.empty()) << "it was forgotten";
}

TEST(MeasuredApplications, TheOperatorsAreForAllAndMayBeReadAgain) {
  MeasuredApplications known;
  const auto times = known.times_of(1, of("resnet"));
  ProfileRepository repository;
  repository.add(record("resnet", "none", 50), MergeRule::mean);
  ProfileRecord offloaded = record("resnet", "1g.5gb", 50);
  offloaded.key.offload = true;
  repository.add(offloaded, MergeRule::mean);
  known.set_given(std::make_shared<const ApplicationTimes>(std::move(repository), std::nullopt));
  EXPECT_DOUBLE_EQ(times->given.at("A100-40GB:none"), 0.02);
  EXPECT_EQ(times->given.size(), 1U) << "a run with offload is of another job";
  EXPECT_DOUBLE_EQ(known.times_of(2, of("resnet"))->given.at("A100-40GB:none"), 0.02);
  known.set_given(nullptr);
  EXPECT_TRUE(times->given.empty());
}

TEST(MeasuredApplications, AUsersRecordsDecideNothingForAnother) {
  const Geometry geometry(a100(), ProfileChoice().on(a100()));
  const char* const profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb", "none"};
  Random random(17);
  for (int round = 0; round < 200; ++round) {
    MeasuredApplications together, alone;
    for (int i = 0; i < 20; ++i) {
      const auto uid = static_cast<std::uint32_t>(random.below(2));
      ProfileRecord lesson =
          record(random.below(2) == 0 ? "a" : "b", profiles[random.below(std::size(profiles))],
                 1 + 100 * random.uniform());
      lesson.peak_memory = MiB{static_cast<std::int64_t>(random.below(30'000))};
      if (random.below(2) == 0) lesson.counters["sm_occupancy"] = random.uniform();
      static_cast<void>(together.learn(uid, lesson, 1000));
      if (uid == 1) static_cast<void>(alone.learn(uid, lesson, 1000));
    }
    for (const char* application : {"a", "b"}) {
      const JobSpec spec = of(application);
      EXPECT_EQ(together.times_of(1, spec)->learnt, alone.times_of(1, spec)->learnt);
      EXPECT_TRUE(size_by_measurements(spec, 1, together, {&geometry}, true) ==
                  size_by_measurements(spec, 1, alone, {&geometry}, true));
      EXPECT_TRUE(together.times_of(2, spec)->learnt.empty());
      EXPECT_FALSE(size_by_measurements(spec, 2, together, {&geometry}, true));
    }
  }
}

}  // namespace
}  // namespace cleave
