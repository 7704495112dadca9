#include "report/step_means.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace cleave::report {
namespace {

using std::chrono::seconds;

TEST(StepMeans, AreMeansOverPartsOfTheTime) {
  StepMeans steps(8);
  steps.add(seconds(0), seconds(2), 4);
  steps.add(seconds(1), seconds(2), 2);
  steps.add(seconds(3), seconds(3), 7);  // no time at all
  EXPECT_EQ(steps.means(seconds(1), seconds(3)), (std::vector<double>{4, 6, 0}));
  EXPECT_EQ(steps.means(seconds(2), seconds(3)), (std::vector<double>{5, 0}));
}

TEST(StepMeans, TheLastPartIsAMeanOverWhatThereIsOfIt) {
  StepMeans steps(8);
  steps.add(seconds(0), std::chrono::milliseconds(2500), 3);
  EXPECT_EQ(steps.means(seconds(1), std::chrono::milliseconds(2500)),
            (std::vector<double>{3, 3, 3}));
}

/// However long the run becomes and in whatever order it is told, nothing is lost.
TEST(StepMeans, KeepTheSumWhateverIsAdded) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    StepMeans steps(16);
    double sum = 0;
    Duration end{};
    for (int i = 0; i < 40; ++i) {
      const Duration begin(static_cast<std::int64_t>(random() % (1ULL << (20 + round % 30))));
      const Duration length(static_cast<std::int64_t>(random() % (1ULL << (20 + round % 30))));
      const auto value = static_cast<double>(random() % 10);
      steps.add(begin, begin + length, value);
      sum += in_seconds(length) * value;
      end = std::max(end, begin + length);
    }
    for (const Duration width : {steps.width(), 4 * steps.width()}) {
      const std::vector<double> means = steps.means(width, end);
      EXPECT_LE(means.size(), 17U);
      double of_means = 0;
      for (std::size_t i = 0; i < means.size(); ++i)
        of_means +=
            means[i] * in_seconds(std::min(width, end - width * static_cast<std::int64_t>(i)));
      EXPECT_NEAR(of_means, sum, 1e-9 * (1 + sum));
    }
  }
}

}  // namespace
}  // namespace cleave::report
