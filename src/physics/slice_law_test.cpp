// The law of slices against what was measured.

#include "physics/slice_law.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "physics/measured_speeds.hpp"

namespace cleave {
namespace {

TEST(SliceLaw, LargerIsNeverSlower) {
  for (const GpuModel& model : gpu_models()) {
    EXPECT_NEAR(gpu_bound_time(model, model.largest()), 1, 1e-12) << model.key;
    for (const Profile& one : model.profiles)
      for (const Profile& other : model.profiles)
        if (one.compute.value <= other.compute.value && one.memory.value <= other.memory.value &&
            one.sms.has_value() == other.sms.has_value() &&
            (!one.sms || one.sms->value <= other.sms->value)) {
          EXPECT_GE(gpu_bound_time(model, one), gpu_bound_time(model, other))
              << one.name << other.name;
        }
  }
}

TEST(SliceLaw, TheRuleGivesTheA30AsPublished) {
  const GpuModel& a30 = **find_gpu_model("A30-24GB");
  EXPECT_NEAR(gpu_bound_time(a30, *a30.find("1g.6gb")), 3.70, 0.01);
  EXPECT_NEAR(gpu_bound_time(a30, *a30.find("2g.12gb")), 1.92, 0.01);
}

struct Fit {
  std::string_view model;
  BatchLaw law;  // ms
};
constexpr Fit fits[] = {
    {"densenet121", {12.11, 0.21, 0.461, 0.038}}, {"inceptionv3", {9.09, 0.67, 0.230, 0.095}},
    {"resnet50", {4.67, 0.28, 0.369, 0.023}},     {"resnet152", {13.29, 0.71, 0.781, 0.001}},
    {"vgg16", {1.54, 0.58, 0.555, 0.047}},        {"vgg19", {1.85, 0.67, 0.645, 0.048}}};

TEST(SliceLaw, ExplainsMeasuredBatches) {
  const GpuModel& model = **find_gpu_model("A100-80GB");
  std::vector<double> errors;
  for (const Fit& fit : fits)
    for (const MeasuredSpeed& row : measured_speeds(MeasuredSet::parvagpu)) {
      if (row.application != fit.model) continue;
      for (const auto& [profile, speed] : row.speeds) {
        const double measured = in_seconds(row.latency) / speed;
        const double ours =
            batch_time(fit.law, row.batch, gpu_bound_time(model, *model.find(profile))) / 1000;
        errors.push_back(std::abs(ours / measured - 1));
      }
    }
  ASSERT_GT(errors.size(), 200U);
  std::ranges::sort(errors);
  EXPECT_LT(errors[errors.size() / 2], 0.05);
  EXPECT_LT(errors[errors.size() * 9 / 10], 0.12);
}

}  // namespace
}  // namespace cleave
