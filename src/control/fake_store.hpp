#pragma once
// A store in memory, for tests that drive the control loop with a clock of their own. The disk is
// an object apart, so that it survives the program's death as a real one does: a test throws the
// store away and opens another on the same disk. Writes fail when the test says so, and the program
// can be stopped at each of them.
//
// It also holds its caller to what the face promises, and throws std::logic_error where that is
// broken: event numbers without a gap, attempts of known jobs only, a final job stays final and has
// ended, no number is given twice, a command with a job's first record and only then, a spec that
// never changes, and nothing forgotten but what is final.

#include <functional>
#include <memory>
#include <vector>

#include "control/store.hpp"

namespace cleave {

/// A disk in memory.
class FakeDisk {
 public:
  FakeDisk();
  ~FakeDisk();
  FakeDisk(const FakeDisk&) = delete;
  FakeDisk& operator=(const FakeDisk&) = delete;

  /// Of the writes since the last synced batch, only the first `reached` came to the disk. The
  /// store that is open on it must not be used any more.
  void lose_power(std::size_t reached = 0);
  /// Writes that a loss of power could take.
  [[nodiscard]] std::size_t unsynced() const;

  /// The next `count` writes fail, as on a full disk, and change nothing.
  void fail_writes(std::size_t count) { failing_ = count; }
  /// Also loads and queries, as when a disk breaks.
  void fail_reads(std::size_t count) { failing_reads_ = count; }

  /// Called just before and just after each batch that is written, not for one that fails. Either
  /// may throw: the program has died there.
  std::function<void(const StoreBatch&)> before_write, after_write;

  /// Writes so far, those that failed left out.
  [[nodiscard]] std::uint64_t writes() const { return writes_; }

 private:
  friend class FakeStore;
  struct Memory;
  struct Change;
  void put(Change change, Durability durability);
  [[nodiscard]] Result<void> written_or_failed();
  [[nodiscard]] Result<void> read_or_failed();

  std::unique_ptr<Memory> now_, safe_;  // as the program sees it, and what is sure to survive
  std::vector<Change> pending_;         // what `now_` has had more than `safe_`
  std::size_t failing_ = 0, failing_reads_ = 0;
  std::uint64_t writes_ = 0;
};

/// The store over such a disk.
class FakeStore final : public Store {
 public:
  /// The disk must outlive it.
  explicit FakeStore(FakeDisk& disk) : disk_(&disk) {}

  Result<StoreContents> load() override;
  Result<void> write(const StoreBatch& batch, Durability durability) override;
  Result<std::optional<JobRecord>> job(JobNumber number) override;
  Result<std::optional<JobCommand>> command(JobNumber number) override;
  Result<std::vector<AttemptRecord>> attempts(JobNumber number) override;
  Result<std::vector<JobRecord>> jobs(const JobQuery& query) override;
  Result<std::vector<StoredJob>> jobs_with_attempts(const JobQuery& query) override;
  Result<std::vector<EventRecord>> events(std::int64_t after, std::optional<std::uint32_t> uid,
                                          std::size_t most) override;
  Result<std::vector<JobRecord>> ended_before(Instant time, std::size_t most) override;
  Result<void> forget_events(std::size_t keep) override;

 private:
  FakeDisk* disk_;
};

}  // namespace cleave
