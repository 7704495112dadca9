#include "control/clock.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(Clock, TellsHowFarTheWallClockWasSet) {
  Clock clock({10s, Instant{} + 1000s});
  EXPECT_EQ(clock.advance({15s, Instant{} + 1005s}), 0s);
  EXPECT_EQ(clock.advance({20s, Instant{} + 1110s}), 100s);
  EXPECT_EQ(clock.advance({21s, Instant{} + 1111s}), 0s) << "since the last call";
  EXPECT_EQ(clock.advance({22s, Instant{} + 1012s}), -100s);
  EXPECT_EQ(clock.wall(), Instant{} + 1012s);
  EXPECT_EQ(clock.steady(), 22s);
}

TEST(Clock, SteadyTimeNeverGoesBack) {
  Clock clock({10s, Instant{} + 1000s});
  clock.advance({20s, Instant{} + 1010s});
  EXPECT_EQ(clock.advance({15s, Instant{} + 1010s}), 0s);
  EXPECT_EQ(clock.steady(), 20s);
}

TEST(Clock, TheEnginesTimeFollowsTheSteadyOne) {
  Clock clock({10s, Instant{} + 1000s});
  clock.advance({20s, Instant{} + 5000s});
  EXPECT_EQ(clock.engine_time(), Instant{} + 1010s);
  EXPECT_EQ(clock.wall_offset(), 3990s);
  EXPECT_EQ(clock.steady_of(clock.engine_time()), clock.steady());
  EXPECT_EQ(clock.steady_of(Instant{} + 1030s), 40s);
}

}  // namespace
}  // namespace cleave
