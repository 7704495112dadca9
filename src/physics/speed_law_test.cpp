// The law of two numbers: its properties, and that two public data sets predict each other.

#include "physics/speed_law.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "model/profile_set.hpp"
#include "model/speed_table.hpp"
#include "physics/measured_speeds.hpp"
#include "physics/models_by_key_test.hpp"
#include "physics/speed.hpp"

namespace cleave {
namespace {

KnownTime some_time(const SliceLaw& parts, double gpu_bound, double noise = 0) {
  return {gpu_bound, time_on(parts, gpu_bound) * std::exp(noise)};
}

TEST(SliceLawFit, TwoTimesGiveTheNumbersThatMadeThem) {
  Random random(1);
  for (int round = 0; round < 20000; ++round) {
    const SliceLaw parts{std::exp(6 * random.uniform() - 3), std::exp(6 * random.uniform() - 3)};
    const double large = 1 + 2 * random.uniform(), small = large * (1.2 + 3 * random.uniform());
    const KnownTime known[] = {some_time(parts, large), some_time(parts, small)};
    const auto job = fit_slice_law(known);
    ASSERT_TRUE(job);
    EXPECT_LT(job->worst, 1e-9);
    for (const double h : {1.0, 1.5, 4.0, 9.0}) {
      // Where one part hides the other, a large extrapolation magnifies rounding.
      EXPECT_NEAR(time_on(job->law, h) / time_on(parts, h), 1, 1e-6)
          << parts.fixed << " " << parts.bound << " " << large << " " << small;
    }
  }
}

TEST(SliceLawFit, AJobWithoutFloorFollowsTheSlicesExactly) {
  const GpuModel& a100 = model("A100-40GB");
  const Profile& small = *a100.find("1g.5gb");
  const KnownTime known[] = {{gpu_bound_time(a100, small), 0.25 * gpu_bound_time(a100, small)},
                             {1, 0.25}};
  const auto job = fit_slice_law(known);
  EXPECT_EQ(job->fit, FloorFit::no_floor);
  EXPECT_EQ(job->law.fixed, 0);
  for (const Profile& profile : a100.profiles)
    EXPECT_DOUBLE_EQ(time_on(job->law, gpu_bound_time(a100, profile)),
                     0.25 * gpu_bound_time(a100, profile));
}

TEST(SliceLawFit, AJobThatNoSliceSlowsIsAsFastEverywhere) {
  const KnownTime known[] = {{6.7, 3}, {1, 3}};
  const auto job = fit_slice_law(known);
  EXPECT_EQ(job->fit, FloorFit::no_bound);
  EXPECT_DOUBLE_EQ(time_on(job->law, 3.46), 3);
}

// Slower than GPU-bound work, or faster on the smaller one: the nearest that the law has.
TEST(SliceLawFit, TimesThatTheLawCannotHaveAreMetAtItsEdge) {
  const KnownTime slower[] = {{6.7, 9}, {1, 1}};
  const auto at_most = fit_slice_law(slower);
  EXPECT_EQ(at_most->fit, FloorFit::no_floor);
  EXPECT_NEAR(at_most->law.bound, std::sqrt(9 / 6.7), 1e-12);
  EXPECT_NEAR(at_most->worst, std::sqrt(9 / 6.7) - 1, 1e-12);
  const KnownTime faster[] = {{6.7, 1}, {1, 4}};
  const auto at_least = fit_slice_law(faster);
  EXPECT_EQ(at_least->fit, FloorFit::no_bound);
  EXPECT_NEAR(at_least->law.fixed, 2, 1e-12);
}

TEST(SliceLawFit, RefusesWhatSaysNothing) {
  EXPECT_FALSE(fit_slice_law({}));
  const KnownTime one[] = {{6.7, 1}};
  EXPECT_FALSE(fit_slice_law(one));
  const KnownTime same[] = {{6.7, 1}, {6.7, 2}};
  EXPECT_FALSE(fit_slice_law(same));
  const KnownTime zero[] = {{6.7, 0}, {1, 2}}, endless[] = {{6.7, 1}, {1, INFINITY}};
  EXPECT_FALSE(fit_slice_law(zero));
  EXPECT_FALSE(fit_slice_law(endless));
}

TEST(SliceLawFit, TimesInAnotherUnitGiveTimesInThatUnit) {
  Random random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<KnownTime> known, three;
    const SliceLaw parts{random.uniform(), random.uniform()};
    for (const double h : {6.7, 3.46, 2.1, 1.78, 1.0}) {
      if (random.below(4) == 0) continue;
      known.push_back(some_time(parts, h, 0.2 * random.uniform()));
      three.push_back({h, 3 * known.back().time});
    }
    const auto job = fit_slice_law(known), other = fit_slice_law(three);
    ASSERT_EQ(job.has_value(), other.has_value());
    if (job) {
      EXPECT_NEAR(time_on(other->law, 2.5) / time_on(job->law, 2.5), 3, 1e-6);
    }
  }
}

TEST(SliceLawFit, LargerIsNeverSlowerAndNeverFasterThanGpuBoundWork) {
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    std::vector<KnownTime> known;
    for (const double h : {6.7, 3.46, 2.1, 1.0}) known.push_back({h, 0.1 + random.uniform()});
    const auto job = fit_slice_law(known);
    ASSERT_TRUE(job);
    double before = time_on(job->law, 1);
    for (double h = 1.1; h < 7; h *= 1.1) {
      const double here = time_on(job->law, h);
      EXPECT_GE(here, before * (1 - 1e-12));
      EXPECT_LE(here, 1.1 * before * (1 + 1e-12));
      before = here;
    }
  }
}

