#include "simulate/agenda.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/random.hpp"

namespace cleave {
namespace {

using Order = std::tuple<Instant, Due, std::uint32_t, std::uint32_t>;

Order order(const AgendaItem& item) {
  return {item.at, item.due, item.which, item.generation};
}

/// Draws an item: times collide often, some are soon and some far ahead.
AgendaItem drawn(Random& random, Instant now) {
  const std::uint64_t reach = random.below(2) == 0 ? 4 : 2000;
  return {now + Duration{static_cast<std::int64_t>(random.below(reach))},
          static_cast<std::uint32_t>(random.below(50)),
          static_cast<std::uint32_t>(random.below(1000)), static_cast<Due>(random.below(5))};
}

TEST(Agenda, ItemsComeInTheirOrderAndAreForeseenInIt) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Agenda agenda;
    std::multiset<Order> expected;
    Instant now{};
    const std::uint64_t size = 1 + random.below(300);
    for (int step = 0; step < 5000; ++step) {
      ASSERT_EQ(agenda.empty(), expected.empty());
      ASSERT_GE(agenda.ahead(), std::min(Agenda::foreseen, expected.size()));
      auto other = expected.begin();
      for (std::size_t n = 0; n < agenda.ahead(); ++n, ++other)
        ASSERT_EQ(order(agenda.later(n)), *other) << "seed " << seed << " step " << step;
      if (expected.empty() || (expected.size() < size && random.below(3) != 0)) {
        const AgendaItem item = drawn(random, now);
        agenda.push(item);
        expected.insert(order(item));
      } else {
        ASSERT_EQ(order(agenda.top()), *expected.begin());
        now = agenda.top().at;
        agenda.pop();
        expected.erase(expected.begin());
      }
    }
  }
}

}  // namespace
}  // namespace cleave
