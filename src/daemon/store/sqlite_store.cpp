#include "daemon/store/sqlite_store.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/record_text.hpp"
#include "daemon/store/store_columns.hpp"

namespace cleave {

namespace {

constexpr std::int64_t application =
    0x436c6561;  // "Clea", by which the database is known as one of ours
constexpr std::int64_t most_checked = 64 << 20;  // bytes; about a tenth of a second

/// Came with schema 2.
std::string learnt_table() {
  return "CREATE TABLE learnt (" + column_definitions(learnt_columns()) +
         R"(, PRIMARY KEY (uid, application, batch, gpu_model, profile)
) STRICT, WITHOUT ROWID;
)";
}

// Times are nanoseconds since 1970. A job that is final stays final.
std::string schema() {
  return "CREATE TABLE jobs (" + column_definitions(job_columns()) + R"() STRICT;
CREATE INDEX jobs_open ON jobs (number) WHERE final = 0;
CREATE INDEX jobs_ended ON jobs (ended_ns, number) WHERE final = 1;
CREATE INDEX jobs_of_user ON jobs (uid, number);
CREATE INDEX jobs_in_state ON jobs (state, number);
CREATE TRIGGER jobs_stay_final BEFORE UPDATE ON jobs WHEN OLD.final = 1 AND NEW.final = 0
  BEGIN SELECT RAISE(ABORT, 'a job that was final is not any more'); END;
CREATE TABLE commands ()" +
         column_definitions(command_columns()) + R"() STRICT;
CREATE TABLE attempts ()" +
         column_definitions(attempt_columns()) + R"(, PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;
CREATE TABLE instances ()" +
         column_definitions(instance_columns()) + R"() STRICT, WITHOUT ROWID;
CREATE INDEX instances_gone ON instances (gone_ns) WHERE gone_ns IS NOT NULL;
CREATE TABLE events ()" +
         column_definitions(event_columns()) + R"() STRICT;
CREATE TABLE settings ()" +
         column_definitions(setting_columns()) + R"() STRICT, WITHOUT ROWID;
CREATE TABLE numbers ()" +
         column_definitions(number_columns()) + R"() STRICT, WITHOUT ROWID;
INSERT INTO numbers (name, highest) VALUES ('job', 0), ('event', 0), ('batch', 0);
)" + sum_statement("numbers", number_columns()) +
         learnt_table();
}

/// With which batches are counted.
constexpr std::int64_t counting_since = 6;

/// That of the newest column.
std::int64_t schema_version() {
  std::int64_t newest = sums_since;
  static_cast<void>(for_each_table([&](const auto& table) -> Result<void> {
    for (const auto& each : table.columns) newest = std::max(newest, each.since);
    return {};
  }));
  return newest;
}

std::unexpected<Error> damaged(const SqliteConnection& connection, std::string_view what) {
  Error error = connection.error(SQLITE_CORRUPT);
  error.message = fmt::format("the database is damaged: {}", shown(what, 200));
  return std::unexpected(std::move(error));
}

/// A statement that the database does not take is not one of a sound schema.
Result<void> or_damaged(const SqliteConnection& connection, Result<void> done) {
  if (done || done.error().kind != ErrorKind::internal) return done;
  return damaged(connection, done.error().message);
}

/// Refuses a table with a row that is not as the schema `version` wrote it.
template <class Record>
Result<void> check_rows(SqliteConnection& connection, const StoreTable<Record>& table,
                        std::int64_t version) {
  std::string row;  // "'number ' || number"
  for (const auto& each : table.columns.first(table.keys))
    row += fmt::format("{}'{} ' || {}", row.empty() ? "" : " || ', ' || ", each.name, each.name);
  SqliteRun run = connection.use(
      fmt::format("SELECT {} FROM {} NOT INDEXED WHERE ({}) IS NOT 1 LIMIT 1", row, table.name,
                  is_intact(table.name, table.columns, table.name, version)));
  const bool found = run.row();
  const std::string which = found ? std::string(run.text()) : "";
  if (const auto fine = run.state(); !fine) return fine;
  if (!found) return {};
  return damaged(connection, fmt::format("in the table {} the row of {} is not what was written",
                                         table.name, which));
}

/// Adds the tables and columns that came after the schema `from`, and sums all rows.
Result<void> upgrade_schema(SqliteConnection& connection, std::int64_t from) {
  std::string text = "BEGIN IMMEDIATE; ";
  if (from < 2) text += learnt_table();
  if (from < counting_since) text += "INSERT OR REPLACE INTO numbers VALUES ('batch', 0); ";
  const auto prepared = for_each_table([&](const auto& table) -> Result<void> {
    if (from >= 2 || table.name != "learnt")
      text += upgrade_statements(table.name, table.columns, from);
    text += sum_statement(table.name, table.columns);
    return from < sums_since ? Result<void>() : check_rows(connection, table, from);
  });
  if (!prepared) return prepared;
  return connection.run(fmt::format("{} PRAGMA user_version = {}; COMMIT", text, schema_version()));
}

