// One controller at a time, however they are stopped, paused and started.

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"
#include "cli/slurm/controller_lease.hpp"

namespace cleave::cli {
namespace {

using std::chrono::seconds;

/// Controllers that share a folder, and a clock that the test turns.
class Lease : public testing::Test {
 protected:
  ControllerLease lease(const std::string& name) {
    return {folder.path(), name, seconds(30), [this] { return now; }};
  }
  static bool keeps(ControllerLease& lease) {
    const auto kept = lease.keep();
    EXPECT_TRUE(kept) << kept.error().text();
    return kept && *kept;
  }

  TemporaryFolder folder;
  std::chrono::nanoseconds now = seconds(1000);
};

TEST_F(Lease, TheFirstHasItAndTheBackupWaits) {
  ControllerLease a = lease("a"), b = lease("b");
  EXPECT_TRUE(keeps(a));
  for (int i = 0; i < 20; ++i) {
    now += seconds(10);
    EXPECT_TRUE(keeps(a));
    EXPECT_TRUE(a.may_act());
    EXPECT_FALSE(keeps(b));
    EXPECT_FALSE(b.may_act());
  }
  EXPECT_EQ(b.owner(), "a");
}

TEST_F(Lease, TheBackupTakesOverFromOneThatIsGone) {
  ControllerLease a = lease("a"), b = lease("b");
  ASSERT_TRUE(keeps(a));
  EXPECT_FALSE(keeps(b));
  now += seconds(29);
  EXPECT_FALSE(keeps(b));
  now += seconds(1);
  EXPECT_TRUE(keeps(b));
  EXPECT_EQ(b.number(), 2U);
  EXPECT_FALSE(a.may_act()) << "it was only paused";
  EXPECT_FALSE(keeps(a));
}

TEST_F(Lease, OneThatWasPausedActsNoMoreBeforeItsBackupDoes) {
  ControllerLease a = lease("a");
  ASSERT_TRUE(keeps(a));
  now += seconds(14);
  EXPECT_TRUE(a.may_act());
  now += seconds(1);
  EXPECT_FALSE(a.may_act());
}

TEST_F(Lease, OneThatLeavesIsFollowedAtOnce) {
  ControllerLease a = lease("a"), b = lease("b");
  ASSERT_TRUE(keeps(a));
  a.leave();
  EXPECT_TRUE(keeps(b));
}

TEST_F(Lease, OneThatHasSurelyEndedIsFollowedAtOnce) {
  ControllerLease a = lease("a");
  ASSERT_TRUE(keeps(a));
  bool gone = false;
  ControllerLease b(
      folder.path(), "b", seconds(30), [this] { return now; },
      [&](const std::string& name) { return gone && name == "a"; });
  EXPECT_FALSE(keeps(b));
  gone = true;
  EXPECT_TRUE(keeps(b));
}

TEST(ControllerName, TellsWhetherItsProcessIsThere) {
  const std::string name = controller_name();
  EXPECT_FALSE(controller_is_gone(name));
  const auto parts = split(name, ':');
  ASSERT_EQ(parts.size(), 3U);
  // Above the largest number that Linux gives.
  EXPECT_TRUE(controller_is_gone(fmt::format("{}:4999999:{}", parts[0], parts[2])));
  EXPECT_FALSE(controller_is_gone(fmt::format("{}:4999999:elsewhere", parts[0])));
  EXPECT_FALSE(controller_is_gone("left"));
}

TEST_F(Lease, AFolderThatIsNotThereIsAnError) {
  ControllerLease a(folder.path() / "none", "a", seconds(30), [this] { return now; });
  EXPECT_FALSE(a.keep());
}

TEST_F(Lease, NeverTwoAtOnce) {
  Random random(3);
  std::vector<ControllerLease> all;
  for (const char* name : {"a", "b", "c"}) all.push_back(lease(name));
  std::size_t acted = 0;
  for (int step = 0; step < 3000; ++step) {
    now += std::chrono::milliseconds(random.below(random.below(20) == 0 ? 60'000 : 3'000));
    ControllerLease& one = all[random.below(all.size())];
    if (random.below(50) == 0)
      one.leave();
    else
      static_cast<void>(one.keep());
    std::size_t acting = 0;
    for (const ControllerLease& each : all) acting += each.may_act() ? 1 : 0;
    ASSERT_LE(acting, 1U) << "step " << step;
    acted += acting;
  }
  EXPECT_GT(acted, 1000U);
}

}  // namespace
}  // namespace cleave::cli
