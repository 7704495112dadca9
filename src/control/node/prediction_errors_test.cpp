// How far predictions were off, for all and for each user.

#include "control/node/prediction_errors.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

AttemptRecord attempt(Duration predicted, Duration lasted, TimeSource by) {
  AttemptRecord record;
  record.predicted = predicted;
  record.predicted_by = by;
  record.lasted = lasted;
  return record;
}

TEST(PredictionErrors, AreRelativeToWhatWasSeen) {
  EXPECT_NEAR(score_of(1, attempt(90s, 100s, TimeSource::measured))->error, 0.1, 1e-12);
  EXPECT_NEAR(score_of(1, attempt(300s, 100s, TimeSource::guess))->error, 2, 1e-12);
  EXPECT_FALSE(score_of(1, AttemptRecord{})) << "nothing was predicted";
  EXPECT_FALSE(score_of(1, attempt(90s, 0s, TimeSource::guess))) << "nothing was seen";
}

TEST(PredictionErrors, AreSummedUpBySourceAndUser) {
  std::deque<ScoredPrediction> scores;
  EXPECT_TRUE(errors_of(scores, std::nullopt).empty());
  for (int i = 1; i <= 3; ++i) add_score(scores, {1, TimeSource::measured, 0.1 * i});
  add_score(scores, {2, TimeSource::guess, 0.9});
  const auto all = errors_of(scores, std::nullopt);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(all[0].source);
  EXPECT_EQ(all[0].count, 4U);
  EXPECT_EQ(all[1].source, TimeSource::measured) << "the better known first";
  EXPECT_EQ(all[1].count, 3U);
  EXPECT_NEAR(all[1].median, 0.2, 1e-12);
  EXPECT_EQ(all[2].source, TimeSource::guess);
  const auto of_one = errors_of(scores, 2U);
  ASSERT_EQ(of_one.size(), 2U);
  EXPECT_EQ(of_one[0].count, 1U) << "nothing of the other user's";
  EXPECT_TRUE(errors_of(scores, 3U).empty());
}

TEST(PredictionErrors, TheLatestAreKept) {
  std::deque<ScoredPrediction> scores;
  for (std::size_t i = 0; i < most_scored + 5; ++i)
    add_score(scores, {1, TimeSource::guess, static_cast<double>(i)});
  EXPECT_EQ(scores.size(), most_scored);
  EXPECT_EQ(scores.front().error, 5);
}

}  // namespace
}  // namespace cleave
