#include "daemon/store/sqlite.hpp"

#include <system_error>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/store/row_sum.hpp"

namespace cleave {

namespace {

/// What a failure of SQLite means, by its primary code.
struct Meaning {
  int code;
  ErrorKind kind;
  const char* message;
  const char* remedy;
};

constexpr const char* damaged_remedy =
    "stop the daemon, keep a copy of it, and bring back a backup, or what can be read with "
    "'sqlite3 FILE .recover'; moved away, a new one is begun";
constexpr const char* owner_remedy =
    "run it as the user who owns it, or name another directory with --state";

constexpr Meaning meanings[] = {
    {SQLITE_FULL, ErrorKind::infeasible, "cannot be written: the disk is full",
     "free space on its disk; nothing that was written before is lost"},
    {SQLITE_CORRUPT, ErrorKind::bad_input, "the database is damaged", damaged_remedy},
    {SQLITE_NOTADB, ErrorKind::bad_input, "is not an SQLite database, or its beginning is damaged",
     damaged_remedy},
    {SQLITE_READONLY, ErrorKind::infeasible, "cannot be written", owner_remedy},
    {SQLITE_PERM, ErrorKind::infeasible, "cannot be opened", owner_remedy},
    {SQLITE_CANTOPEN, ErrorKind::infeasible, "cannot be opened", owner_remedy},
    {SQLITE_BUSY, ErrorKind::infeasible, "another program has it open", "close that program"},
    {SQLITE_LOCKED, ErrorKind::infeasible, "another program has it open", "close that program"},
    {SQLITE_NOMEM, ErrorKind::infeasible, "there is no memory left to use it", "free some memory"},
    {SQLITE_IOERR, ErrorKind::infeasible, "the system failed to read or write it",
     "look at the disk and at the kernel's messages"},
    {SQLITE_TOOBIG, ErrorKind::bad_input, "a text is too long to be kept", ""},
};

}  // namespace

Error SqliteConnection::error(int code) const {
  const int why = connection_ ? sqlite3_system_errno(connection_.get()) : 0;
  const std::string details = connection_ ? sqlite3_errmsg(connection_.get()) : "";
  for (const Meaning& meaning : meanings) {
    if (meaning.code != (code & 0xff)) continue;
    const bool system = meaning.code == SQLITE_IOERR || meaning.code == SQLITE_CANTOPEN;
    const std::string told = system && why != 0 ? std::generic_category().message(why) : details;
    return {meaning.kind, place_, fmt::format("{} ({}; SQLite {})", meaning.message, told, code),
            meaning.remedy};
  }
  return {ErrorKind::internal, place_, fmt::format("SQLite refused: {} ({})", details, code), ""};
}

Result<SqliteConnection> SqliteConnection::open(const std::filesystem::path& file,
                                                const std::string& name, int flags,
                                                const char* vfs) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(
      name.c_str(), &opened,
      flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs);
  SqliteConnection connection(shown(file.string(), 200), std::unique_ptr<sqlite3, Close>(opened));
  if (code != SQLITE_OK) return std::unexpected(connection.error(code));
  if (const int added = add_row_sum(opened); added != SQLITE_OK)
    return std::unexpected(connection.error(added));
  return connection;
}

Result<SqliteConnection> SqliteConnection::open(const std::filesystem::path& file) {
  return open(file, file.string(), SQLITE_OPEN_READWRITE, nullptr);
}

Result<SqliteConnection> SqliteConnection::look_at(const std::filesystem::path& file,
                                                   bool with_log) {
  std::string name = "file:";
  for (const char each : file.string())
    if (each == '%' || each == '?' || each == '#')
      name += fmt::format("%{:02x}", static_cast<unsigned char>(each));
    else
      name += each;
  // Without a log nothing but the database is looked at; SQLite would make an empty log.
  if (!with_log) name += "?immutable=1";
  auto connection =
      open(file, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, with_log ? "unix-none" : nullptr);
  if (!connection) return connection;
  if (const auto kept = connection->keep_log_at_close(true); !kept)
    return std::unexpected(kept.error());
  // Exclusive: the index of the log lies in this program's memory.
  if (const auto set = connection->run(
          "PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; "
          "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY");
      !set)
    return std::unexpected(set.error());
  return connection;
}

