// The laws against the public measurements, where those are at hand, and the command's parts on
// data that were made by the laws themselves.

#include "study/reproduce/reproduce_physics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"
#include "physics/batch_law.hpp"
#include "physics/reconfiguration.hpp"
#include "physics/slice_law.hpp"
#include "physics/speed_law.hpp"

namespace cleave {
namespace {

const GpuModel& a100() {
  return **find_gpu_model("A100-80GB");
}

double noise(Random& random) {
  return std::exp(0.04 * (random.uniform() - 0.5));
}

std::string training_csv(Random& random) {
  std::string text = "model,batch_size,profile,n_batches,median_s\n";
  constexpr const char* names[] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
  for (const char* model : {"alpha", "beta", "gamma", "deepspeech2"})
    for (const int batch : {8, 16, 32}) {
      const SliceLaw parts{random.uniform(), random.uniform() * batch / 8};
      for (std::size_t size = 0; size < a100_sizes; ++size)
        text += fmt::format(
            "{},{},{},100,{}\n", model, batch, names[size],
            noise(random) * time_on(parts, gpu_bound_time(a100(), a100_profile(a100(), size))));
    }
  return text;
}

std::string inference_csv(Random& random) {
  std::string text = "model,mig_gpcs,batch_size,mps_processes,throughput_rps_per_process\n";
  for (const char* model : {"one", "two", "three"}) {
    const BatchLaw law{0.01 * (1 + random.uniform()), 1e-4, 4e-4 * (1 + random.uniform()), 1e-5};
    const double base = 500 * random.uniform(), per_sample = 100 + 200 * random.uniform();
    for (std::size_t size = 0; size < a100_sizes; ++size)
      for (int batch = 1; batch <= 128; batch *= 2)
        for (int n = 1; n <= 5; ++n) {
          const Profile& profile = a100_profile(a100(), size);
          const double time =
              noise(random) *
              batch_time(law, batch, gpu_bound_batch_time(a100(), profile), n, batch_constants);
          const bool fits =
              n * (base + per_sample * batch) <= static_cast<double>(profile.usable->value);
          text += fmt::format("{},{},{},{},{}\n", model, a100_compute[size], batch, n,
                              fits ? batch / time : 0);
        }
  }
  return text;
}

std::string layouts_csv() {
  std::string text = "op,instances,layout,median_s\n";
  for (const char* layout :
       {"7g.40gb", "3g.20gb+3g.20gb", "4g.20gb+2g.10gb+1g.5gb", "3g.20gb+1g.5gb+1g.5gb",
        "2g.10gb+2g.10gb+1g.5gb+1g.5gb", "1g.5gb+1g.5gb+1g.5gb+1g.5gb+1g.5gb"})
    for (const char* op : {"create", "destroy_all"}) {
      const std::vector<std::string_view> profiles = split(layout, '+');
      const int n = static_cast<int>(profiles.size());
      int slices = 0;
      for (const std::string_view profile : profiles)
        slices += profile[0] == '7' ? 8 : profile[0] >= '3' ? 4 : profile[0] - '0';
      const ReconfigurationLaw& law = std::string_view(op) == "create" ? create_law : destroy_law;
      text += fmt::format("{},{},{},{}\n", op, n, layout,
                          (n == 1 ? 51.8 : reconfiguration_ms(law, n, slices)) / 1000);
    }
  return text;
}

/// A folder of data that the laws made, with a little noise.
class MadeUp {
 public:
  MadeUp() {
    Random random(7);
    write("mig-miso-a100-40gb/training_batch_time.csv", training_csv(random));
    write("mig-parvagpu-a100-80gb/inference_profiles.csv", inference_csv(random));
    write("mig-reconfig-a100-40gb/gi_create_destroy.csv", layouts_csv());
    write("mig-reconfig-a100-40gb/stream_bandwidth.csv",
          "setting,kernel,median_s\n1g isolated,copy,0.0123\n1g+2g+4g (1g),copy,0.01231\n"
          "1c isolated,copy,0.005\n1c+3c (1c),copy,0.009\n");
    write("mig-reconfig-a100-40gb/resnet50_corun_per_layout.csv",
          "layout,instance_profile,median_s\n1g.5gb,1g.5gb,0.016\n1g.5gb+1g.5gb,1g.5gb,0.0161\n");
  }
  void write(const std::string& name, const std::string& content) const {
    const std::filesystem::path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  [[nodiscard]] std::string path() const { return folder_.path().string(); }

 private:
  TemporaryFolder folder_;
};

TEST(ReproducePhysics, LawsAreFoundInDataThatTheyMade) {
  const MadeUp folder;
  const auto data = read_physics_data(folder.path());
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_EQ(data->miso.rows.size(), 9U) << "deepspeech2 is left out";
  const PhysicsReport report = reproduce_physics(*data, 1);
  ASSERT_EQ(report.checks.size(), 12U);
  for (const PhysicsCheck& check : report.checks) {
    EXPECT_TRUE(check.met()) << check.id << ": " << check.what << check.missing;
    if (!check.scores.empty()) {
      EXPECT_GT(check.scores.front().count(), 0U) << check.what;
    }
  }
  EXPECT_TRUE(report.all_met());
  EXPECT_EQ(report.checks[0].scores[0].count(), 27U) << "nine jobs, three profiles each";
  EXPECT_EQ(report.checks[6].fits[0].cases, 360U);
}

TEST(ReproducePhysics, WhatIsNotThereIsSkippedWithItsReason) {
  const MadeUp folder;
  std::filesystem::remove_all(folder.path() + "/mig-miso-a100-40gb");
  std::filesystem::remove_all(folder.path() + "/mig-reconfig-a100-40gb");
  const auto data = read_physics_data(folder.path());
  ASSERT_TRUE(data) << data.error().text();
  const PhysicsReport report = reproduce_physics(*data, 1);
  for (const PhysicsCheck& check : report.checks) {
    const bool there = check.id == "V4" || check.id == "V5" || check.id == "V6" || check.id == "V9";
    EXPECT_EQ(check.scored(), there) << check.id;
    EXPECT_EQ(check.missing.empty(), there) << check.id;
  }
  EXPECT_EQ(report.checks[0].missing,
            "mig-miso-a100-40gb/training_batch_time.csv is not in the folder; each data set's "
            "constants come from the other");
  EXPECT_TRUE(report.all_met()) << "nothing that was scored is missed";
}

TEST(ReproducePhysics, BrokenDataAreRefusedWithTheirPlace) {
  const MadeUp folder;
  const auto error = [&](const std::string& name, const std::string& content) {
    folder.write(name, content);
    const auto data = read_physics_data(folder.path());
    return data ? "none" : data.error().text().substr(folder.path().size() + 1);
  };
  const std::string miso = "mig-miso-a100-40gb/training_batch_time.csv";
  EXPECT_EQ(error(miso, "model,batch_size,profile\n"),
            miso +
                ":1: the column 'median_s' is missing; its columns are: model, batch_size, "
                "profile");
  EXPECT_EQ(error(miso, "model,batch_size,profile,median_s\na,1,9g.1gb,1\n"),
            miso + ":2: '9g.1gb' is not a profile of an A100, as profile must be");
  EXPECT_EQ(error(miso, "model,batch_size,profile,median_s\na,1,7g.40gb,0\n"),
            miso + ":2: '0' is not a number above zero, as median_s must be");
  EXPECT_EQ(error(miso, "model,batch_size,profile,median_s\na,x,7g.40gb,1\n"),
            miso + ":2: 'x' is not a whole number from 1, as batch_size must be");
  EXPECT_FALSE(read_physics_data(folder.path() + "/nowhere"));
}

TEST(ReproducePhysics, ScoresCountAsTheySay) {
  std::vector<Prediction> predictions;
  for (int i = 1; i <= 10; ++i) predictions.push_back({"", 1, 1 + 0.02 * i});
  const Score score = score_of("", predictions);
  EXPECT_NEAR(score.median, 0.11, 1e-12);
  EXPECT_NEAR(score.p90, 0.18, 1e-12);
  EXPECT_NEAR(score.worst, 0.2, 1e-12);
  EXPECT_NEAR(score.within_tenth, 0.4, 0.1001) << "0.1 itself is rounding";
  EXPECT_EQ(score_of("", {}).count(), 0U);
}

// The requirements, on the public data. Numbers of predictions are fixed, so that no row is lost.
class PublicData : public testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = source_dir() + "/../shared/data";
    if (!std::filesystem::exists(folder + "/mig-parvagpu-a100-80gb")) {
      GTEST_SKIP() << "the public measurements are not beside this source tree";
    }
    auto data = read_physics_data(folder);
    ASSERT_TRUE(data) << data.error().text();
    data_ = std::move(*data);
  }
  /// With seed 1; made once, since it takes seconds.
  [[nodiscard]] const PhysicsReport& report() const {
    static const PhysicsReport once = reproduce_physics(data_, 1);
    return once;
  }
  PhysicsData data_;
};

TEST_F(PublicData, EveryTargetIsMetOnEveryRow) {
  const PhysicsReport& all = report();
  const std::size_t counts[] = {66, 223, 36, 134, 354, 1327, 1485, 17, 17, 16, 49, 200};
  ASSERT_EQ(all.checks.size(), std::size(counts));
  for (std::size_t i = 0; i < all.checks.size(); ++i) {
    const PhysicsCheck& check = all.checks[i];
    EXPECT_TRUE(check.met()) << check.id << ": " << check.what << check.missing;
    EXPECT_EQ(check.fits.empty() ? check.scores[0].count() : check.fits[0].cases, counts[i])
        << check.id << ": " << check.what;
  }
  // The lazy alternatives are worse wherever the page says so.
  for (const std::size_t i : {0U, 1U, 4U, 5U, 7U, 8U})
    for (const Score& other : all.checks[i].scores)
      if (!other.method.starts_with("p-norm")) {
        EXPECT_GE(other.p90, all.checks[i].scores[0].p90) << all.checks[i].id << other.method;
      }
}

TEST_F(PublicData, WhatShipsIsInsideTheSpreadOfTheHeldOutFits) {
  EXPECT_EQ(report().constants.size(), 16U);
  for (const PhysicsConstant& each : report().constants) {
    EXPECT_TRUE(each.inside()) << each.law << " " << each.name << ": " << each.shipped
                               << " is not in " << each.least << " to " << each.most;
    EXPECT_LE(each.least, each.fitted) << each.law << " " << each.name;
    EXPECT_GE(each.most, each.fitted) << each.law << " " << each.name;
  }
}

TEST_F(PublicData, RowsTimesThreeGivePredictionsTimesThree) {
  EXPECT_EQ(report().refits.size(), 4U);
  for (const PhysicsRefit& each : report().refits) {
    EXPECT_LT(each.times_three, 1e-6) << each.check << " " << each.model;
    EXPECT_LT(each.others, 1e-6) << each.check << " " << each.model;
    EXPECT_GT(each.shuffled, each.median) << each.check << " " << each.model;
  }
}

// A choice that nobody tuned for: between the known profiles the law holds whichever they are.
TEST_F(PublicData, AHiddenChoiceOfProfilesIsPredictedAsWell) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    const JobStudy study = study_jobs(data_, seed);
    const std::vector<Score>& scores = study.hidden.scores;
    ASSERT_EQ(scores.size(), 12U);
    for (const std::size_t first : {0U, 6U}) {
      EXPECT_LT(scores[first].median, 0.06) << seed << scores[first].method;
      EXPECT_LT(scores[first].p90, 0.17) << seed << scores[first].method;
    }
  }
}

}  // namespace
}  // namespace cleave