// No pair of numbers near the fit, in all four directions, has smaller squares.
TEST(SliceLawFit, MoreThanTwoTimesAreMetAsWellAsCanBe) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    const SliceLaw parts{random.uniform(), random.uniform()};
    std::vector<KnownTime> known;
    for (const double h : {6.7, 3.46, 2.1, 1.0})
      known.push_back(some_time(parts, h, 0.1 * random.uniform()));
    const auto squares = [&](const SliceLaw& at) {
      double sum = 0;
      for (const KnownTime& each : known)
        sum += std::pow(std::log(time_on(at, each.gpu_bound) / each.time), 2);
      return sum;
    };
    const auto job = fit_slice_law(known);
    const double best = squares(job->law);
    for (const double f : {0.999, 1.0, 1.001})
      for (const double b : {0.999, 1.0, 1.001})
        EXPECT_GE(squares({f * job->law.fixed, b * job->law.bound}), best - 1e-12);
  }
}

TEST(CompletedSpeed, KeepsWhatIsListedAndFillsInTheRest) {
  const GpuModel& a100 = model("A100-40GB");
  SpeedModel job;
  job.table = SpeedTable{{"2g.10gb", 0.4}, {"7g.40gb", 1}};
  EXPECT_FALSE(speed_on(job, a100, *a100.find("3g.20gb"))) << "absent profiles do not fit";
  job.complete = true;
  EXPECT_EQ(speed_on(job, a100, *a100.find("2g.10gb"))->relative, 0.4);
  EXPECT_EQ(speed_on(job, a100, *a100.find("7g.40gb"))->relative, 1);
  const double on_3g = speed_on(job, a100, *a100.find("3g.20gb"))->relative;
  const double on_4g = speed_on(job, a100, *a100.find("4g.20gb"))->relative;
  EXPECT_LT(0.4, on_3g);
  EXPECT_LT(on_3g, on_4g);
  EXPECT_LT(on_4g, 1);
  EXPECT_FALSE(speed_on(job, a100, *a100.find("1g.5gb"))) << "less memory was not tried";
  EXPECT_TRUE(speed_on(job, a100, *a100.find("1g.10gb"))) << "it has the memory of the 2g";
  EXPECT_FALSE(speed_on(job, model("A30-24GB"), *model("A30-24GB").find("2g.12gb")))
      << "none of its profiles is listed";
  EXPECT_EQ(speed_on_whole_gpu(job, a100)->relative, 1);
}

TEST(CompletedSpeed, OneProfileIsNotEnough) {
  const GpuModel& a100 = model("A100-40GB");
  SpeedModel job;
  job.complete = true;
  job.table = SpeedTable{{"7g.40gb", 1}};
  EXPECT_FALSE(speed_on(job, a100, *a100.find("3g.20gb")));
  EXPECT_TRUE(speed_on(job, a100, *a100.find("7g.40gb")));
  job.table = SpeedTable{{"7g.40gb", 1}, {"A30-24GB:1g.6gb", 0.3}};
  EXPECT_FALSE(speed_on(job, a100, *a100.find("3g.20gb"))) << "of two models, one each";
}

TEST(CompletedSpeed, ProfilesOfATableAreThoseWithASpeed) {
  SpeedModel job;
  job.table = SpeedTable{{"1g.5gb", 0.2}, {"A100-40GB:7g.40gb", 1}, {"none", 1.1}};
  for (const bool complete : {false, true}) {
    job.complete = complete;
    const std::vector<std::string> names = profiles_of(*job.table, complete);
    for (const GpuModel& gpu : gpu_models())
      for (const Profile& profile : gpu.profiles) {
        const bool named = std::ranges::any_of(
            names, [&](const std::string& name) { return means_profile(name, gpu, profile); });
        EXPECT_EQ(named, speed_on(job, gpu, profile).has_value()) << gpu.key << profile.name;
      }
  }
}

