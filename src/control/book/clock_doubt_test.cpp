#include "control/book/clock_doubt.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

const Instant noon = Instant{} + 500'000h;

TEST(ClockDoubt, ThereIsNoneWhereTheStoreIsOfNowOrEmpty) {
  EXPECT_FALSE(doubt_at_start({}, noon, {}));
  EXPECT_FALSE(doubt_at_start(noon, noon + 1h, {}));
  EXPECT_FALSE(doubt_at_start(noon, noon - 1000h, {})) << "that forgets nothing";
  EXPECT_EQ(time_for_ages({}, noon), noon);
}

TEST(ClockDoubt, AfterALongPauseAgesGoOnFromTheStoresTimeForADay) {
  const Instant wall = noon + 720h;
  const auto doubt = doubt_at_start(noon, wall, {});
  ASSERT_TRUE(doubt);
  EXPECT_EQ(time_for_ages(doubt, wall), noon);
  EXPECT_EQ(time_for_ages(doubt, wall + 5h), noon + 5h);
  EXPECT_EQ(time_for_ages(doubt, wall + 24h), wall + 24h) << "nobody set it right: it is believed";
  EXPECT_EQ(time_for_ages(doubt, noon + 1h), noon + 1h) << "it was set right";
}

/// By then the store has times of the doubted clock.
TEST(ClockDoubt, ADaemonThatBeginsAgainGoesOnDoubting) {
  const Instant wall = noon + 720h;
  const auto doubt = doubt_at_start(noon, wall, {});
  EXPECT_EQ(doubt_at_start(wall + 2h, wall + 3h, doubt), doubt);
  EXPECT_FALSE(doubt_at_start(wall + 24h, wall + 25h, doubt));
  EXPECT_FALSE(doubt_at_start(wall + 2h, noon + 3h, doubt)) << "it was set right";
  const auto another = doubt_at_start(wall + 2h, wall + 100h, doubt);
  ASSERT_TRUE(another);
  EXPECT_EQ(another->believed, wall + 2h);
}

TEST(ClockDoubt, IsKeptAsText) {
  const ClockDoubt doubt{noon, noon + 7h};
  EXPECT_EQ(parse_clock_doubt(clock_doubt_text(doubt)), doubt);
  EXPECT_EQ(clock_doubt_text({}), "");
  for (const char* each : {"", "1", "1 x", "1 2 3"}) EXPECT_FALSE(parse_clock_doubt(each)) << each;
}

}  // namespace
}  // namespace cleave
