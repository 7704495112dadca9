// Whatever call of the system fails below SQLite, and whatever allocation: nothing crashes, no
// write is said to be done that is not there, no row is answered that is not what was written, and
// when calls succeed again the store is used as before.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "base/temporary_folder_test.hpp"
#include "daemon/store/sqlite_faults_test.hpp"
#include "daemon/store/sqlite_store.hpp"
#include "daemon/store/store_contents_test.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

constexpr JobNumber jobs = 6;

std::vector<StoreBatch> all_batches() {
  RandomRecords any(21);
  std::vector<StoreBatch> all;
  StoreBatch last;
  for (JobNumber number = 1; number < jobs; ++number) {
    all.push_back(batch_of(number, any));
    JobRecord& job = all.back().jobs.front();
    if (number % 2 == 0) {
      job.state = JobState::finished;
      job.ended = any.any_instant();
      (number == 2 ? last.forgotten : last.bared).push_back(number);
    }
  }
  last.settings.emplace_back("key 1", "");
  last.attempts = all.front().attempts;
  last.attempts.front().why = "changed";
  all.push_back(last);
  all.push_back(batch_of(jobs, any));
  all.back().events.front().number = jobs;
  return all;
}

/// A run of a store: batches, and all that it holds before each and after the last.
class FaultyStore : public testing::Test {
 protected:
  FaultyStore() : batches_(all_batches()), folder_(quick_folder()) {}

  /// Without a fault: how many calls there are, and what is there after each batch.
  void learn() {
    begin_anew();
    FaultySqlite::files().begin(-1, false);
    FaultySqlite::memory().begin(-1, false);
    auto store = SqliteStore::open(place());
    ASSERT_TRUE(store) << store.error().text();
    for (std::size_t done = 0; done <= batches_.size(); ++done) {
      if (done > 0) {
        const auto written = (*store)->write(batches_[done - 1], Durability::synced);
        ASSERT_TRUE(written) << written.error().text();
      }
      auto now = read_everything(**store, jobs);
      ASSERT_TRUE(now);
      after_.push_back(std::move(*now));
      if (done == settles) (*store)->settle();
    }
    ASSERT_TRUE((*store)->forget_events(1000));
    store->reset();
    file_calls_ = FaultySqlite::files().calls;
    allocations_ = FaultySqlite::memory().calls;
  }

  /// The same with faults. Every failed batch is tried twice.
  void run() {
    std::size_t done = 0;
    bool failed = false;
    {
      auto store = SqliteStore::open(place());
      if (!store) {
        EXPECT_FALSE(store.error().message.empty());
        EXPECT_NE(store.error().kind, ErrorKind::bad_input) << store.error().text();
      }
      if (store) go_through(**store, done, failed);
    }
    FaultySqlite::files().end();
    FaultySqlite::memory().end();
    auto store = SqliteStore::open(place());
    ASSERT_TRUE(store) << store.error().text();
    auto now = read_everything(**store, jobs);
    ASSERT_TRUE(now);
    // What failed in its last step may be found when the log was not brought in.
    if (failed && *now == after_[done + 1]) ++done;
    EXPECT_TRUE(*now == after_[done]) << done << " batches were written";
    for (; done < batches_.size(); ++done) {
      const auto written = (*store)->write(batches_[done], Durability::written);
      ASSERT_TRUE(written) << written.error().text();
    }
    now = read_everything(**store, jobs);
    EXPECT_TRUE(now && *now == after_.back());
  }

  void go_through(SqliteStore& store, std::size_t& done, bool& failed) {
    for (; done < batches_.size(); ++done) {
      const auto durability = done % 3 == 2 ? Durability::written : Durability::synced;
      failed = false;
      for (int tries = 0; tries < 2; ++tries) {
        const auto written = store.write(batches_[done], durability);
        failed = !written;
        if (written) break;
        EXPECT_EQ(written.error().kind, ErrorKind::infeasible) << written.error().text();
        const auto now = read_everything(store, jobs);
        EXPECT_TRUE(!now || *now == after_[done]) << "nothing of what failed is there";
      }
      if (failed) return;
      const auto now = read_everything(store, jobs);
      EXPECT_TRUE(!now || *now == after_[done + 1]) << done;
      if (done + 1 == settles) store.settle();
    }
    static_cast<void>(store.forget_events(1000));
  }

  void begin_anew() const {
    fs::remove_all(place());
    fs::create_directory(place());
    prepare_(place());
  }
  [[nodiscard]] fs::path place() const { return folder_.path() / "state"; }

  /// Each position, or some of them: in CI there is no time for all.
  void at_positions(std::int64_t count, std::int64_t most,
                    const std::function<void(std::int64_t, bool)>& fail_at) {
    if (std::getenv("CLEAVE_LONG") != nullptr) most = count;
    Random random(31);
    for (std::int64_t round = 0; round < std::min(count, most) && !HasFailure(); ++round) {
      const std::int64_t at =
          most >= count
              ? round
              : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
      for (const bool for_good : {false, true}) {
        SCOPED_TRACE(fmt::format("call {} of {}{}", at, count, for_good ? " and all after" : ""));
        begin_anew();
        fail_at(at, for_good);
      }
    }
  }

  static constexpr std::size_t settles = 3;
  FaultySqlite faulty_;
  const std::vector<StoreBatch> batches_;
  std::vector<Everything> after_;
  std::int64_t file_calls_ = 0, allocations_ = 0;
  const TemporaryFolder folder_;
  std::function<void(const fs::path&)> prepare_ = [](const fs::path&) {};
};

TEST_F(FaultyStore, LosesAndChangesNothingWhateverCallOfTheSystemFails) {
  learn();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_GT(file_calls_, 100);
  at_positions(file_calls_, 400, [&](std::int64_t at, bool for_good) {
    FaultySqlite::files().begin(at, for_good);
    run();
  });
}

TEST_F(FaultyStore, LosesAndChangesNothingWhateverAllocationFails) {
  learn();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_GT(allocations_, 1000);
  at_positions(allocations_, 300, [&](std::int64_t at, bool for_good) {
    FaultySqlite::memory().begin(at, for_good);
    run();
  });
}

/// Memory may be short for so long that a batch that failed cannot be undone either.
TEST_F(FaultyStore, GoesOnWhenMemoryIsBack) {
  learn();
  ASSERT_FALSE(HasFatalFailure());
  at_positions(allocations_, 300, [&](std::int64_t at, bool) {
    FaultySqlite::memory().begin(at, true);
    auto store = SqliteStore::open(place());
    if (!store) return;
    for (const StoreBatch& batch : batches_) {
      Result<void> written = (*store)->write(batch, Durability::synced);
      if (!written) {
        FaultySqlite::memory().end();
        written = (*store)->write(batch, Durability::synced);
      }
      ASSERT_TRUE(written) << written.error().text();
    }
    FaultySqlite::memory().end();
    const auto now = read_everything(**store, jobs);
    EXPECT_TRUE(now && *now == after_.back());
  });
}

}  // namespace
}  // namespace cleave
