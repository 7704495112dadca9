// What work on a job weighs among others.

#include "engine/adaptive/work_ranks.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cleave {
namespace {

TEST(WorkRanks, WithoutOthersOnlyTheRestCounts) {
  WorkRanks ranks;
  EXPECT_DOUBLE_EQ(ranks.weight(100), 0.1);
  ranks.set({100}, 1);
  EXPECT_DOUBLE_EQ(ranks.weight(100), 0.1);
  // As many jobs as GPUs: none is in the way of another.
  ranks.set({400, 100, 25}, 3);
  EXPECT_DOUBLE_EQ(ranks.weight(25) / ranks.weight(400), 4);
}

TEST(WorkRanks, AJobWeighsMoreTheMoreOthersWaitBehindIt) {
  WorkRanks few, many;
  few.set({100, 200}, 1);
  many.set({100, 200, 300, 400, 500, 600, 700, 800}, 1);
  EXPECT_GT(many.weight(100), few.weight(100));
  EXPECT_DOUBLE_EQ(many.weight(800), few.weight(200) / 2);  // none behind either
  for (double rest = 50; rest < 1000; rest += 50)
    EXPECT_GT(many.weight(rest), many.weight(rest + 50)) << rest;
}

TEST(WorkRanks, IsTheMeanOfBothAnswers) {
  WorkRanks ranks;
  ranks.set({16, 16, 64, 64, 64}, 1);
  const double by_rank = std::sqrt(5.0 * 5 - 4.0 * 4), by_rest = 1 / 16.0;
  EXPECT_DOUBLE_EQ(ranks.weight(16), std::sqrt(by_rank * by_rest));
}

}  // namespace
}  // namespace cleave
