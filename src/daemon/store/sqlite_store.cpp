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
CREATE TABLE commands (
  job INTEGER PRIMARY KEY REFERENCES jobs (number) ON DELETE CASCADE, command TEXT NOT NULL
) STRICT;
CREATE TABLE attempts ()" +
         column_definitions(attempt_columns()) + R"(, PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;
CREATE TABLE instances ()" +
         column_definitions(instance_columns()) + R"() STRICT, WITHOUT ROWID;
CREATE INDEX instances_gone ON instances (gone_ns) WHERE gone_ns IS NOT NULL;
CREATE TABLE events ()" +
         column_definitions(event_columns()) + R"() STRICT;
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE numbers (name TEXT PRIMARY KEY, highest INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO numbers VALUES ('job', 0), ('event', 0), ('batch', 0);
)" + learnt_table();
}

template <class Record>
std::int64_t newest(std::span<const StoreColumn<Record>> columns) {
  return std::ranges::max(columns, {}, &StoreColumn<Record>::since).since;
}

/// With which batches are counted.
constexpr std::int64_t counting_since = 6;

/// That of the newest column.
std::int64_t schema_version() {
  return std::max({counting_since, newest(job_columns()), newest(attempt_columns()),
                   newest(instance_columns()), newest(event_columns()), newest(learnt_columns())});
}

/// Adds the tables and columns that came after the schema `from`.
Result<void> upgrade_schema(SqliteConnection& connection, std::int64_t from) {
  const std::string learnt =
      from < 2 ? learnt_table() : upgrade_statements("learnt", learnt_columns(), from);
  const std::string counting =
      from < counting_since ? "INSERT OR REPLACE INTO numbers VALUES ('batch', 0);" : "";
  return connection.run(fmt::format(
      "BEGIN IMMEDIATE; {}{}{}{}{}{} PRAGMA user_version = {}; COMMIT",
      upgrade_statements("jobs", job_columns(), from),
      upgrade_statements("attempts", attempt_columns(), from),
      upgrade_statements("instances", instance_columns(), from),
      upgrade_statements("events", event_columns(), from), learnt, counting, schema_version()));
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

/// Begins the schema where there is none, and refuses what is not ours or newer.
Result<void> check_schema(SqliteConnection& connection, const std::string& place) {
  const auto tables = connection.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return std::unexpected(tables.error());
  if (*tables == 0) return begin_schema(connection);
  const auto whose = connection.number("PRAGMA application_id");
  if (!whose) return std::unexpected(whose.error());
  if (*whose != application)
    return fail(ErrorKind::bad_input, place, "it is a database, but not one of Cleave's",
                "move it away, or name another directory with --state");
  const auto version = connection.number("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (*version > schema_version())
    return fail(
        ErrorKind::bad_input, place,
        fmt::format("it was written by a newer Cleave: its schema is {}, this program knows {}",
                    *version, schema_version()),
        "run that version, or name another directory with --state");
  if (*version < 1)
    return fail(ErrorKind::bad_input, place, fmt::format("no schema has the number {}", *version),
                "move it away, or name another directory with --state");
  if (*version < schema_version()) return upgrade_schema(connection, *version);
  return {};
}

std::unexpected<Error> damaged(const SqliteConnection& connection, std::string_view what) {
  Error error = connection.error(SQLITE_CORRUPT);
  error.message = fmt::format("the database is damaged: {}", shown(what, 200));
  return std::unexpected(std::move(error));
}

Result<void> check_for_damage(SqliteConnection& connection) {
  const auto bytes =
      connection.number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  if (!bytes) return std::unexpected(bytes.error());
  if (*bytes > most_checked) return {};
  SqliteRun run = connection.use("PRAGMA quick_check(1)");
  const std::string found = run.row() ? std::string(run.text()) : "";
  if (const auto fine = run.state(); !fine) return fine;
  if (found == "ok") return {};
  return damaged(connection, found);
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
  if (const auto fine = check_schema(connection_, place); !fine) return fine;
  if (file_.torn()) return damaged(connection_, "its end is missing");
  if (const auto wal = connection_.run("PRAGMA journal_mode = WAL"); !wal) return wal;
  if (const auto fine = check_for_damage(connection_); !fine) return fine;
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
  if (done) done = put_attempts(batch);
  if (done) done = put_instances(batch);
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
  for (const auto& [name, highest] :
       {std::pair("job", numbers.job), std::pair("event", numbers.event),
        std::pair("batch", numbers.batch)}) {
    const auto done = connection_.use("UPDATE numbers SET highest = ?2 WHERE name = ?1")
                          .with(name, highest)
                          .done();
    if (!done) return done;
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
  for (const auto& [number, command] : batch.commands)
    if (const auto done = connection_.use("INSERT INTO commands VALUES (?1, ?2)")
                              .with(number, command_text(command))
                              .done();
        !done)
      return done;
  return {};
}

Result<void> SqliteStore::put_attempts(const StoreBatch& batch) {
  static const std::string put = fmt::format("{} ON CONFLICT (job, attempt) DO UPDATE SET {}",
                                             insert_statement("attempts", attempt_columns()),
                                             upsert_assignments(attempt_columns(), 2));
  for (const AttemptRecord& attempt : batch.attempts) {
    SqliteRun run = connection_.use(put);
    put_columns(run, attempt_columns(), attempt, true);
    if (const auto done = run.done(); !done) return done;
  }
  return {};
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

Result<void> SqliteStore::put_instances(const StoreBatch& batch) {
  static const std::string put = fmt::format("{} ON CONFLICT (device) DO UPDATE SET {}",
                                             insert_statement("instances", instance_columns()),
                                             upsert_assignments(instance_columns(), 1));
  for (const InstanceRecord& instance : batch.instances) {
    SqliteRun run = connection_.use(put);
    put_columns(run, instance_columns(), instance, true);
    if (const auto done = run.done(); !done) return done;
  }
  return {};
}

Result<void> SqliteStore::put_settings(const StoreBatch& batch) {
  for (const auto& [key, value] : batch.settings) {
    const auto done = value.empty()
                          ? connection_.use("DELETE FROM settings WHERE key = ?1").with(key).done()
                          : connection_
                                .use(
                                    "INSERT INTO settings VALUES (?1, ?2) ON CONFLICT (key) DO "
                                    "UPDATE SET value = ?2")
                                .with(key, value)
                                .done();
    if (!done) return done;
  }
  return {};
}

Result<void> SqliteStore::put_learnt(const StoreBatch& batch) {
  static const std::string put = fmt::format(
      "{} ON CONFLICT (uid, application, batch, gpu_model, profile) DO UPDATE SET {}",
      insert_statement("learnt", learnt_columns()), upsert_assignments(learnt_columns(), 5));
  for (const LearntProfile& each : batch.learnt) {
    SqliteRun run = connection_.use(put);
    put_columns(run, learnt_columns(), each, true);
    if (const auto done = run.done(); !done) return done;
  }
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
