// How fast jobs come, against the last of all that have come.

#include "engine/adaptive/arrival_rate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.hpp"

namespace cleave {
namespace {

TEST(ArrivalRate, IsThatOfTheLast) {
  constexpr std::size_t window = 64;
  Random random(2);
  ArrivalRate rate;
  std::vector<Instant> all;
  Instant now{};
  EXPECT_FALSE(rate.a_second(now));
  for (int i = 0; i < 400; ++i) {
    if (i > 3 && random.below(3) > 0) now += std::chrono::milliseconds(1 + random.below(9000));
    rate.arrived(now);
    all.push_back(now);
    const Instant later = now + std::chrono::seconds(random.below(2) * 100 + 1);
    const std::size_t count = std::min(all.size(), window);
    const Instant first = all[all.size() - count];
    if (count == 1) {
      EXPECT_FALSE(rate.a_second(later)) << "one says nothing";
    } else if (first == now) {
      EXPECT_EQ(rate.a_second(later), 0) << "all at one instant";
    } else {
      EXPECT_DOUBLE_EQ(*rate.a_second(later),
                       static_cast<double>(count - 1) / in_seconds(later - first));
    }
  }
}

}  // namespace
}  // namespace cleave
