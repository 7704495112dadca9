#include "base/length_text.hpp"

#include <gtest/gtest.h>

#include "base/human_time.hpp"

namespace cleave {
namespace {

TEST(LengthText, IsInTheLargestWholeUnitAndReadBack) {
  using namespace std::chrono_literals;
  const std::pair<Duration, const char*> known[] = {
      {0s, "0 s"},     {260ms, "0.26 s"}, {30s, "30 s"}, {90s, "90 s"},
      {120s, "2 min"}, {90min, "90 min"}, {3h, "3 h"},   {36h, "36 h"},
      {48h, "2 d"},    {3601s, "3601 s"}, {168h, "7 d"}};
  for (const auto& [time, text] : known) {
    EXPECT_EQ(length_text(time), text);
    const auto read = parse_human(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, time) << text;
  }
}

}  // namespace
}  // namespace cleave
