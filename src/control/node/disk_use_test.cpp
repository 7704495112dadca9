#include "control/node/disk_use.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

const Instant then = Instant{} + 1'000'000h;

TEST(DiskAccounts, SumsFollowEveryJobOfAUser) {
  DiskAccounts accounts;
  accounts.add(1, {1000, 100, 50, 7, {}});
  accounts.add(2, {1000, 10, 0, 0, {}});
  accounts.add(3, {2000, 1, 0, 0, {}});
  accounts.add(1, {2000, 5, 5, 5, {}});
  EXPECT_EQ(accounts.bytes_of(1000), 167) << "a job is added once";
  EXPECT_EQ(accounts.bytes_of(2000), 1);
  accounts.weigh(1, 1000);
  EXPECT_EQ(accounts.bytes_of(1000), 1160);
  accounts.enlarge(1, 20, 30);
  EXPECT_EQ(accounts.bytes_of(1000), 1210);
  accounts.end(1, then);
  EXPECT_EQ(accounts.bytes_of(1000), 1160) << "its environment is gone";
  EXPECT_EQ(accounts.users().at(1000).ended_bytes, 1150);
  accounts.forget(1);
  accounts.forget(2);
  EXPECT_FALSE(accounts.users().contains(1000));
  EXPECT_EQ(accounts.bytes_of(1000), 0);
  EXPECT_EQ(accounts.bytes_of(2000), 1);
  for (const JobNumber gone : {1, 9}) {
    accounts.weigh(gone, 5);
    accounts.enlarge(gone, 5, 5);
    accounts.end(gone, then);
    accounts.forget(gone);
  }
  EXPECT_EQ(accounts.users().size(), 1U);
}

TEST(DiskAccounts, EndedJobsAreOrderedByTheirEnds) {
  DiskAccounts accounts;
  for (const JobNumber job : {1, 2, 3}) accounts.add(job, {1000, 10, 0, 0, {}});
  accounts.end(2, then);
  accounts.end(1, then + 1s);
  accounts.weigh(2, 77);
  const auto& user = accounts.users().at(1000);
  ASSERT_EQ(user.ended.size(), 2U);
  EXPECT_EQ(user.ended.begin()->second, 2);
  EXPECT_EQ(user.ended_bytes, 97);
  EXPECT_EQ(user.bytes, 107);
}

TEST(KeptBy, IsWhatTheStoreTakesAndRatherMore) {
  JobRecord job;
  job.owner.uid = 1000;
  JobCommand command{{"work", std::string(1000, 'x')}, {"A=" + std::string(5000, 'y')}, "/home"};
  const auto kept = kept_by(job, command);
  EXPECT_EQ(kept.uid, 1000U);
  EXPECT_GE(kept.store, record_bytes + 1000);
  EXPECT_LT(kept.store, record_bytes + 2000);
  EXPECT_GE(kept.passing, 5000);
  EXPECT_LT(kept.passing, 5100);
  command.argv[1] = std::string(1000, '\1');
  EXPECT_GE(kept_by(job, command).store, record_bytes + 6000) << "each is written as six";
}

TEST(KeptBy, EachReplicaHasARecordAndTheEnvironmentStays) {
  JobRecord job;
  JobCommand command{{"work"}, {"A=" + std::string(5000, 'y')}, "/"};
  const std::int64_t one = kept_by(job, command).store;
  job.spec.service.emplace().replicas = 10;
  const auto kept = kept_by(job, command);
  EXPECT_GE(kept.store, 10 * record_bytes + 5000);
  EXPECT_GT(kept.store, one);
  EXPECT_EQ(kept.passing, 0);
}

}  // namespace
}  // namespace cleave
