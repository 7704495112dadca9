#include "control/verdicts/disk_verdicts.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t mib = 1 << 20, gib = 1 << 30;
const Instant then = Instant{} + 1'000'000h;
const DiskMarks marks;  // 10 and 5 %

DiskRoom room(std::int64_t free_bytes, std::int64_t free_inodes = 500) {
  return {"/state", 1000 * mib, free_bytes, 1000, free_inodes};
}

TEST(LevelOf, GoesBySharesOfSpaceAndInodes) {
  EXPECT_EQ(level_of(room(100 * mib), marks), DiskLevel::roomy);
  EXPECT_EQ(level_of(room(99 * mib), marks), DiskLevel::low);
  EXPECT_EQ(level_of(room(50 * mib), marks), DiskLevel::low);
  EXPECT_EQ(level_of(room(49 * mib), marks), DiskLevel::scarce);
  EXPECT_EQ(level_of(room(500 * mib, 99), marks), DiskLevel::low);
  EXPECT_EQ(level_of(room(500 * mib, 49), marks), DiskLevel::scarce);
  EXPECT_EQ(level_of(DiskRoom{"/x", 1000 * mib, 500 * mib, 0, 0}, marks), DiskLevel::roomy)
      << "a file system without a number of inodes";
  EXPECT_EQ(level_of(room(0, 0), {0, 0}), DiskLevel::roomy) << "marks of 0 are none";
}

TEST(LevelOf, OfALargeFileSystemNoMoreThanAPartCounts) {
  const auto large = [](std::int64_t free) {
    return DiskRoom{"/x", 20'000 * gib, free, 400'000'000, 400'000'000};
  };
  EXPECT_EQ(level_of(large(5 * gib), marks), DiskLevel::roomy);
  EXPECT_EQ(level_of(large(5 * gib - 1), marks), DiskLevel::low);
  EXPECT_EQ(level_of(large(2 * gib), marks), DiskLevel::scarce);
}

TEST(LevelOf, TheFileSystemWithTheLeastRoomDecides) {
  EXPECT_EQ(level_of(std::vector<DiskRoom>{}, marks), DiskLevel::roomy);
  EXPECT_EQ(level_of({room(500 * mib), room(60 * mib)}, marks), DiskLevel::low);
  EXPECT_EQ(missing_room({room(500 * mib), room(60 * mib, 90)}, marks),
            (MissingRoom{40 * mib, 10}));
  EXPECT_EQ(missing_room({room(500 * mib)}, marks), MissingRoom{});
}

TEST(DiskTroubles, SayWhatIsShortAndWhatHelps) {
  EXPECT_TRUE(disk_troubles({room(500 * mib)}, marks).empty());
  const auto low = disk_troubles({room(500 * mib), room(60 * mib)}, marks);
  ASSERT_EQ(low.size(), 1U);
  EXPECT_EQ(low[0],
            "/state has 60 of 1000 MiB free: ended jobs are forgotten before their time; free "
            "space there, or forget ended jobs: `cleave purge --older 1d`");
  const auto scarce = disk_troubles({room(500 * mib, 3)}, marks);
  ASSERT_EQ(scarce.size(), 1U);
  EXPECT_TRUE(scarce[0].starts_with("/state has 3 of 1000 inodes free: no jobs are accepted"))
      << scarce[0];
}

TEST(MayAccept, NotWhereRoomIsScarce) {
  EXPECT_TRUE(may_accept({}, marks));
  EXPECT_TRUE(may_accept({room(60 * mib)}, marks));
  const auto refused = may_accept({room(500 * mib), room(10 * mib)}, marks);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::infeasible);
  EXPECT_NE(refused.error().message.find("10 of 1000 MiB"), std::string::npos);
  EXPECT_NE(refused.error().remedy.find("cleave purge"), std::string::npos);
}

DiskAccounts accounts() {
  DiskAccounts all;
  all.add(1, {1000, 40, 0, 0, then});
  all.add(2, {2000, 30, 0, 0, then + 1s});
  all.add(3, {1000, 20, 0, 0, then + 2s});
  all.add(4, {2000, 35, 0, 0, {}});
  return all;
}

TEST(MayKeep, NoMoreThanTheLimitOfTheUser) {
  EXPECT_TRUE(may_keep(accounts(), 1000, 40, 100));
  EXPECT_TRUE(may_keep(accounts(), 1000, 1000, 0)) << "no limit";
  EXPECT_TRUE(may_keep(accounts(), 3000, 100, 100));
  const auto refused = may_keep(accounts(), 1000, 41, 100);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().remedy.find("cleave purge"), std::string::npos);
  EXPECT_NE(refused.error().remedy.find("keep_user_mib"), std::string::npos);
}

TEST(PastItsShare, TheOldestEndedJobOfAUserNearTheLimit) {
  EXPECT_EQ(past_its_share(accounts(), 80, {}, {}), std::nullopt) << "60 and 65 of 80";
  EXPECT_EQ(past_its_share(accounts(), 72, {}, {}), 2);
  EXPECT_EQ(past_its_share(accounts(), 64, {}, {}), 1);
  EXPECT_EQ(past_its_share(accounts(), 64, {}, {1}), 3) << "the first cannot be forgotten";
  EXPECT_EQ(past_its_share(accounts(), 64, {}, {1, 3}), 2);
  EXPECT_EQ(past_its_share(accounts(), 64, {}, {1, 2, 3}), std::nullopt) << "4 has not ended";
  EXPECT_EQ(past_its_share(accounts(), 64, [](std::uint32_t uid) { return uid == 1000; }, {}), 2);
  EXPECT_EQ(past_its_share(accounts(), 0, {}, {}), std::nullopt);
}

TEST(FirstToGo, TheOldestOfTheUserWhoseEndedJobsKeepMost) {
  EXPECT_EQ(first_to_go(accounts(), {}), 1);
  EXPECT_EQ(first_to_go(accounts(), {1}), 3);
  EXPECT_EQ(first_to_go(accounts(), {1, 3}), 2);
  EXPECT_EQ(first_to_go(accounts(), {1, 2, 3}), std::nullopt);
  EXPECT_EQ(first_to_go({}, {}), std::nullopt);
}

TEST(MostOfAttempt, ItsOutputsAndTheLimitOrAQuarterOfTheDisk) {
  ControlSettings settings;
  settings.log_limit = 10;
  settings.job_files = 100;
  EXPECT_EQ(most_of_attempt(settings, {}), 120);
  EXPECT_EQ(most_of_attempt(settings, {room(0), room(0)}), 120);
  EXPECT_EQ(most_of_attempt(settings, {room(0), {"/small", 400, 400, 0, 0}}), 100);
  settings.job_files = 0;
  EXPECT_EQ(most_of_attempt(settings, {room(0)}), INT64_MAX);
}

}  // namespace
}  // namespace cleave
