// Times on all profiles from those of two: what is known stays, the law gives the rest, and its
// stated error is what it has on measurements of jobs.

#include "physics/profile_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/random.hpp"
#include "physics/measured_speeds.hpp"
#include "physics/models_by_key_test.hpp"

namespace cleave {
namespace {

TEST(ProfileTimes, WhatIsKnownStaysAndTheLawGivesTheRest) {
  const GpuModel& a100 = model("A100-40GB");
  // A floor of 1 and 2 of work on the whole GPU.
  const SliceLaw truth{1, 2};
  SpeedTable table;
  for (const char* name : {"1g.5gb", "7g.40gb"})
    table[name] = 1 / time_on(truth, gpu_bound_time(a100, *a100.find(name)));
  const auto times = complete_times(table, a100);
  ASSERT_TRUE(times) << times.error().text();
  EXPECT_NEAR(times->job.law.fixed, 1, 1e-9);
  EXPECT_NEAR(times->job.law.bound, 2, 1e-9);
  ASSERT_EQ(times->profiles.size(), 6U) << "all plain profiles";
  for (const ProfileTime& each : times->profiles) {
    EXPECT_NEAR(each.time, time_on(truth, gpu_bound_time(a100, *each.profile)), 1e-9);
    const bool known = table.contains(each.profile->name);
    EXPECT_EQ(each.basis, known ? TimeBasis::known : TimeBasis::between) << each.profile->name;
  }
  EXPECT_EQ(times->find("1g.5gb+me"), nullptr);
}

TEST(ProfileTimes, BelowTheSmallestKnownMemoryTheJobMayNotFit) {
  const GpuModel& a100 = model("A100-40GB");
  const auto times = complete_times({{"2g.10gb", 0.01}, {"3g.20gb", 0.015}}, a100);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->find("1g.5gb"), nullptr);
  ASSERT_NE(times->find("1g.10gb"), nullptr) << "as much memory, fewer processors";
  EXPECT_EQ(times->find("1g.10gb")->basis, TimeBasis::beyond);
  EXPECT_EQ(times->find("7g.40gb")->basis, TimeBasis::beyond);
  EXPECT_EQ(times->find("4g.20gb")->basis, TimeBasis::beyond);
}

TEST(ProfileTimes, TheErrorIsNotStatedOfAJobThatDoesNotFollowTheLaw) {
  const GpuModel& a100 = model("A100-40GB");
  const auto text_of = [&](double smallest) {
    const auto times = complete_times({{"1g.5gb", 1 / smallest}, {"7g.40gb", 1.0}}, a100);
    EXPECT_EQ(law_error(a100, TimeBasis::between, times->job.worst).has_value(),
              follows_law(times->job.worst));
    return law_error_text(a100, TimeBasis::between, times->job.worst);
  };
  EXPECT_EQ(text_of(3).substr(0, 12), "median error");
  EXPECT_EQ(text_of(310).substr(0, 24), "does not follow the law:");
  EXPECT_NE(text_of(1e300).find("by more than 1000 %"), std::string::npos) << text_of(1e300);
  EXPECT_FALSE(follows_law(std::nan("")));
}

TEST(ProfileTimes, OneProfileIsNotEnough) {
  const GpuModel& a100 = model("A100-40GB");
  const auto one = complete_times({{"7g.40gb", 0.01}}, a100);
  ASSERT_FALSE(one);
  EXPECT_NE(one.error().message.find("30 to 40 %"), std::string::npos);
  EXPECT_FALSE(one.error().remedy.empty());
  const auto of_one_size = complete_times({{"1g.5gb", 0.01}, {"1g.5gb+me", 0.01}}, a100);
  ASSERT_FALSE(of_one_size);
  const auto of_other_memory =
      complete_times({{"1g.5gb", 1 / 310.0}, {"1g.10gb", 1 / 300.0}}, a100);
  ASSERT_FALSE(of_other_memory) << "as many processors";
  EXPECT_NE(of_other_memory.error().message.find("of one size"), std::string::npos);
  EXPECT_NE(of_one_size.error().message.find("one size"), std::string::npos);
  const auto elsewhere = complete_times({{"1g.6gb", 0.01}, {"4g.24gb", 0.03}}, a100);
  ASSERT_FALSE(elsewhere);
  EXPECT_NE(elsewhere.error().message.find("none"), std::string::npos);
}

TEST(ProfileTimes, AnErrorIsStatedOnlyWhereThereAreMeasurements) {
  EXPECT_FALSE(law_error(model("A100-40GB"), TimeBasis::known, 0));
  EXPECT_GT(law_error(model("A100-40GB"), TimeBasis::beyond, 0)->median,
            law_error(model("A100-40GB"), TimeBasis::between, 0)->median);
  EXPECT_FALSE(law_error(model("H100-80GB-SXM5"), TimeBasis::between, 0));
  EXPECT_EQ(law_error_text(model("H100-80GB-SXM5"), TimeBasis::between, 0),
            "not tested on the H100-80GB-SXM5");
  EXPECT_EQ(law_error_text(model("A100-80GB"), TimeBasis::between, 0),
            "median error 3.8 %, 90 % within 11.7 %");
}

/// The stated errors are above what the law has on both sets: `h` is fitted to both, so this is no
/// evidence; `cleave reproduce physics` counts with each set left out.
TEST(ProfileTimes, TheStatedErrorHoldsOnWhatWasMeasured) {
  for (const MeasuredSet set : {MeasuredSet::miso, MeasuredSet::parvagpu}) {
    std::vector<double> errors;
    for (const MeasuredSpeed& job : measured_speeds(set)) {
      if (job.application == "deepspeech2" || job.speeds.size() < 3) continue;
      const GpuModel& gpu = model(job.reference);
      const auto slowest = std::ranges::min_element(job.speeds, {}, [&](const auto& each) {
        return gpu.find(each.first)->memory.value * 100 + gpu.find(each.first)->compute.value;
      });
      const auto times = complete_times(
          {{slowest->first, slowest->second}, {std::string(gpu.largest().name), 1}}, gpu);
      ASSERT_TRUE(times);
      for (const auto& [name, speed] : job.speeds)
        if (times->find(name)->basis == TimeBasis::between)
          errors.push_back(std::abs(1 / times->find(name)->time / speed - 1));
    }
    ASSERT_GT(errors.size(), 50U);
    std::ranges::sort(errors);
    const LawError stated = *law_error(model("A100-40GB"), TimeBasis::between, 0);
    EXPECT_LE(errors[errors.size() / 2], stated.median);
    EXPECT_LE(errors[errors.size() * 9 / 10], stated.p90);
  }
}

TEST(ProfileTimes, ScaleWithWhatIsKnown) {
  Random random(3);
  const GpuModel& a30 = model("A30-24GB");
  for (int round = 0; round < 2000; ++round) {
    const double large = 1 + 100 * random.uniform(), small = large * (1 + 3 * random.uniform());
    const double scale = std::exp(8 * random.uniform() - 4);
    const auto once = complete_times({{"1g.6gb", 1 / small}, {"4g.24gb", 1 / large}}, a30);
    const auto scaled =
        complete_times({{"1g.6gb", 1 / (scale * small)}, {"4g.24gb", 1 / (scale * large)}}, a30);
    ASSERT_TRUE(once && scaled);
    for (std::size_t i = 0; i < once->profiles.size(); ++i)
      EXPECT_NEAR(scaled->profiles[i].time / once->profiles[i].time / scale, 1, 1e-6);
  }
}

}  // namespace
}  // namespace cleave
