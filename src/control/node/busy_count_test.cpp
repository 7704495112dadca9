// Means of what the driver counts of an attempt, and when they stand for it.

#include "control/node/busy_count.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

using Counters = std::map<std::string, double, std::less<>>;

TEST(BusyCount, IsTheMeanOverTheTimeThatWasCounted) {
  BusyCount count;
  EXPECT_EQ(count.next(), Counting::anew);
  count.hear({}, 10s);
  EXPECT_EQ(count.next(), Counting::on);
  count.hear(BusyShares{1.0, 0.5, {}, 0.25}, 20s);
  count.hear(BusyShares{0.5, 0.5, {}, 0.5}, 50s);
  const Counters expected = {
      {"sm_activity", 0.625}, {"sm_occupancy", 0.5}, {"dram_activity", 0.4375}};
  EXPECT_EQ(count.counters(50s), expected);
  EXPECT_EQ(count.counters(80s), expected);
  EXPECT_EQ(count.counters(81s), Counters()) << "most of it was not counted";
  EXPECT_EQ(count.counters(0s), Counters());
}

TEST(BusyCount, LeavesOutWhatWasNotCounted) {
  BusyCount count;
  count.hear(BusyShares{1, 1, 1, 1}, 5s);
  count.hear(BusyShares{0.5, {}, {}, {}}, 15s);
  EXPECT_EQ(count.counters(10s), (Counters{{"sm_activity", 0.5}})) << "the first began before it";
  count.interrupt();
  EXPECT_EQ(count.next(), Counting::anew);
  count.hear(BusyShares{0.9, 0.9, 0.9, 0.9}, 30s);
  EXPECT_EQ(count.counters(10s), (Counters{{"sm_activity", 0.5}}));
  count.hear(BusyShares{0.5, 0.25, {}, {}}, 40s);
  EXPECT_EQ(count.counters(20s), (Counters{{"sm_activity", 0.5}, {"sm_occupancy", 0.25}}));
  count.hear(BusyShares{0.5, {}, {}, {}}, 60s);
  EXPECT_EQ(count.counters(60s), (Counters{{"sm_activity", 0.5}}))
      << "the occupancy is known of a quarter of the time";
}

TEST(BusyCount, IsAskedForNowAndThen) {
  BusyCount count;
  EXPECT_TRUE(count.is_due(1s));
  count.ask(7, 1s);
  EXPECT_TRUE(count.is_in(7));
  EXPECT_FALSE(count.is_in(8));
  EXPECT_FALSE(count.is_due(1s + shortest_count - 1ns));
  EXPECT_TRUE(count.is_due(1s + shortest_count));
}

}  // namespace
}  // namespace cleave