TEST(SliceLawSpeed, FollowsTheLawOnEveryModel) {
  SpeedModel job;
  job.law = SliceLaw{0, 2};
  const GpuModel& a100 = model("A100-40GB");
  job.reference = &a100;
  for (const Profile& profile : a100.profiles)
    EXPECT_DOUBLE_EQ(speed_on(job, a100, profile)->relative, 1 / gpu_bound_time(a100, profile));
  EXPECT_DOUBLE_EQ(speed_on_whole_gpu(job, a100)->relative, 1);
  const GpuModel& a30 = model("A30-24GB");
  EXPECT_NEAR(speed_on(job, a30, a30.largest())->relative, 56.0 / 98, 1e-12);
  job.law = SliceLaw{2, 0};
  EXPECT_DOUBLE_EQ(speed_on(job, a30, *a30.find("1g.6gb"))->relative, 1);
}

// What the simulator makes of the parts, alone on the GPU, is the speed.
TEST(SliceLawSpeed, PartsAddUpToTheSpeed) {
  Random random(6);
  for (int round = 0; round < 2000; ++round) {
    SpeedModel job;
    job.law = SliceLaw{random.uniform(), random.uniform(), 1 + 4 * random.uniform()};
    job.transfer_share = random.below(2) == 0 ? 0 : random.uniform();
    job.reference = &model("A100-40GB");
    const GpuModel& gpu = gpu_models()[random.below(gpu_models().size())];
    for (const Profile& profile : gpu.profiles) {
      const auto parts = parts_on(job, gpu, &profile);
      ASSERT_TRUE(parts);
      const Pace pace = pace_alone({}, {*parts, 1, 1});
      EXPECT_NEAR(pace.speed / speed_on(job, gpu, profile)->relative, 1, 1e-9);
    }
  }
}

/// Times by size 1g, 2g, 3g, 4g, 7g; 0 where the job did not run.
std::vector<std::vector<double>> times_of(MeasuredSet set) {
  std::vector<std::vector<double>> jobs;
  for (const MeasuredSpeed& row : measured_speeds(set)) {
    if (row.application == "deepspeech2") continue;
    std::vector<double> times(5, 0);
    for (const auto& [profile, speed] : row.speeds) {
      const int slices = model(row.reference).find(profile)->compute.value;
      times[slices == 7 ? 4 : static_cast<std::size_t>(slices - 1)] = 1 / speed;
    }
    if (std::ranges::count_if(times, [](double each) { return each > 0; }) > 1)
      jobs.push_back(std::move(times));
  }
  return jobs;
}

/// The smallest and the whole GPU known, with h from elsewhere: median and 90th percentile.
std::pair<double, double> errors(const std::vector<std::vector<double>>& jobs,
                                 const std::vector<double>& h) {
  std::vector<double> all;
  for (const std::vector<double>& times : jobs) {
    std::size_t first = 0;
    while (times[first] == 0) ++first;
    if (std::ranges::count(times, 0.0) > 1) continue;
    const KnownTime known[] = {{h[first], times[first]}, {1, times[4]}};
    const auto job = fit_slice_law(known);
    for (std::size_t size = first + 1; size < 4; ++size)
      if (times[size] > 0) all.push_back(std::abs(times[size] / time_on(job->law, h[size]) - 1));
  }
  EXPECT_GT(all.size(), 60U);
  std::ranges::sort(all);
  return {all[all.size() / 2], all[all.size() * 9 / 10]};
}

// The figures that are in the tree are enough for this much; `cleave reproduce physics` does it on
// the times themselves.
TEST(SliceTimes, TheTwoDataSetsPredictEachOther) {
  const auto training = times_of(MeasuredSet::miso), inference = times_of(MeasuredSet::parvagpu);
  const auto of_training = fit_slice_times(training, {}, 6.7);
  const auto of_inference = fit_slice_times(inference, {}, 6.7);
  const auto [v1_median, v1_p90] = errors(training, of_inference);
  EXPECT_LE(v1_median, 0.045);
  EXPECT_LE(v1_p90, 0.09);
  const auto [v2_median, v2_p90] = errors(inference, of_training);
  EXPECT_LE(v2_median, 0.04);
  EXPECT_LE(v2_p90, 0.13);
  const GpuModel& a100 = model("A100-40GB");
  const char* names[] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
  for (std::size_t size = 0; size < 5; ++size) {
    const double shipped = gpu_bound_time(a100, *a100.find(names[size]));
    EXPECT_LE(std::min(of_training[size], of_inference[size]), shipped) << names[size];
    EXPECT_GE(std::max(of_training[size], of_inference[size]), shipped) << names[size];
  }
}

TEST(SliceTimes, TheirScaleChangesNoPrediction) {
  const auto training = times_of(MeasuredSet::miso);
  const auto h = fit_slice_times(training, {}, 6.7), larger = fit_slice_times(training, {}, 8);
  const auto [median, p90] = errors(times_of(MeasuredSet::parvagpu), h);
  const auto [other_median, other_p90] = errors(times_of(MeasuredSet::parvagpu), larger);
  EXPECT_NEAR(median, other_median, 1e-4);
  EXPECT_NEAR(p90, other_p90, 1e-4);
}

TEST(SliceTimes, NothingComesOfNothing) {
  EXPECT_TRUE(fit_slice_times({}, {}, 6.7).empty());
}

}  // namespace
}  // namespace cleave
