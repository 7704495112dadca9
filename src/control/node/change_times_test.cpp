#include "control/node/change_times.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using std::chrono::milliseconds;

TEST(ChangeTimes, HaveTheMedianOfWhatWasSeenHere) {
  ChangeTimes times;
  EXPECT_FALSE(times.factor(InstanceChange::create));
  times.hear(InstanceChange::create, milliseconds(100), milliseconds(50));
  times.hear(InstanceChange::create, milliseconds(100), milliseconds(200));
  times.hear(InstanceChange::create, milliseconds(200), milliseconds(160));
  EXPECT_EQ(times.count(InstanceChange::create), 3U);
  EXPECT_DOUBLE_EQ(times.factor(InstanceChange::create).value(), 0.8);
  EXPECT_FALSE(times.factor(InstanceChange::destroy)) << "each has its own";
}

TEST(ChangeTimes, LeaveOutWhatWasNotMeasured) {
  ChangeTimes times;
  times.hear(InstanceChange::destroy, milliseconds(100), milliseconds(0));
  times.hear(InstanceChange::destroy, milliseconds(0), milliseconds(100));
  EXPECT_EQ(times.count(InstanceChange::destroy), 0U);
}

TEST(ChangeTimes, FollowADriverThatHasChanged) {
  ChangeTimes times;
  for (std::size_t i = 0; i < 10 * ChangeTimes::most; ++i)
    times.hear(InstanceChange::create, milliseconds(100), milliseconds(300));
  for (std::size_t i = 0; i < ChangeTimes::most; ++i)
    times.hear(InstanceChange::create, milliseconds(100), milliseconds(50));
  EXPECT_EQ(times.count(InstanceChange::create), ChangeTimes::most);
  EXPECT_DOUBLE_EQ(times.factor(InstanceChange::create).value(), 0.5);
}

}  // namespace
}  // namespace cleave
