#pragma once
// SQLite as the store uses it: one connection that is this program's alone, statements that are
// prepared once and kept, values bound and read from left to right. Errors say the file, what
// happened and what would help. Not for several threads.

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.hpp"
#include "base/time.hpp"

namespace cleave {

class SqliteConnection;

/// One run of a statement: values first, then rows. What goes wrong is kept, and ends it.
class SqliteRun {
 public:
  ~SqliteRun();
  SqliteRun(const SqliteRun&) = delete;
  SqliteRun& operator=(const SqliteRun&) = delete;

  /// The next values of the statement. Texts may go after the call.
  template <class... Values>
  SqliteRun& with(const Values&... values) {
    (bind(values), ...);
    return *this;
  }
  /// Goes on to the next row; false: there is none, or something is wrong.
  bool row();
  /// To the end, and whether all is well.
  [[nodiscard]] Result<void> done();
  [[nodiscard]] Result<void> state() const;

  // The next column of the row.

  std::int64_t integer();
  std::optional<std::int64_t> integer_if();
  /// Good until the next row.
  std::string_view text();
  std::optional<std::string_view> text_if();
  Instant instant() { return Instant(Duration(integer())); }
  std::optional<Instant> instant_if();
  std::optional<int> int_if();

 private:
  friend class SqliteConnection;
  SqliteRun(const SqliteConnection& connection, sqlite3_stmt* statement, std::optional<Error> error)
      : connection_(&connection), statement_(statement), error_(std::move(error)) {}

  void bind(std::int64_t value);
  void bind(std::string_view value);
  void bind(Instant value) { bind(value.time_since_epoch().count()); }
  template <class Value>
  void bind(const std::optional<Value>& value) {
    if (value)
      bind(Widened<Value>(*value));
    else
      bind_nothing();
  }
  void bind_nothing();
  void check(int code);

  template <class Value>
  static auto widened_type() {
    if constexpr (std::is_integral_v<Value>)
      return std::int64_t{};
    else
      return Value{};
  }
  template <class Value>
  using Widened = decltype(widened_type<Value>());

  const SqliteConnection* connection_;
  sqlite3_stmt* statement_;
  std::optional<Error> error_;
  int next_ = 1;
  int column_ = 0;
};

/// The connection to one database file.
class SqliteConnection {
 public:
  /// A file that is there already; its path has no link in it. Statements have row_sum().
  [[nodiscard]] static Result<SqliteConnection> open(const std::filesystem::path& file);
  /// The same to read only, without a lock, and without a change to any file, also when it closes:
  /// for files that stay as they are meanwhile, except that the log may grow. `with_log`: there is
  /// a log that is not empty.
  [[nodiscard]] static Result<SqliteConnection> look_at(const std::filesystem::path& file,
                                                        bool with_log);

  /// Statements without values and rows.
  [[nodiscard]] Result<void> run(const std::string& sql);
  /// The one whole number that it answers.
  [[nodiscard]] Result<std::int64_t> number(const std::string& sql);
  /// A statement with values or rows; prepared once.
  [[nodiscard]] SqliteRun use(const std::string& sql);
  /// Rows changed by the last statement.
  [[nodiscard]] std::int64_t changes() const { return sqlite3_changes64(connection_.get()); }
  /// Whether closing leaves the log as it is. Else the log is brought into the database, as far as
  /// SQLite can read it, and deleted.
  [[nodiscard]] Result<void> keep_log_at_close(bool keep);
  /// The log is brought into the database when bring_log_in() is called and when the connection
  /// closes, and at no other time.
  void log_grows_until_told();
  /// Pages in the log after the last transaction.
  [[nodiscard]] int log_pages() const { return *log_pages_; }
  [[nodiscard]] Result<void> bring_log_in();
  /// Copies the database as this connection sees it into that of another.
  [[nodiscard]] Result<void> copy_to(const SqliteConnection& to) const;
  /// Whether a transaction is open.
  [[nodiscard]] bool inside() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

  [[nodiscard]] Error error(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  SqliteConnection(std::string place, std::unique_ptr<sqlite3, Close> connection)
      : place_(std::move(place)), connection_(std::move(connection)) {}
  [[nodiscard]] static Result<SqliteConnection> open(const std::filesystem::path& file,
                                                     const std::string& name, int flags,
                                                     const char* vfs);

  std::string place_;
  std::unique_ptr<int> log_pages_ = std::make_unique<int>(0);  // which SQLite counts
  std::unique_ptr<sqlite3, Close> connection_;
  std::unordered_map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
};

}  // namespace cleave