void SqliteConnection::log_grows_until_told() {
  sqlite3_wal_hook(
      connection_.get(),
      [](void* count, sqlite3*, const char*, int pages) {
        *static_cast<int*>(count) = pages;
        return SQLITE_OK;
      },
      log_pages_.get());
}

Result<void> SqliteConnection::bring_log_in() {
  return use("PRAGMA wal_checkpoint(PASSIVE)").done();
}

Result<void> SqliteConnection::copy_to(const SqliteConnection& to) const {
  sqlite3_backup* copy =
      sqlite3_backup_init(to.connection_.get(), "main", connection_.get(), "main");
  if (copy == nullptr)
    return std::unexpected(to.error(sqlite3_extended_errcode(to.connection_.get())));
  constexpr int all_pages = -1;
  const int code = sqlite3_backup_step(copy, all_pages);
  const int last = sqlite3_backup_finish(copy);
  if (code == SQLITE_DONE && last == SQLITE_OK) return {};
  return std::unexpected(to.error(last != SQLITE_OK ? last : code));
}

Result<void> SqliteConnection::run(const std::string& sql) {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error(code));
  return {};
}

Result<void> SqliteConnection::keep_log_at_close(bool keep) {
  const int code =
      sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error(code));
  return {};
}

Result<std::int64_t> SqliteConnection::number(const std::string& sql) {
  SqliteRun run = use(sql);
  const std::int64_t value = run.row() ? run.integer() : 0;
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return value;
}

SqliteRun SqliteConnection::use(const std::string& sql) {
  auto& kept = statements_[sql];
  std::optional<Error> failed;
  if (!kept) {
    sqlite3_stmt* statement = nullptr;
    const int code =
        sqlite3_prepare_v3(connection_.get(), sql.c_str(), static_cast<int>(sql.size()) + 1,
                           SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    kept.reset(statement);
    if (code != SQLITE_OK) failed = error(code);
  }
  return {*this, kept.get(), std::move(failed)};
}

SqliteRun::~SqliteRun() {
  // What it says was heard already, from the step that failed.
  if (statement_ == nullptr) return;  // it could not be prepared
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void SqliteRun::check(int code) {
  if (code != SQLITE_OK && !error_) error_ = connection_->error(code);
}

void SqliteRun::bind(std::int64_t value) {
  if (!error_) check(sqlite3_bind_int64(statement_, next_++, value));
}

void SqliteRun::bind(std::string_view value) {
  // A null pointer would be NULL, also of length 0.
  const char* data = value.empty() ? "" : value.data();
  if (!error_)
    check(sqlite3_bind_text64(statement_, next_++, data, value.size(), SQLITE_TRANSIENT,
                              SQLITE_UTF8));
}

void SqliteRun::bind_nothing() {
  if (!error_) check(sqlite3_bind_null(statement_, next_++));
}

bool SqliteRun::row() {
  if (error_) return false;
  column_ = 0;
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) check(code);
  return code == SQLITE_ROW;
}

Result<void> SqliteRun::done() {
  while (row()) {
  }
  return state();
}

Result<void> SqliteRun::state() const {
  if (error_) return std::unexpected(*error_);
  return {};
}

std::int64_t SqliteRun::integer() {
  return sqlite3_column_int64(statement_, column_++);
}

std::optional<std::int64_t> SqliteRun::integer_if() {
  if (sqlite3_column_type(statement_, column_) != SQLITE_NULL) return integer();
  ++column_;
  return std::nullopt;
}

std::optional<int> SqliteRun::int_if() {
  const auto wide = integer_if();
  return wide ? std::optional<int>(static_cast<int>(*wide)) : std::nullopt;
}

std::optional<Instant> SqliteRun::instant_if() {
  const auto count = integer_if();
  return count ? std::optional<Instant>(Instant(Duration(*count))) : std::nullopt;
}

std::string_view SqliteRun::text() {
  const int column = column_++;
  // As bytes: SQLite would allocate to end a text with a zero, and answer nothing where it cannot.
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::optional<std::string_view> SqliteRun::text_if() {
  if (sqlite3_column_type(statement_, column_) != SQLITE_NULL) return text();
  ++column_;
  return std::nullopt;
}

}  // namespace cleave
