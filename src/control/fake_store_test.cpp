// What the store in memory adds: power that goes, writes that fail, a program that dies in the
// middle. What it promises as a store is tested with the daemon's, in daemon/store/store_test.cpp.

#include "control/fake_store_test.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cleave {
namespace {

struct Died {};

StoreBatch setting(const std::string& value) {
  StoreBatch batch;
  batch.settings.emplace_back("key", value);
  return batch;
}

std::string setting_of(FakeDisk& disk) {
  FakeStore store(disk);
  const auto contents = store.load();
  return contents && contents->settings.contains("key") ? contents->settings.at("key") : "";
}

TEST(FakeStore, WhatIsWrittenSurvivesTheProgramAndWhatIsSyncedThePower) {
  FakeDisk disk;
  {
    FakeStore store(disk);
    ASSERT_TRUE(store.write(setting("synced"), Durability::synced));
    ASSERT_TRUE(store.write(setting("written"), Durability::written));
    ASSERT_TRUE(store.write(setting("last"), Durability::written));
  }
  EXPECT_EQ(setting_of(disk), "last");
  EXPECT_EQ(disk.unsynced(), 2U);
  disk.lose_power(1);
  EXPECT_EQ(setting_of(disk), "written") << "one had come to the disk";
  EXPECT_EQ(disk.unsynced(), 0U);
  ASSERT_TRUE(FakeStore(disk).write(setting("again"), Durability::written));
  disk.lose_power();
  EXPECT_EQ(setting_of(disk), "written");
  ASSERT_TRUE(FakeStore(disk).write(setting("before"), Durability::written));
  ASSERT_TRUE(FakeStore(disk).write({.jobs = {},
                                     .commands = {},
                                     .attempts = {},
                                     .instances = {},
                                     .events = {},
                                     .settings = {{"other", "1"}},
                                     .learnt = {},
                                     .unlearnt = {},
                                     .forgotten = {}},
                                    Durability::synced));
  disk.lose_power();
  EXPECT_EQ(setting_of(disk), "before")
      << "a synced write brings what came before it to the disk too";
}

TEST(FakeStore, AFailedWriteChangesNothingAndMayBeTriedAgain) {
  FakeDisk disk;
  FakeStore store(disk);
  disk.fail_writes(2);
  const auto failed = store.write(setting("a"), Durability::synced);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::infeasible);
  EXPECT_FALSE(store.write(setting("a"), Durability::synced));
  EXPECT_EQ(setting_of(disk), "");
  EXPECT_EQ(disk.writes(), 0U);
  EXPECT_TRUE(store.write(setting("a"), Durability::synced));
  EXPECT_EQ(setting_of(disk), "a");
  EXPECT_EQ(disk.writes(), 1U);
  disk.fail_reads(1);
  EXPECT_FALSE(store.load());
  EXPECT_TRUE(store.load());
}

TEST(FakeStore, TheProgramCanDieBesideAWrite) {
  FakeDisk disk;
  disk.before_write = [](const StoreBatch&) { throw Died(); };
  EXPECT_THROW(static_cast<void>(FakeStore(disk).write(setting("a"), Durability::synced)), Died);
  EXPECT_EQ(setting_of(disk), "");
  disk.before_write = {};
  disk.after_write = [](const StoreBatch& batch) {
    EXPECT_EQ(batch.settings.size(), 1U);
    throw Died();
  };
  EXPECT_THROW(static_cast<void>(FakeStore(disk).write(setting("a"), Durability::synced)), Died);
  EXPECT_EQ(setting_of(disk), "a");
}

TEST(FakeStore, WatchesWhatOnlyItCanSee) {
  FakeDisk disk;
  FakeStore store(disk);
  StoreBatch batch;
  JobRecord job;
  job.number = 1;
  batch.jobs = {job};
  EXPECT_THROW(static_cast<void>(store.write(batch, Durability::synced)), std::logic_error)
      << "no command";
  batch.commands = {{1, JobCommand{}}};
  ASSERT_TRUE(store.write(batch, Durability::synced));
  batch.commands.clear();
  batch.jobs[0].spec.priority = 1;
  EXPECT_THROW(static_cast<void>(store.write(batch, Durability::synced)), std::logic_error)
      << "another spec";
  batch.jobs[0] = job;
  batch.jobs[0].owner.uid = 1;
  EXPECT_THROW(static_cast<void>(store.write(batch, Durability::synced)), std::logic_error)
      << "another owner";
  batch.jobs[0] = job;
  batch.jobs[0].state = JobState::failed;
  EXPECT_THROW(static_cast<void>(store.write(batch, Durability::synced)), std::logic_error)
      << "no end";
  batch.jobs[0].ended = Instant{};
  EXPECT_TRUE(store.write(batch, Durability::synced));
}

}  // namespace
}  // namespace cleave
