// The law of batches and processes: its properties, and that it explains what was measured.

#include "physics/batch_law.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "physics/measured_speeds.hpp"
#include "physics/slice_law.hpp"

namespace cleave {
namespace {

const std::vector<double> h = {6.71, 3.38, 2.05, 1.69, 1};

BatchLaw some_law(Random& random) {
  return {1 + 20 * random.uniform(), 0.1 + random.uniform(), 0.1 + random.uniform(),
          0.1 * random.uniform()};
}

std::vector<MeasuredBatch> rows_of(const BatchLaw& law, const BatchConstants& constants,
                                   std::size_t application, int most_processes) {
  std::vector<MeasuredBatch> rows;
  for (std::size_t size = 0; size < h.size(); ++size)
    for (double batch = 1; batch <= 256; batch *= 4)
      for (int n = 1; n <= most_processes; ++n)
        rows.push_back(
            {application, size, batch, n, batch_time(law, batch, h[size], n, constants)});
  return rows;
}

TEST(BatchLaw, WithoutFixedPartTimesFollowTheSlices) {
  const BatchLaw law{0, 0.5, 0.25, 0};
  for (const double each : h) EXPECT_DOUBLE_EQ(batch_time(law, 8, each), 2.5 * each);
}

TEST(BatchLaw, EachFurtherProcessSlowsAllOfThemButAtMostByItsWork) {
  Random random(1);
  for (int round = 0; round < 5000; ++round) {
    const BatchLaw law = some_law(random);
    const double batch = 1 + static_cast<double>(random.below(256));
    const double each = h[random.below(h.size())];
    double before = 0;
    for (int n = 1; n <= 5; ++n) {
      const double time = batch_time(law, batch, each, n);
      EXPECT_GT(time, before) << "another process slows all of them";
      EXPECT_LE(time, n * batch_time(law, batch, each) * 1.05) << "but hides in the fixed parts";
      EXPECT_LE(batch_busy(law, batch, each, n), 1);
      EXPECT_GE(batch_busy(law, batch, each, n), 0);
      before = time;
    }
    EXPECT_LT(batch_time(law, batch, each), batch_time(law, batch + 1, each));
    EXPECT_LE(batch_time(law, batch, 1), batch_time(law, batch, each));
  }
}

TEST(BatchLaw, SaturatedProcessesShareAndLaunchBoundOnesDoNotDisturb) {
  const BatchLaw saturated{0.01, 0, 1, 0}, launches{10, 0, 0.001, 0};
  EXPECT_NEAR(batch_time(saturated, 64, 6.71, 5) / batch_time(saturated, 64, 6.71), 5, 0.2);
  EXPECT_NEAR(batch_time(launches, 1, 6.71, 5) / batch_time(launches, 1, 6.71), 1.07, 0.01);
  EXPECT_NEAR(batch_busy(saturated, 64, 6.71), 1, 1e-6);
  EXPECT_LT(batch_busy(launches, 1, 6.71), 0.001);
}

TEST(BatchLawFit, FindsWhatMadeTheRows) {
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    const BatchLaw law = some_law(random);
    const auto rows = rows_of(law, batch_constants, 0, 1);
    const auto fit = fit_batch_law(rows, h, batch_constants);
    ASSERT_TRUE(fit);
    for (const MeasuredBatch& row : rows)
      EXPECT_NEAR(batch_time(*fit, row.batch, h[row.size]) / row.time, 1, 1e-3);
  }
}

TEST(BatchLawFit, FindsTheConstantsFromAfar) {
  Random random(3);
  const BatchConstants truth{5, 0.03, 0.1};
  std::vector<MeasuredBatch> rows;
  for (std::size_t application = 0; application < 6; ++application)
    for (const MeasuredBatch& row : rows_of(some_law(random), truth, application, 3))
      rows.push_back(row);
  const auto fit = fit_batch_laws(rows, {{3, 0, 0}, {7, 3.5, 2.3, 1.75, 1}, {}}, true);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->constants.overlap, truth.overlap, 0.05);
  EXPECT_NEAR(fit->constants.floor_growth, truth.floor_growth, 1e-3);
  EXPECT_NEAR(fit->constants.work_growth, truth.work_growth, 1e-3);
  for (std::size_t size = 0; size < h.size(); ++size)
    EXPECT_NEAR(fit->gpu_bound[size] / h[size], 1, 1e-2);
  EXPECT_EQ(fit->applications.size(), 6U);
}

TEST(BatchLawFit, OneApplicationInAnotherUnitChangesOnlyItsOwnCosts) {
  Random random(4);
  std::vector<MeasuredBatch> rows;
  for (std::size_t application = 0; application < 3; ++application)
    for (MeasuredBatch row : rows_of(some_law(random), batch_constants, application, 2)) {
      row.time *= std::exp(0.1 * random.uniform());
      rows.push_back(row);
    }
  const BatchLaws start{batch_constants, h, {}};
  const auto before = fit_batch_laws(rows, start, true);
  for (MeasuredBatch& row : rows)
    if (row.application == 1) row.time *= 3;
  const auto after = fit_batch_laws(rows, start, true);
  EXPECT_NEAR(after->constants.overlap, before->constants.overlap, 1e-6);
  for (const MeasuredBatch& row : rows) {
    const auto time = [&](const BatchLaws& laws) {
      return batch_time(laws.applications[row.application], row.batch, laws.gpu_bound[row.size],
                        row.processes, laws.constants);
    };
    EXPECT_NEAR(time(*after) / time(*before), row.application == 1 ? 3 : 1, 1e-6);
  }
}

TEST(BatchLawFit, RefusesWhatWasNotMeasured) {
  EXPECT_FALSE(fit_batch_law({}, h, batch_constants));
  const MeasuredBatch zero[] = {{0, 0, 1, 1, 0}}, nowhere[] = {{0, 9, 1, 1, 1}};
  EXPECT_FALSE(fit_batch_law(zero, h, batch_constants));
  EXPECT_FALSE(fit_batch_law(nowhere, h, batch_constants));
}

/// Fitted to all rows of each model.
struct FittedRow {
  std::string_view model;
  BatchLaw law;  // ms
};
constexpr FittedRow fits[] = {
    {"densenet121", {12.11, 0.21, 0.461, 0.038}}, {"inceptionv3", {9.09, 0.67, 0.230, 0.095}},
    {"resnet50", {4.67, 0.28, 0.369, 0.023}},     {"resnet152", {13.29, 0.71, 0.781, 0.001}},
    {"vgg16", {1.54, 0.58, 0.555, 0.047}},        {"vgg19", {1.85, 0.67, 0.645, 0.048}}};

TEST(BatchLaw, ExplainsMeasuredBatches) {
  const GpuModel& model = **find_gpu_model("A100-80GB");
  std::vector<double> errors;
  for (const FittedRow& fit : fits)
    for (const MeasuredSpeed& row : measured_speeds(MeasuredSet::parvagpu)) {
      if (row.application != fit.model) continue;
      for (const auto& [profile, speed] : row.speeds) {
        const double measured = in_seconds(row.latency) / speed;
        const double ours =
            batch_time(fit.law, row.batch, gpu_bound_batch_time(model, *model.find(profile))) /
            1000;
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
