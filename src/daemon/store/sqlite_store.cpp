#include "daemon/store/sqlite_store.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/record_text.hpp"
#include "daemon/store/store_columns.hpp"
#include "daemon/store/store_schema.hpp"

namespace cleave {

namespace {

// In pages of 4 KiB.
constexpr int long_log = 4096;      // from here on it is brought in after a batch
constexpr int longest_log = 65536;  // from here on even while somebody reads, and begins again

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::filesystem::path& state_directory,
                                                       bool accepts_loss) {
  auto file = StoreFile::take(state_directory);
  if (!file) return std::unexpected(file.error());
  auto witness = StoreWitness::open(file->witness());
  if (!witness) return std::unexpected(witness.error());
  auto connection = SqliteConnection::open(file->path());
  if (!connection) return std::unexpected(connection.error());
  std::unique_ptr<SqliteStore> store(
      new SqliteStore(std::move(*file), std::move(*connection), std::move(*witness)));
  if (const auto prepared = store->prepare(accepts_loss); !prepared)
    return std::unexpected(prepared.error());
  return store;
}

SqliteStore::~SqliteStore() {
  witness_.sync();
  // Closing brings the log in. Where somebody reads, the next daemon does; and on a full disk the
  // log keeps the room that it holds.
  if ((reserve_ && reserve_->is_needed()) || !witness_.keep_readers_out())
    static_cast<void>(connection_.keep_log_at_close(true));
}

void SqliteStore::hold_reserve(std::int64_t bytes) {
  reserve_.emplace(file_.path(), bytes);
  reserve_->hold();
}

Result<void> SqliteStore::prepare(bool accepts_loss) {
  const std::string place = shown(file_.path().string(), 200);
  // Exclusive: the index of the log lies in this program's memory, not in a shared file that a full
  // disk could take from under it.
  const auto set = connection_.run(
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
      "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;"
      "PRAGMA journal_size_limit = 33554432; PRAGMA temp_store = MEMORY");
  if (!set) return set;
  connection_.log_grows_until_told();
  // Of a store that is refused the log stays as it is: what SQLite cannot read of it may be mended.
  if (const auto kept = connection_.keep_log_at_close(true); !kept) return kept;
  const auto before = connection_.number("PRAGMA user_version");
  if (!before) return std::unexpected(before.error());
  const auto version = begin_or_know_schema(connection_, place);
  if (!version) return std::unexpected(version.error());
  if (file_.torn()) return damaged(connection_, "its end is missing");
  if (const auto wal = connection_.run("PRAGMA journal_mode = WAL"); !wal) return wal;
  if (const auto fine = check_and_upgrade(connection_, *version); !fine) return fine;
  SqliteRun run = connection_.use("SELECT name, highest FROM numbers");
  while (run.row()) take_number(run, numbers_);
  if (const auto fine = run.state(); !fine) return fine;
  // One of an earlier schema was written by a program that did not count; a new one has none.
  const bool counted = *before == 0 || *before >= counting_since;
  if (const auto heard = hear_witness(counted, accepts_loss); !heard) return heard;
  return connection_.keep_log_at_close(false);
}

Result<void> SqliteStore::check_numbers() {
  const auto highest = connection_.number("SELECT coalesce(max(number), 0) FROM jobs");
  if (!highest) return std::unexpected(highest.error());
  if (numbers_agree(witness_.seen(), numbers_, *highest)) return {};
  return damaged(connection_, wrong_numbers);
}

Result<void> SqliteStore::undo_what_failed() {
  if (!connection_.inside()) return {};
  return connection_.use("ROLLBACK").done();
}

Result<void> SqliteStore::accept_numbers(const Numbers& numbers) {
  if (const auto begun = connection_.use("BEGIN IMMEDIATE").done(); !begun) return begun;
  auto done = put_numbers(numbers);
  if (done) done = connection_.use("COMMIT").done();
  if (done)
    numbers_ = numbers;
  else if (connection_.inside())
    static_cast<void>(connection_.use("ROLLBACK").done());
  return done;
}

Result<void> SqliteStore::hear_witness(bool counted, bool accepts_loss) {
  const auto& seen = witness_.seen();
  if (counted && !seen && (witness_.damaged() || numbers_.batch > 0))
    remarks_.push_back(fmt::format(
        "{} is {}: whether the latest jobs are all in the store cannot be told",
        shown(file_.witness().string(), 200), witness_.damaged() ? "damaged" : "gone or empty"));
  const std::string lost = counted && seen ? missing_batches(*seen, numbers_) : "";
  if (!lost.empty()) {
    if (!accepts_loss)
      return fail(ErrorKind::bad_input, shown(file_.path().string(), 200), lost,
                  "restore it with its log from a backup, or start once with --accept-loss");
    remarks_.push_back(fmt::format("{}: {}; the loss is accepted", file_.path().string(), lost));
    const auto kept = accept_numbers(
        {seen->batch, std::max(seen->job, numbers_.job), std::max(seen->event, numbers_.event)});
    if (!kept) return kept;
  } else if (counted) {
    if (const auto fine = check_numbers(); !fine) return fine;
  }
  witness_.begin_at(numbers_);
  return {};
}

void SqliteStore::settle() {
  witness_.sync();
  if (reserve_) reserve_->hold();
  if (unsettled_) bring_log_in();
}

void SqliteStore::bring_log_in() {
  const bool alone = witness_.keep_readers_out();
  if (!alone && connection_.log_pages() < longest_log) return;
  if (connection_.bring_log_in()) unsettled_ = false;
  if (alone) witness_.let_readers_in();
}

Error SqliteStore::broken(std::string message) const {
  return {ErrorKind::internal, shown(file_.path().string(), 200), std::move(message), ""};
}

Result<void> SqliteStore::sync_as(Durability durability) {
  if (durability == syncing_) return {};
  const auto set =
      connection_.run(durability == Durability::synced ? "PRAGMA synchronous = FULL"
                                                       : "PRAGMA synchronous = NORMAL");
  if (set) syncing_ = durability;
  return set;
}

Result<void> SqliteStore::write(const StoreBatch& batch, Durability durability) {
  if (batch.empty()) return {};
  if (const auto there = is_there(); !there) return there;
  if (const auto undone = undo_what_failed(); !undone) return undone;
  if (const auto set = sync_as(durability); !set) return set;
  if (const auto begun = connection_.use("BEGIN IMMEDIATE").done(); !begun) return begun;
  const auto numbers = put(batch);
  auto done = numbers ? connection_.use("COMMIT").done() : std::unexpected(numbers.error());
  if (!done) {
    // A full disk has undone it already. What the undoing says is what was said before.
    if (connection_.inside()) static_cast<void>(connection_.use("ROLLBACK").done());
    return done;
  }
  numbers_ = *numbers;
  unsettled_ = true;
  if (durability == Durability::synced) witness_.note(numbers_);
  if (connection_.log_pages() >= long_log) bring_log_in();
  if (!batch.forgotten.empty()) give_back_room(64 + 2 * batch.forgotten.size());
  return {};
}

Result<SqliteStore::Numbers> SqliteStore::put(const StoreBatch& batch) {
  Numbers numbers = numbers_;
  // One after the other, and none after one that failed: a full disk has ended the transaction by
  // then.
  auto done = put_jobs(batch, numbers);
  static const std::string attempt =
      upsert_statement(StoreTable<AttemptRecord>{"attempts", attempt_columns(), 2});
  static const std::string instance =
      upsert_statement(StoreTable<InstanceRecord>{"instances", instance_columns()});
  if (done) done = put_rows(attempt, attempt_columns(), batch.attempts);
  for (const JobKey& last : batch.outdated)
    if (done)
      done = connection_
                 .use(
                     "DELETE FROM attempts WHERE job = ?1 AND attempt <= ?2 AND ended_ns IS NOT "
                     "NULL")
                 .with(last.job, last.attempt)
                 .done();
  if (done) done = put_rows(instance, instance_columns(), batch.instances);
  if (done) done = put_events(batch, numbers);
  if (done) done = put_settings(batch);
  if (done) done = put_learnt(batch);
  if (done) done = put_plans(batch);
  if (done) done = put_usage(batch);
  if (done) done = forget(batch);
  ++numbers.batch;
  if (done) done = put_numbers(numbers);
  if (!done) return std::unexpected(done.error());
  return numbers;
}

Result<void> SqliteStore::put_numbers(const Numbers& numbers) {
  static const std::string put = update_statement("numbers", number_columns());
  for (const StoredNumber& each :
       {StoredNumber("job", numbers.job), StoredNumber("event", numbers.event),
        StoredNumber("batch", numbers.batch)}) {
    SqliteRun run = connection_.use(put);
    put_columns(run, number_columns(), each, true);
    if (const auto done = run.done(); !done) return done;
  }
  return {};
}

template <class Record>
Result<void> SqliteStore::put_rows(const std::string& statement,
                                   std::span<const StoreColumn<Record>> columns,
                                   const std::vector<Record>& records) {
  for (const Record& each : records) {
    SqliteRun run = connection_.use(statement);
    put_columns(run, columns, each, true);
    if (const auto done = run.done(); !done) return done;
  }
  return {};
}

Result<void> SqliteStore::put_jobs(const StoreBatch& batch, Numbers& numbers) {
  static const std::string add = insert_statement("jobs", job_columns());
  static const std::string change = update_statement("jobs", job_columns());
  for (const JobRecord& job : batch.jobs) {
    const bool first = job.number > numbers.job;
    SqliteRun run = connection_.use(first ? add : change);
    put_columns(run, job_columns(), job, first);
    if (const auto done = run.done(); !done) return done;
    if (connection_.changes() != 1)
      return std::unexpected(
          broken(fmt::format("job {}: its number was given before", job.number)));
    numbers.job = std::max(numbers.job, job.number);
  }
  static const std::string command = insert_statement("commands", command_columns());
  auto done = put_rows(command, command_columns(), batch.commands);
  for (const JobNumber number : batch.bared)
    if (done) done = bare(number);
  return done;
}

/// A damaged command stays as it is: those that ask for it learn that it is damaged.
Result<void> SqliteStore::bare(JobNumber number) {
  auto kept = command(number);
  if (!kept && kept.error().kind == ErrorKind::infeasible) return std::unexpected(kept.error());
  if (!kept || !*kept || (*kept)->environment.empty()) return {};
  (*kept)->environment.clear();
  static const std::string put = update_statement("commands", command_columns());
  SqliteRun run = connection_.use(put);
  put_columns(run, command_columns(), StoredCommand(number, std::move(**kept)), true);
  return run.done();
}

Result<void> SqliteStore::put_events(const StoreBatch& batch, Numbers& numbers) {
  static const std::string put = insert_statement("events", event_columns());
  for (const EventRecord& event : batch.events) {
    if (event.number != numbers.event + 1)
      return std::unexpected(
          broken(fmt::format("event {} where {} is next", event.number, numbers.event + 1)));
    SqliteRun run = connection_.use(put);
    put_columns(run, event_columns(), event, true);
    if (const auto done = run.done(); !done) return done;
    numbers.event = event.number;
  }
  return {};
}

Result<void> SqliteStore::put_settings(const StoreBatch& batch) {
  static const std::string put =
      upsert_statement(StoreTable<StoredSetting>{"settings", setting_columns()});
  for (const StoredSetting& each : batch.settings) {
    const bool gone = each.second.empty();
    SqliteRun run = connection_.use(gone ? "DELETE FROM settings WHERE key = ?1" : put);
    put_columns(run, gone ? setting_columns().first(1) : setting_columns(), each, true);
    if (const auto done = run.done(); !done) return done;
  }
  return {};
}

Result<void> SqliteStore::put_learnt(const StoreBatch& batch) {
  static const std::string put =
      upsert_statement(StoreTable<LearntProfile>{"learnt", learnt_columns(), 5});
  if (const auto done = put_rows(put, learnt_columns(), batch.learnt); !done) return done;
  for (const LearntKey& each : batch.unlearnt) {
    const auto done = connection_
                          .use(
                              "DELETE FROM learnt WHERE uid = ?1 AND application = ?2 AND batch = "
                              "?3 AND gpu_model = ?4 AND profile = ?5")
                          .with(each.uid, each.profile.application, each.profile.batch,
                                each.profile.gpu_model, each.profile.profile)
                          .done();
    if (!done) return done;
  }
  return {};
}

/// The oldest make room; none of those is open, since there is one at a time.
Result<void> SqliteStore::put_plans(const StoreBatch& batch) {
  static const std::string put = upsert_statement(StoreTable<LivePlan>{"plans", plan_columns()});
  if (batch.plans.empty()) return {};
  if (const auto done = put_rows(put, plan_columns(), batch.plans); !done) return done;
  return connection_.use("DELETE FROM plans WHERE number <= ?1")
      .with(batch.plans.back().number - most_plans)
      .done();
}

namespace {

/// "UPDATE jobs SET energy_mj = ..., sum = row_sum(...) WHERE number = ?1 AND ...": what a job has
/// used more, ?2, null for nothing, and without a counter, ?3. A row that is not what was written
/// stays as it is.
std::string energy_statement() {
  const auto value = [](const StoreColumn<JobRecord>& each) -> std::string {
    if (each.name == "energy_mj")
      return "CASE WHEN ?2 IS NULL THEN energy_mj ELSE coalesce(energy_mj, 0) + ?2 END";
    if (each.name == "unmetered_ns") return "unmetered_ns + ?3";
    return std::string(each.name);
  };
  std::string text = "UPDATE jobs SET ";
  for (const auto& each : job_columns())
    if (each.name == "energy_mj" || each.name == "unmetered_ns")
      text += fmt::format("{} = {}, ", each.name, value(each));
  return fmt::format("{}sum = {} WHERE number = ?1 AND {}", text,
                     sum_expression("jobs", job_columns(), false, value),
                     is_intact("jobs", job_columns(), "jobs"));
}

}  // namespace

Result<void> SqliteStore::put_usage(const StoreBatch& batch) {
  static const std::string add =
      add_statement(StoreTable<UsageRow>{"usage", usage_columns(), usage_keys});
  static const std::string energy = energy_statement();
  if (const auto done = put_rows(add, usage_columns(), batch.usage); !done) return done;
  for (const auto& [job, more] : batch.energies) {
    const auto done =
        connection_.use(energy).with(job, more.millijoules, more.unmetered.count()).done();
    if (!done) return done;
  }
  return {};
}

Result<void> SqliteStore::forget_usage(std::int64_t before) {
  if (const auto set = sync_as(Durability::written); !set) return set;
  return connection_.use("DELETE FROM usage WHERE day < ?1").with(before).done();
}

Result<void> SqliteStore::forget(const StoreBatch& batch) {
  for (const JobNumber number : batch.forgotten) {
    // Its command and attempts go with it, by their references.
    const auto done =
        connection_.use("DELETE FROM jobs WHERE number = ?1 AND final = 1").with(number).done();
    if (!done) return done;
    if (connection_.changes() != 1)
      return std::unexpected(broken(fmt::format("job {}: forgotten before it is final", number)));
  }
  return {};
}

Result<void> SqliteStore::forget_events(std::size_t keep) {
  constexpr std::int64_t all = INT64_MAX;
  const std::int64_t stay =
      keep > static_cast<std::size_t>(all) ? all : static_cast<std::int64_t>(keep);
  if (const auto set = sync_as(Durability::written); !set) return set;
  const auto events =
      connection_.use("DELETE FROM events WHERE number <= ?1").with(numbers_.event - stay).done();
  if (!events) return events;
  const std::int64_t forgotten = connection_.changes();
  const auto instances =
      connection_
          .use(
              "DELETE FROM instances WHERE gone_ns IS NOT NULL AND gone_ns <= (SELECT gone_ns FROM "
              "instances"
              " WHERE gone_ns IS NOT NULL ORDER BY gone_ns DESC LIMIT 1 OFFSET ?1)")
          .with(stay)
          .done();
  if (forgotten > 0) give_back_room(64);
  return instances;
}

void SqliteStore::give_back_room(std::size_t pages) {
  // What is forgotten is forgotten; where its room cannot be given back now, it is used again.
  if (sync_as(Durability::written))
    static_cast<void>(connection_.run(fmt::format("PRAGMA incremental_vacuum({})", pages)));
}

Result<void> SqliteStore::limit_pages(std::int64_t most) {
  return connection_.run(fmt::format("PRAGMA max_page_count = {}", most));
}

}  // namespace cleave
