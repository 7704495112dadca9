// The pool of waiting jobs against sorting.

#include "engine/adaptive/waiting_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace cleave {
namespace {

struct Entry {
  JobId job;
  std::int64_t priority;
  double value;
  bool rest_known;
  std::uint64_t waits_from;
};

std::vector<JobId> sorted(std::vector<Entry> all, std::size_t most, double weight) {
  const auto key = [&](const Entry& each) {
    return std::tuple(~each.priority, -each.value * (each.rest_known ? 1 : weight), each.job);
  };
  std::ranges::sort(all, {}, key);
  std::vector<JobId> jobs;
  for (const Entry& each : all)
    if (jobs.size() < most) jobs.push_back(each.job);
  return jobs;
}

TEST(WaitingPool, IsInTheOrderOfSorting) {
  Random random(5);
  WaitingPool pool;
  std::vector<Entry> all;
  EXPECT_FALSE(pool.eldest());
  const std::int64_t priorities[] = {INT64_MIN, -1, 0, 0, 0, 7, INT64_MAX};
  for (unsigned round = 0; round < 3000 && !HasFailure(); ++round) {
    if (random.below(5) < 3 || all.empty()) {
      const Entry entry{static_cast<JobId>(round), priorities[random.below(std::size(priorities))],
                        static_cast<double>(1 + random.below(8)) / 4, random.below(2) == 0,
                        random.below(1 + round / 4)};
      pool.insert(entry.job, entry.priority, entry.value, entry.rest_known, entry.waits_from);
      all.push_back(entry);
    } else {
      const auto gone = all.begin() + static_cast<std::ptrdiff_t>(random.below(all.size()));
      pool.erase(gone->job);
      EXPECT_FALSE(pool.contains(gone->job));
      all.erase(gone);
    }
    pool.erase(static_cast<JobId>(100'000));
    ASSERT_EQ(pool.size(), all.size());
    EXPECT_EQ(pool.empty(), all.empty());
    for (const double weight : {0.5, 1.0, 3.0})
      for (const std::size_t most : {std::size_t{1}, std::size_t{8}, all.size()})
        EXPECT_EQ(pool.first(most, weight), sorted(all, most, weight)) << round;
    if (all.empty()) continue;
    const auto age = [](const Entry& each) { return std::pair(each.waits_from, each.job); };
    EXPECT_EQ(*pool.eldest(), age(*std::ranges::min_element(all, {}, age)));
    EXPECT_EQ(pool.highest_priority(), std::ranges::max(all, {}, &Entry::priority).priority);
  }
}

}  // namespace
}  // namespace cleave
