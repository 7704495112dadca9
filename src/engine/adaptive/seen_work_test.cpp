// What is to be expected of a job, against the plain sum over the jobs that count.

#include "engine/adaptive/seen_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "base/random.hpp"

namespace cleave {
namespace {

constexpr std::size_t window = 1000;

double plain_mean(const std::vector<double>& all) {
  const auto last = std::span(all).last(std::min(all.size(), window));
  return std::accumulate(last.begin(), last.end(), 0.0) / static_cast<double>(last.size());
}

double plain_rest(const std::vector<double>& all, double done) {
  double sum = 0, count = 0;
  for (const double work : std::span(all).last(std::min(all.size(), window))) {
    if (work <= done) continue;
    sum += work - done;
    ++count;
  }
  return count == 0 ? plain_mean(all) : (sum + 4 * plain_mean(all)) / (count + 4);
}

TEST(SeenWork, GuessesUntilTheFirstHasEnded) {
  const SeenWork seen;
  EXPECT_EQ(seen.mean(), 300);
  EXPECT_EQ(seen.rest(0), 300);
  EXPECT_EQ(seen.rest(5000), 300);
}

TEST(SeenWork, IsThePlainSumOfTheLast) {
  Random random(3);
  SeenWork seen;
  std::vector<double> all;
  for (std::size_t i = 0; i < 3 * window && !HasFailure(); ++i) {
    // Some are the same to the last bit.
    const double work = random.below(3) == 0 ? static_cast<double>(1 + random.below(20))
                                             : random.exponential(i < window ? 1000 : 50);
    all.push_back(work);
    seen.add(work);
    if (i % 7 != 0) continue;
    EXPECT_NEAR(seen.mean(), plain_mean(all), 1e-9 * plain_mean(all)) << i;
    for (const double done : {0.0, 5.0, work, random.exponential(500), 1e9}) {
      const double expected = plain_rest(all, done);
      EXPECT_NEAR(seen.rest(done), expected, 1e-9 * expected) << i << ' ' << done;
    }
  }
}

}  // namespace
}  // namespace cleave
