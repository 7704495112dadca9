#include "daemon/store/store_reserve.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/format.hpp"
#include "base/temporary_folder_test.hpp"
#include "control/records_test.hpp"
#include "daemon/store/sqlite_store.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

std::int64_t on_disk(const fs::path& file) {
  struct stat facts {};
  return ::stat(file.c_str(), &facts) == 0 ? facts.st_blocks * 512 : -1;
}

TEST(StoreReserve, IsHeldBeyondTheEndsOfTheFiles) {
  const TemporaryFolder folder;
  const fs::path database = folder.path() / "cleave.db", log = folder.path() / "cleave.db-wal";
  std::ofstream(database) << std::string(8192, 'x');
  StoreReserve reserve(database, 2 << 20);
  reserve.hold();
  if (on_disk(database) <= 8192) GTEST_SKIP() << "the file system of temporary files cannot";
  EXPECT_GE(on_disk(database), 8192 + (1 << 20));
  EXPECT_EQ(fs::file_size(database), 8192U);
  EXPECT_FALSE(fs::exists(log)) << "SQLite makes it";
  std::ofstream(log) << "x";
  std::ofstream(database, std::ios::app) << std::string(1 << 20, 'x');
  reserve.hold();
  EXPECT_GE(on_disk(log), 1 << 20);
  EXPECT_EQ(fs::file_size(log), 1U);
  EXPECT_GE(on_disk(database), 2 << 20) << "it grew into its room, and has new room";
  fs::resize_file(database, 4096);
  reserve.hold();
  EXPECT_GE(on_disk(database), 1 << 20) << "what SQLite cuts off is held again";
  EXPECT_FALSE(reserve.is_needed());
}

TEST(StoreReserve, OfNothingHoldsNothing) {
  const TemporaryFolder folder;
  const fs::path database = folder.path() / "cleave.db";
  std::ofstream(database) << "x";
  StoreReserve reserve(database, 0);
  reserve.hold();
  EXPECT_LT(on_disk(database), 1 << 16);
  EXPECT_FALSE(reserve.is_needed());
}

/// On a disk of 16 MiB that is filled to the last byte.
class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root mounts a small disk";
    if (::mount("cleave-test", path().c_str(), "tmpfs", MS_NOSUID, "size=128m,mode=0700") != 0)
      GTEST_SKIP() << "a small tmpfs cannot be mounted here";
    mounted = true;
  }
  ~FullDisk() override {
    store.reset();
    if (mounted) ::umount2(path().c_str(), MNT_DETACH);
  }
  [[nodiscard]] const fs::path& path() const { return folder.path(); }
  void open(std::int64_t reserve) {
    auto opened = SqliteStore::open(path());
    ASSERT_TRUE(opened) << opened.error().text();
    store = std::move(*opened);
    store->hold_reserve(reserve);
    StoreBatch batch;
    batch.settings.emplace_back("a", "b");
    ASSERT_TRUE(store->write(batch, Durability::synced));
    store->settle();
  }
  void fill() const {
    std::ofstream out(path() / "filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (out.write(block.data(), std::ssize(block)).flush()) {
    }
  }
  /// How many jobs can be written, of a hundred, each with its end.
  int written() {
    RandomRecords any(1);
    int count = 0;
    for (int i = 1; i <= 100; ++i) {
      StoreBatch batch;
      batch.jobs.push_back(any.any_job(++last));
      batch.jobs.back().leader = 0;
      batch.jobs.back().state = JobState::finished;
      batch.jobs.back().ended = batch.jobs.back().submitted;
      batch.commands.emplace_back(last, JobCommand{{"work"}, {}, "/"});
      count += store->write(batch, Durability::synced) ? 1 : 0;
      if (i % 20 == 0) store->settle();
    }
    return count;
  }

  TemporaryFolder folder;
  bool mounted = false;
  std::unique_ptr<SqliteStore> store;
  JobNumber last = 0;
};

TEST_F(FullDisk, WithoutAReserveSoonTakesNothing) {
  open(0);
  fill();
  EXPECT_LT(written(), 100);
}

TEST_F(FullDisk, WithAReserveTakesWhatFollows) {
  open(16 << 20);
  fill();
  EXPECT_EQ(written(), 100);
  StoreBatch forgets;
  for (JobNumber number = 1; number <= 50; ++number) forgets.forgotten.push_back(number);
  EXPECT_TRUE(store->write(forgets, Durability::written));
}

TEST_F(FullDisk, TheReserveIsThereForTheNextDaemonToo) {
  open(16 << 20);
  fill();
  EXPECT_EQ(written(), 100);
  store.reset();
  fill();
  auto opened = SqliteStore::open(path());
  ASSERT_TRUE(opened) << opened.error().text();
  store = std::move(*opened);
  EXPECT_EQ(written(), 100);
}

}  // namespace
}  // namespace cleave
