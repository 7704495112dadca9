// The times of slices: their order, and the rule for GPUs without measurements.

#include "physics/slice_law.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(SliceLaw, LargerIsNeverSlower) {
  for (const GpuModel& model : gpu_models()) {
    EXPECT_NEAR(gpu_bound_time(model, model.largest()), 1, 1e-12) << model.key;
    EXPECT_NEAR(gpu_bound_batch_time(model, model.largest()), 1, 1e-12) << model.key;
    for (const Profile& one : model.profiles)
      for (const Profile& other : model.profiles)
        if (one.compute.value <= other.compute.value && one.memory.value <= other.memory.value &&
            one.sms.has_value() == other.sms.has_value() &&
            (!one.sms || one.sms->value <= other.sms->value)) {
          EXPECT_GE(gpu_bound_time(model, one), gpu_bound_time(model, other))
              << one.name << other.name;
          EXPECT_GE(gpu_bound_batch_time(model, one), gpu_bound_batch_time(model, other))
              << one.name << other.name;
        }
  }
}

TEST(SliceLaw, TheRuleGivesTheA30AsPublished) {
  const GpuModel& a30 = **find_gpu_model("A30-24GB");
  EXPECT_NEAR(gpu_bound_time(a30, *a30.find("1g.6gb")), 3.70, 0.01);
  EXPECT_NEAR(gpu_bound_time(a30, *a30.find("2g.12gb")), 1.92, 0.01);
}

}  // namespace
}  // namespace cleave
