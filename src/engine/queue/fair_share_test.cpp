// Fair share, deadlines and limits: the account of use against its integral, and what queues make
// of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/random.hpp"
#include "engine/queue/fair_share.hpp"
#include "model/past_use.hpp"

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

// Told afterwards, in any order, and beside what is held now.
TEST(FairShare, WhatWasHeldBeforeCountsAsIfItHadBeenSeen) {
  Random random(2);
  for (int run = 0; run < 50; ++run) {
    QueueRules rules;
    rules.half_life = std::chrono::seconds(50 + random.below(500));
    FairShare seen(rules), told(rules);
    const auto in_seen = seen.member("a", "u"), in_told = told.member("a", "u");
    const auto at = [](std::uint64_t second) { return Instant{std::chrono::seconds(second)}; };
    std::vector<PastUse> uses;
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t from = random.below(1000);
      uses.push_back({"a", "u", 1 + static_cast<std::int64_t>(random.below(7)), at(from),
                      at(from + random.below(500))});
    }
    std::vector<std::pair<Instant, std::int64_t>> changes;
    for (const PastUse& use : uses) {
      changes.emplace_back(use.from, use.slices);
      changes.emplace_back(use.to, -use.slices);
    }
    std::ranges::sort(changes);
    for (const auto& [when, slices] : changes) seen.hold(in_seen, slices, when);
    for (const PastUse& use : uses) told.held(in_told, use.slices, use.from, use.to);
    seen.hold(in_seen, 3, at(1500));
    told.hold(in_told, 3, at(1500));
    EXPECT_NEAR(told.used(in_told, at(1700)), seen.used(in_seen, at(1700)), 1e-6);
    EXPECT_NEAR(told.level(in_told, at(1700)).first, seen.level(in_seen, at(1700)).first, 1e-6);
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
