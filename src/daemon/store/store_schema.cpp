#include "daemon/store/store_schema.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

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

/// Came with schema 9.
std::string plan_table() {
  return "CREATE TABLE plans (" + column_definitions(plan_columns()) + ") STRICT;\n";
}

/// Came with schema 10.
std::string usage_table() {
  return "CREATE TABLE usage (" + column_definitions(usage_columns()) +
         R"(, PRIMARY KEY (day, kind, uid, gid, application, gpu)
) STRICT, WITHOUT ROWID;
)";
}

/// Came with schema 8: no user has two jobs that were submitted with the same key.
constexpr std::int64_t keys_since = 8;
constexpr std::string_view key_index =
    "CREATE UNIQUE INDEX jobs_by_key ON jobs (uid, submission_key) WHERE submission_key IS NOT "
    "NULL;\n";
/// Came with schema 8.
constexpr std::int64_t attempts_index_since = 8;
const std::string attempts_index =
    "CREATE INDEX attempts_open ON attempts (job, attempt) WHERE ended_ns IS NULL;\n";

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
)" + attempts_index +
         R"(CREATE TABLE instances ()" + column_definitions(instance_columns()) +
         R"() STRICT, WITHOUT ROWID;
CREATE INDEX instances_gone ON instances (gone_ns) WHERE gone_ns IS NOT NULL;
CREATE TABLE events ()" +
         column_definitions(event_columns()) + R"() STRICT;
CREATE TABLE settings ()" +
         column_definitions(setting_columns()) + R"() STRICT, WITHOUT ROWID;
CREATE TABLE numbers ()" +
         column_definitions(number_columns()) + R"() STRICT, WITHOUT ROWID;
INSERT INTO numbers (name, highest) VALUES ('job', 0), ('event', 0), ('batch', 0);
)" + sum_statement("numbers", number_columns()) +
         learnt_table() + plan_table() + usage_table() + std::string(key_index);
}

}  // namespace

/// That of the newest table or column.
std::int64_t schema_version() {
  std::int64_t newest = attempts_index_since;
  static_cast<void>(for_each_table([&](const auto& table) -> Result<void> {
    newest = std::max(newest, table.since);
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

void take_number(SqliteRun& row, StoreProgress& progress) {
  const std::string name(row.text());
  (name == "job"     ? progress.job
   : name == "event" ? progress.event
                     : progress.batch) = row.integer();
}

std::string altered_row(std::string_view table, std::string_view row) {
  return fmt::format("in the table {} the row of {} is not what was written", table, row);
}

namespace {

/// A statement that the database does not take is not one of a sound schema.
Result<void> or_damaged(const SqliteConnection& connection, Result<void> done) {
  if (done || done.error().kind != ErrorKind::internal) return done;
  return damaged(connection, done.error().message);
}

/// Refuses a table with a row that is not as the schema `version` wrote it.
template <class Record>
Result<void> check_rows(SqliteConnection& connection, const StoreTable<Record>& table,
                        std::int64_t version) {
  SqliteRun run = connection.use(
      fmt::format("SELECT {} FROM {} NOT INDEXED WHERE ({}) IS NOT 1 LIMIT 1", row_name(table),
                  table.name, is_intact(table.name, table.columns, table.name, version)));
  const bool found = run.row();
  const std::string which = found ? std::string(run.text()) : "";
  if (const auto fine = run.state(); !fine) return fine;
  if (!found) return {};
  return damaged(connection, altered_row(table.name, which));
}

/// Adds the tables and columns that came after the schema `from`, and sums all rows.
Result<void> upgrade_schema(SqliteConnection& connection, std::int64_t from) {
  std::string text = "BEGIN IMMEDIATE; ";
  if (from < 2) text += learnt_table();
  if (from < 9) text += plan_table();
  if (from < 10) text += usage_table();
  if (from < counting_since) text += "INSERT OR REPLACE INTO numbers VALUES ('batch', 0); ";
  const auto prepared = for_each_table([&](const auto& table) -> Result<void> {
    const bool was_there = from >= table.since;
    if (was_there) text += upgrade_statements(table.name, table.columns, from);
    text += sum_statement(table.name, table.columns);
    if (from < sums_since || !was_there) return {};
    return check_rows(connection, table, from);
  });
  if (!prepared) return prepared;
  if (from < keys_since) text += key_index;
  if (from < attempts_index_since) text += attempts_index;
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

}  // namespace

Result<std::int64_t> known_schema(SqliteConnection& connection, const std::string& place) {
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

Result<std::int64_t> begin_or_know_schema(SqliteConnection& connection, const std::string& place) {
  const auto tables = connection.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables;
  if (*tables == 0)
    if (const auto begun = begin_schema(connection); !begun) return std::unexpected(begun.error());
  return known_schema(connection, place);
}

namespace {

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

}  // namespace

Result<void> check_and_upgrade(SqliteConnection& connection, std::int64_t version) {
  const auto small = is_small(connection);
  if (!small) return std::unexpected(small.error());
  if (*small)
    if (const auto fine = check_structure(connection); !fine) return fine;
  if (version < schema_version())
    if (const auto upgraded = upgrade_schema(connection, version); !upgraded)
      return or_damaged(connection, upgraded);
  return or_damaged(connection, check_all_rows(connection, *small));
}

}  // namespace cleave