Result<void> begin_schema(SqliteConnection& connection) {
  // Only a database without tables takes the way of vacuuming.
  if (const auto set = connection.run(
          "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
      !set)
    return set;
  return connection.run(fmt::format(
      "BEGIN IMMEDIATE; PRAGMA application_id = {}; PRAGMA user_version = {}; {} COMMIT",
      application, schema_version(), schema()));
}

/// Begins the schema where there is none, and refuses what is not ours or newer. Gives its version.
Result<std::int64_t> check_schema(SqliteConnection& connection, const std::string& place) {
  const auto tables = connection.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables;
  if (*tables == 0)
    if (const auto begun = begin_schema(connection); !begun) return std::unexpected(begun.error());
  const auto whose = connection.number("PRAGMA application_id");
  if (!whose) return whose;
  if (*whose != application)
    return fail(ErrorKind::bad_input, place, "it is a database, but not one of Cleave's",
                "move it away, or name another directory with --state");
  const auto version = connection.number("PRAGMA user_version");
  if (!version) return version;
  if (*version > schema_version())
    return fail(
        ErrorKind::bad_input, place,
        fmt::format("it was written by a newer Cleave: its schema is {}, this program knows {}",
                    *version, schema_version()),
        "run that version, or name another directory with --state");
  if (*version < 1)
    return fail(ErrorKind::bad_input, place, fmt::format("no schema has the number {}", *version),
                "move it away, or name another directory with --state");
  return version;
}

Result<bool> is_small(SqliteConnection& connection) {
  const auto bytes =
      connection.number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  if (!bytes) return std::unexpected(bytes.error());
  return *bytes <= most_checked;
}

Result<void> check_structure(SqliteConnection& connection) {
  SqliteRun run = connection.use("PRAGMA integrity_check(1)");
  const std::string found = run.row() ? std::string(run.text()) : "";
  if (const auto fine = run.state(); !fine) return fine;
  if (found == "ok") return {};
  return damaged(connection, found);
}

/// What was learnt is advice: a daemon begins without it.
Result<void> check_all_rows(SqliteConnection& connection, bool small) {
  return for_each_table([&](const auto& table) -> Result<void> {
    if ((table.large && !small) || table.name == "learnt") return {};
    return check_rows(connection, table, INT64_MAX);
  });
}

/// Refuses what is damaged, and brings an earlier schema up to this one.
Result<void> check_for_damage(SqliteConnection& connection, std::int64_t version) {
  const auto small = is_small(connection);
  if (!small) return std::unexpected(small.error());
  if (*small)
    if (const auto fine = check_structure(connection); !fine) return fine;
  if (version < schema_version())
    if (const auto upgraded = upgrade_schema(connection, version); !upgraded)
      return or_damaged(connection, upgraded);
  return or_damaged(connection, check_all_rows(connection, *small));
}

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
}

Result<void> SqliteStore::prepare(bool accepts_loss) {
  const std::string place = shown(file_.path().string(), 200);
  // Exclusive: the index of the log lies in this program's memory, not in a shared file that a full
  // disk could take from under it. Checkpoints come after 16 MiB of log, and the log stays about
  // that long.
  const auto set = connection_.run(
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
      "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;"
      "PRAGMA wal_autocheckpoint = 4096; PRAGMA journal_size_limit = 33554432; PRAGMA temp_store = "
      "MEMORY");
  if (!set) return set;
  // Of a store that is refused the log stays as it is: what SQLite cannot read of it may be mended.
  if (const auto kept = connection_.keep_log_at_close(true); !kept) return kept;
  const auto before = connection_.number("PRAGMA user_version");
  if (!before) return std::unexpected(before.error());
  const auto version = check_schema(connection_, place);
  if (!version) return std::unexpected(version.error());
  if (file_.torn()) return damaged(connection_, "its end is missing");
  if (const auto wal = connection_.run("PRAGMA journal_mode = WAL"); !wal) return wal;
  if (const auto fine = check_for_damage(connection_, *version); !fine) return fine;
  SqliteRun run = connection_.use("SELECT name, highest FROM numbers");
  while (run.row()) {
    const std::string name(run.text());
    (name == "job"     ? numbers_.job
     : name == "event" ? numbers_.event
                       : numbers_.batch) = run.integer();
  }
  if (const auto fine = run.state(); !fine) return fine;
  // One of an earlier schema was written by a program that did not count; a new one has none.
  const bool counted = *before == 0 || *before >= counting_since;
  if (const auto heard = hear_witness(counted, accepts_loss); !heard) return heard;
  return connection_.keep_log_at_close(false);
}

Result<void> SqliteStore::check_numbers() {
  const auto highest = connection_.number("SELECT coalesce(max(number), 0) FROM jobs");
  if (!highest) return std::unexpected(highest.error());
  const auto& seen = witness_.seen();
  const bool same = seen && seen->batch == numbers_.batch;
  const bool back = seen && seen->batch < numbers_.batch &&
                    (seen->job > numbers_.job || seen->event > numbers_.event);
  if (*highest <= numbers_.job && !back && (!same || *seen == numbers_)) return {};
  return damaged(connection_, "the highest numbers that were given are not what was written");
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
  if (counted && seen && seen->batch > numbers_.batch) {
    const std::string lost = fmt::format(
        "its latest {} missing, which had been on the disk{}",
        seen->batch - numbers_.batch == 1
            ? std::string("batch is")
            : fmt::format("{} batches are", seen->batch - numbers_.batch),
        seen->job > numbers_.job ? fmt::format(": jobs {} to {} were accepted and are not there",
                                               numbers_.job + 1, seen->job)
                                 : std::string());
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
  if (!unsettled_) return;
  SqliteRun run = connection_.use("PRAGMA wal_checkpoint(PASSIVE)");
  if (run.done()) unsettled_ = false;
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
  if (done) done = put_rows(instance, instance_columns(), batch.instances);
  if (done) done = put_events(batch, numbers);
  if (done) done = put_settings(batch);
  if (done) done = put_learnt(batch);
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

/// A command that cannot be read stays as it is: whoever asks for it learns that it is damaged.
Result<void> SqliteStore::bare(JobNumber number) {
  auto kept = command(number);
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
