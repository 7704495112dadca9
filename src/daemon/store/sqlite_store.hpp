#pragma once
// What the daemon remembers, in STATE/cleave.db: SQLite with a write-ahead log. A batch is one
// transaction; where it is to be `synced`, the log is brought to the disk before write() returns.
// One process has the database, held by a lock beside it and by SQLite's own, so nothing ever waits
// for another.
//
// A text (record_text.hpp) holds what nobody searches by. The commands with their environments lie
// in a table of their own, and loading does not read them. Of a job that is there already, only
// what may change is written. Instances that are gone are kept for people who look into the
// database, as many as events.
//
// Errors: a full disk, a disk that fails and a file that cannot be written are infeasible and may
// pass, and after them a later write works; damage and another schema are bad input; a promise of
// the face that the caller broke is internal. Nothing is ever deleted for being damaged. A write
// that failed in its last step, when the log did not come to the disk, may still be found after a
// crash of the machine right then.
//
// A process with a limit on file sizes should ignore SIGXFSZ. Not for several threads.

#include <filesystem>
#include <memory>

#include "control/store.hpp"
#include "daemon/store/sqlite.hpp"
#include "daemon/store/store_columns.hpp"
#include "daemon/store/store_file.hpp"
#include "daemon/store/store_reserve.hpp"
#include "daemon/store/store_witness.hpp"

namespace cleave {

/// The store in a file.
class SqliteStore final : public Store {
 public:
  /// Opens or begins it in a directory that is there. Databases up to 64 MiB are checked whole for
  /// damage; in larger ones unfinished jobs are, and other damage is found where it is met. No row
  /// is answered or used that is not what was written (row_sum.hpp).
  ///
  /// Refused where the latest batches are missing that were on the disk (store_witness.hpp), unless
  /// the loss is accepted: then numbers go on after those that were given.
  [[nodiscard]] static Result<std::unique_ptr<SqliteStore>> open(
      const std::filesystem::path& state_directory, bool accepts_loss = false);
  ~SqliteStore() override;

  /// What open() found that is worth telling.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

  /// From now on the files of the store hold so much room on the disk beyond what they need.
  void hold_reserve(std::int64_t bytes);

  Result<StoreContents> load() override;
  Result<void> write(const StoreBatch& batch, Durability durability) override;
  Result<std::optional<JobRecord>> job(JobNumber number) override;
  Result<std::optional<JobCommand>> command(JobNumber number) override;
  Result<std::optional<JobRecord>> job_with_key(std::uint32_t uid, const std::string& key) override;
  Result<std::vector<AttemptRecord>> attempts(JobNumber number) override;
  Result<std::optional<AttemptRecord>> attempt(const JobKey& key) override;
  Result<std::vector<JobRecord>> jobs(const JobQuery& query) override;
  Result<std::vector<StoredJob>> jobs_with_attempts(const JobQuery& query) override;
  Result<std::vector<EventRecord>> events(std::int64_t after, std::optional<std::uint32_t> uid,
                                          std::size_t most) override;
  Result<std::vector<JobRecord>> ended_before(Instant time, std::size_t most) override;
  Result<std::vector<StoredSize>> sizes(JobNumber after, std::int64_t most_bytes) override;
  Result<std::vector<LivePlan>> plans(std::int64_t before, std::size_t most) override;
  Result<std::vector<UsageRow>> usage(const UsageQuery& query) override;
  Result<void> forget_usage(std::int64_t before) override;
  Result<void> forget_events(std::size_t keep) override;
  void settle() override;

  /// Whether what is written can be found by the next program: fails where its files were removed
  /// or replaced. Then nothing is written until they are back.
  [[nodiscard]] Result<void> is_there() { return file_.is_there(); }
  /// For tests: the disk is full beyond `most` pages of 4 KiB; a larger database cannot grow.
  [[nodiscard]] Result<void> limit_pages(std::int64_t most);

 private:
  using Numbers = StoreProgress;  // the highest ever given

  SqliteStore(StoreFile file, SqliteConnection connection, StoreWitness witness)
      : file_(std::move(file)), witness_(std::move(witness)), connection_(std::move(connection)) {}
  [[nodiscard]] Result<void> prepare(bool accepts_loss);
  [[nodiscard]] Result<void> hear_witness(bool counted, bool accepts_loss);
  [[nodiscard]] Result<void> check_numbers();
  [[nodiscard]] Result<void> accept_numbers(const Numbers& numbers);
  [[nodiscard]] Result<void> sync_as(Durability durability);
  /// A batch that failed and could not be undone at its time, for want of memory.
  [[nodiscard]] Result<void> undo_what_failed();
  [[nodiscard]] Result<Numbers> put(const StoreBatch& batch);
  [[nodiscard]] Result<void> put_numbers(const Numbers& numbers);
  template <class Record>
  [[nodiscard]] Result<void> put_rows(const std::string& statement,
                                      std::span<const StoreColumn<Record>> columns,
                                      const std::vector<Record>& records);
  [[nodiscard]] Result<void> put_jobs(const StoreBatch& batch, Numbers& numbers);
  [[nodiscard]] Result<void> bare(JobNumber number);
  [[nodiscard]] Result<void> put_events(const StoreBatch& batch, Numbers& numbers);
  [[nodiscard]] Result<void> put_settings(const StoreBatch& batch);
  [[nodiscard]] Result<void> put_plans(const StoreBatch& batch);
  [[nodiscard]] Result<void> put_learnt(const StoreBatch& batch);
  [[nodiscard]] Result<void> put_usage(const StoreBatch& batch);
  [[nodiscard]] Result<void> forget(const StoreBatch& batch);
  [[nodiscard]] Result<std::vector<JobRecord>> read_jobs(SqliteRun& run) const;
  [[nodiscard]] Result<std::vector<JobRecord>> open_jobs();
  [[nodiscard]] Result<std::vector<AttemptRecord>> open_attempts();
  [[nodiscard]] Result<std::vector<LearntProfile>> read_learnt();
  [[nodiscard]] Result<void> read_open_plan(StoreContents& contents);
  [[nodiscard]] Error broken(std::string message) const;
  void give_back_room(std::size_t pages);
  void bring_log_in();

  StoreFile file_;                       // let go of after the connection
  std::optional<StoreReserve> reserve_;  // likewise
  StoreWitness witness_;
  SqliteConnection connection_;
  std::vector<std::string> remarks_;
  bool unsettled_ = false;  // batches are in the log that are not in the database
  Durability syncing_ = Durability::synced;
  Numbers numbers_;
};

}  // namespace cleave
