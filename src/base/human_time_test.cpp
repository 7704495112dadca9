// Times as people write and read them.

#include "base/human_time.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

std::optional<Duration> read(std::string_view text) {
  const auto time = parse_human(text);
  return time ? std::optional(*time) : std::nullopt;
}

TEST(HumanTime, IsReadInEachForm) {
  const std::pair<std::string_view, Duration> forms[] = {
      {"0", 0s},
      {"90", 90s},
      {"0.5", 500ms},
      {"1e3", 1000s},
      {"90s", 90s},
      {"15m", 15min},
      {"15min", 15min},
      {"2 min", 2min},
      {"1h", 1h},
      {"1.5h", 90min},
      {"1h30m", 90min},
      {"1h30m5s", 1h + 30min + 5s},
      {"2d", 48h},
      {"2d12h", 60h},
      {"12 d 4 h", 292h},
      {"00:00:05", 5s},
      {"08:30:00", 8h + 30min},
      {"8:30:00", 8h + 30min},
      {"100:00:00", 100h},
      {"1-12:00:00", 36h},
      {"1-12:30", 36h + 30min},
      {"2-6", 54h},
      {"10-00", 240h},
  };
  for (const auto& [text, time] : forms) EXPECT_EQ(read(text), time) << text;
}

TEST(HumanTime, WhatMightBeSomethingElseIsRefused) {
  for (const std::string_view text :
       {"",           " ",    "-1",        "-1h",   "1x",      "h",        "1h h",
        "30m1h",      "1m1m", "2 mins",    "15:00", "1:2:3:4", "08:60:00", "08:5:00",
        "1-24:00:00", "1-",   "-12:00:00", "1-2-3", "1.5-12",  "1:00:00h", "inf",
        "nan",        "1 2",  "1..5h",     "+5m",   "9e99",    "99999999d"})
    EXPECT_FALSE(read(text)) << text;
  EXPECT_EQ(parse_human("15:00").error().text(),
            "'15:00' is not a time; write 90 (seconds), 15m, 1h30m, 2d, 08:30:00 or 1-12:00:00");
}

TEST(HumanTime, WhatIsWrittenIsRead) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const Duration time = std::chrono::seconds(random.below(std::uint64_t{1} << (4 + i % 28)));
    const auto again = read(human(time));
    ASSERT_TRUE(again) << human(time);
    // Two units at most are written.
    EXPECT_LE(std::chrono::abs(*again - time), time / 40 + 100ms) << human(time);
  }
}

}  // namespace
}  // namespace cleave
