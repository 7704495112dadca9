#pragma once
// The columns of the store's tables, a row for each: its name and type, and how a record's value
// gets in and out. From them follow the tables and the statements that add, change and read
// records. A new column is a row with the schema's next number under `since`: databases of earlier
// schemas get it when they are opened, so it may be null or has a DEFAULT.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "control/job_record.hpp"
#include "control/learnt_profile.hpp"
#include "daemon/store/sqlite.hpp"

namespace cleave {

/// One column. `place` names the record in errors of reading.
template <class Record>
struct StoreColumn {
  std::string_view name, type;
  void (*put)(SqliteRun& run, const Record& record);
  /// Null: the column follows from the others, and is there to be searched by.
  Result<void> (*take)(SqliteRun& run, Record& record, const std::string& place) = nullptr;
  bool fixed = false;  // written with the first record and never again
  std::int64_t since = 1;
};

/// The first columns of each are its key.
[[nodiscard]] std::span<const StoreColumn<JobRecord>> job_columns();
[[nodiscard]] std::span<const StoreColumn<AttemptRecord>> attempt_columns();
[[nodiscard]] std::span<const StoreColumn<InstanceRecord>> instance_columns();
[[nodiscard]] std::span<const StoreColumn<EventRecord>> event_columns();
[[nodiscard]] std::span<const StoreColumn<LearntProfile>> learnt_columns();

/// What statements are made of: "number INTEGER PRIMARY KEY, uid INTEGER NOT NULL"
template <class Record>
std::string column_definitions(std::span<const StoreColumn<Record>> columns) {
  std::string text;
  for (const auto& each : columns) {
    if (!text.empty()) text += ", ";
    text.append(each.name).append(" ").append(each.type);
  }
  return text;
}

/// The columns that are read, each with `table` before it: "jobs.number, jobs.state"
template <class Record>
std::string column_names(std::span<const StoreColumn<Record>> columns, std::string_view table) {
  std::string text;
  for (const auto& each : columns) {
    if (each.take == nullptr) continue;
    if (!text.empty()) text += ", ";
    text.append(table).append(".").append(each.name);
  }
  return text;
}

/// "INSERT INTO jobs (number, uid) VALUES (?1, ?2)"
template <class Record>
std::string insert_statement(std::string_view table, std::span<const StoreColumn<Record>> columns) {
  std::string names, values;
  int number = 0;
  for (const auto& each : columns) {
    const std::string_view comma = number == 0 ? "" : ", ";
    names.append(comma).append(each.name);
    values.append(comma).append("?").append(std::to_string(++number));
  }
  return std::string("INSERT INTO ").append(table) + " (" + names + ") VALUES (" + values + ")";
}

/// "state = excluded.state, reason = excluded.reason": what an insertion changes of a record that
/// is there, `keys` being the number of its first columns.
template <class Record>
std::string upsert_assignments(std::span<const StoreColumn<Record>> columns, std::size_t keys) {
  std::string text;
  for (const auto& each : columns.subspan(keys)) {
    if (!text.empty()) text += ", ";
    text.append(each.name).append(" = excluded.").append(each.name);
  }
  return text;
}

/// "UPDATE jobs SET state = ?2 WHERE number = ?1": all that may change, by the first column.
template <class Record>
std::string update_statement(std::string_view table, std::span<const StoreColumn<Record>> columns) {
  std::string text;
  int number = 1;
  for (const auto& each : columns.subspan(1)) {
    if (each.fixed) continue;
    if (number > 1) text += ", ";
    text.append(each.name).append(" = ?").append(std::to_string(++number));
  }
  return std::string("UPDATE ").append(table) + " SET " + text + " WHERE " +
         std::string(columns[0].name) + " = ?1";
}

/// What brings a table of an earlier schema up to this one.
template <class Record>
std::string upgrade_statements(std::string_view table, std::span<const StoreColumn<Record>> columns,
                               std::int64_t from) {
  std::string text;
  for (const auto& each : columns)
    if (each.since > from)
      text.append("ALTER TABLE ")
          .append(table)
          .append(" ADD COLUMN ")
          .append(each.name)
          .append(" ")
          .append(each.type)
          .append("; ");
  return text;
}

template <class Record>
void put_columns(SqliteRun& run, std::span<const StoreColumn<Record>> columns, const Record& record,
                 bool fixed_too) {
  for (const auto& each : columns)
    if (fixed_too || !each.fixed) each.put(run, record);
}

/// Takes what column_names() named, from the next column of the row on.
template <class Record>
[[nodiscard]] Result<void> take_columns(SqliteRun& run,
                                        std::span<const StoreColumn<Record>> columns,
                                        Record& record, const std::string& place) {
  for (const auto& each : columns)
    if (each.take != nullptr)
      if (const auto taken = each.take(run, record, place); !taken) return taken;
  return {};
}

}  // namespace cleave
