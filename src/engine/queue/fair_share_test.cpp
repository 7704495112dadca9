// Fair share, deadlines and limits: the account of use against its integral, and what queues make
// of it.

#include <gtest/gtest.h>

#include <cmath>

#include "base/format.hpp"
#include "base/random.hpp"
#include "engine/queue/fair_share.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(FairShare, CountsHalfAfterEachHalfLife) {
  QueueRules rules;
  rules.half_life = 100s;
  FairShare shares(rules);
  const auto ann = shares.member("", "ann");
  EXPECT_EQ(shares.member("", "ann"), ann);
  shares.hold(ann, 3, Instant{});
  shares.release(ann, 3, Instant{1s});
  EXPECT_NEAR(shares.used(ann, Instant{1s}), 3, 0.02);
  EXPECT_NEAR(shares.used(ann, Instant{101s}), shares.used(ann, Instant{1s}) / 2, 1e-12);
  EXPECT_NEAR(shares.used(ann, Instant{1001s}), shares.used(ann, Instant{1s}) / 1024, 1e-12);
}

// In steps of a second, each of which decays by itself.
TEST(FairShare, IsTheSumOfWhatWasHeld) {
  Random random(1);
  for (int run = 0; run < 50; ++run) {
    QueueRules rules;
    rules.half_life = std::chrono::seconds(50 + random.below(500));
    FairShare shares(rules);
    const auto member = shares.member("a", "u");
    double sum = 0;
    std::int64_t held = 0;
    const double kept = std::exp2(-1 / in_seconds(rules.half_life));
    const double each = in_seconds(rules.half_life) / std::log(2.0) * (1 - kept);
    for (int second = 0; second < 400; ++second) {
      if (random.below(5) == 0) {
        const auto slices = static_cast<std::int64_t>(random.below(8)) - held;
        shares.hold(member, slices, Instant{std::chrono::seconds(second)});
        held += slices;
      }
      sum = sum * kept + static_cast<double>(held) * each;
      const Instant now{std::chrono::seconds(second + 1)};
      ASSERT_NEAR(shares.used(member, now), sum, 1e-9 * (1 + sum)) << second;
    }
  }
}

TEST(FairShare, ComparesAccountsBeforeUsersAndForTheirShares) {
  QueueRules rules;
  rules.half_life = 1000s;
  rules.shares = {{"physics", 3}, {"physics/ann", 2}, {"bob", 4}};
  FairShare shares(rules);
  const auto ann = shares.member("physics", "ann"), eve = shares.member("physics", "eve"),
             bob = shares.member("", "bob"), cid = shares.member("", "cid");
  for (const auto each : {ann, eve, bob, cid}) shares.hold(each, 7, Instant{});
  const Instant now{100s};
  const auto level = [&](FairShare::Member member) { return shares.level(member, now); };
  EXPECT_EQ(level(ann).first, level(eve).first);
  EXPECT_DOUBLE_EQ(level(bob).first, 3 * level(ann).first);
  EXPECT_DOUBLE_EQ(level(eve).second, 2 * level(ann).second);
  EXPECT_DOUBLE_EQ(level(cid).second, 4 * level(bob).second);
  EXPECT_LT(level(eve), level(bob));
}

}  // namespace
}  // namespace cleave
