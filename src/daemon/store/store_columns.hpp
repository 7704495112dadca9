#pragma once
// The columns of the store's tables, a row for each: its name and type, and how a record's value
// gets in and out. From them follow the tables and the statements that add, change and read
// records. A new column is a row with the schema's next number under `since`: databases of earlier
// schemas get it when they are opened, so it may be null or has a DEFAULT.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "control/job_record.hpp"
#include "control/learnt_profile.hpp"
#include "control/usage_record.hpp"
#include "daemon/store/sqlite.hpp"
#include "model/live_plan.hpp"

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
  bool adds = false;  // what is written is added to what is there
};

using StoredCommand = std::pair<JobNumber, JobCommand>;
using StoredSetting = std::pair<std::string, std::string>;
using StoredNumber = std::pair<std::string, std::int64_t>;

/// The first columns of each are its key.
[[nodiscard]] std::span<const StoreColumn<JobRecord>> job_columns();
[[nodiscard]] std::span<const StoreColumn<StoredCommand>> command_columns();
[[nodiscard]] std::span<const StoreColumn<AttemptRecord>> attempt_columns();
[[nodiscard]] std::span<const StoreColumn<InstanceRecord>> instance_columns();
[[nodiscard]] std::span<const StoreColumn<EventRecord>> event_columns();
[[nodiscard]] std::span<const StoreColumn<StoredSetting>> setting_columns();
[[nodiscard]] std::span<const StoreColumn<StoredNumber>> number_columns();
[[nodiscard]] std::span<const StoreColumn<LearntProfile>> learnt_columns();
[[nodiscard]] std::span<const StoreColumn<LivePlan>> plan_columns();
[[nodiscard]] std::span<const StoreColumn<UsageRow>> usage_columns();

/// Columns of the key of usage.
inline constexpr std::size_t usage_keys = 6;

/// A table. Each row has a checksum of its columns, `sum`. Where there are columns that are written
/// once, those have another one with the key, `fixed_sum`: what a later Cleave would write in their
/// place need not be the same text.
template <class Record>
struct StoreTable {
  std::string_view name;
  std::span<const StoreColumn<Record>> columns;
  std::size_t keys = 1;
  bool large = false;      // may have many more rows than there are jobs, or long ones
  std::int64_t since = 1;  // the schema that it came with
};

/// Calls `visit` with each table, until one call fails.
template <class Visit>
[[nodiscard]] Result<void> for_each_table(const Visit& visit) {
  Result<void> done;
  const auto next = [&](const auto& table) {
    if (done) done = visit(table);
  };
  next(StoreTable<JobRecord>{"jobs", job_columns(), 1, true});
  next(StoreTable<StoredCommand>{"commands", command_columns(), 1, true});
  next(StoreTable<AttemptRecord>{"attempts", attempt_columns(), 2, true});
  next(StoreTable<InstanceRecord>{"instances", instance_columns()});
  next(StoreTable<EventRecord>{"events", event_columns(), 1, true});
  next(StoreTable<StoredSetting>{"settings", setting_columns()});
  next(StoreTable<StoredNumber>{"numbers", number_columns()});
  next(StoreTable<LearntProfile>{"learnt", learnt_columns(), 5, false, 2});
  next(StoreTable<LivePlan>{"plans", plan_columns(), 1, false, 9});
  next(StoreTable<UsageRow>{"usage", usage_columns(), usage_keys, true, 10});
  return done;
}

// What statements are made of.

/// With which rows are summed.
inline constexpr std::int64_t sums_since = 7;
inline constexpr std::string_view sum_type = "INTEGER NOT NULL DEFAULT 0";

template <class Record>
bool has_fixed(std::span<const StoreColumn<Record>> columns) {
  return std::ranges::any_of(columns, &StoreColumn<Record>::fixed);
}

/// "number INTEGER PRIMARY KEY, uid INTEGER NOT NULL, sum INTEGER NOT NULL DEFAULT 0"
template <class Record>
std::string column_definitions(std::span<const StoreColumn<Record>> columns) {
  std::string text;
  for (const auto& each : columns) text += fmt::format("{} {}, ", each.name, each.type);
  text += fmt::format("sum {}", sum_type);
  if (has_fixed(columns)) text += fmt::format(", fixed_sum {}", sum_type);
  return text;
}

/// The columns that are read, each with `table` before it: "jobs.number, jobs.state"
template <class Record>
std::string column_names(std::span<const StoreColumn<Record>> columns, std::string_view table) {
  std::string text;
  for (const auto& each : columns)
    if (each.take != nullptr)
      text += fmt::format("{}{}.{}", text.empty() ? "" : ", ", table, each.name);
  return text;
}

/// "row_sum('jobs', number, state)", of the key and of the columns that are fixed or those that are
/// not, as the schema `version` has them. `value` says how a column is named.
template <class Record, class Value>
std::string sum_expression(std::string_view table, std::span<const StoreColumn<Record>> columns,
                           bool fixed, const Value& value, std::int64_t version = INT64_MAX) {
  std::string text = fmt::format("row_sum('{}{}'", table, fixed ? " fixed" : "");
  for (const auto& each : columns)
    if (each.since <= version && (each.fixed == fixed || &each == columns.data()))
      text += fmt::format(", {}", value(each));
  return text + ")";
}

/// Whether a row is as it was written: "jobs.sum = row_sum('jobs', jobs.number, jobs.state)". Null
/// where there is no row.
template <class Record>
std::string is_intact(std::string_view table, std::span<const StoreColumn<Record>> columns,
                      std::string_view alias, std::int64_t version = INT64_MAX) {
  const auto value = [&](const auto& each) { return fmt::format("{}.{}", alias, each.name); };
  std::string text =
      fmt::format("{}.sum = {}", alias, sum_expression(table, columns, false, value, version));
  if (has_fixed(columns))
    text += fmt::format(" AND {}.fixed_sum = {}", alias,
                        sum_expression(table, columns, true, value, version));
  return text;
}

/// Sums rows as they are: "UPDATE settings SET sum = row_sum('settings', key, value);"
template <class Record>
std::string sum_statement(std::string_view table, std::span<const StoreColumn<Record>> columns) {
  const auto value = [](const auto& each) { return each.name; };
  std::string text =
      fmt::format("UPDATE {} SET sum = {}", table, sum_expression(table, columns, false, value));
  if (has_fixed(columns))
    text += fmt::format(", fixed_sum = {}", sum_expression(table, columns, true, value));
  return text + ";";
}

/// "INSERT INTO settings (key, value, sum) VALUES (?1, ?2, row_sum('settings', ?1, ?2))"
template <class Record>
std::string insert_statement(std::string_view table, std::span<const StoreColumn<Record>> columns) {
  std::string names, values;
  const auto value = [&](const auto& each) {
    return fmt::format("?{}", &each - columns.data() + 1);
  };
  for (const auto& each : columns) {
    names += fmt::format("{}, ", each.name);
    values += fmt::format("{}, ", value(each));
  }
  names += "sum";
  values += sum_expression(table, columns, false, value);
  if (has_fixed(columns)) {
    names += ", fixed_sum";
    values += fmt::format(", {}", sum_expression(table, columns, true, value));
  }
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", table, names, values);
}

/// "INSERT ... ON CONFLICT (device) DO UPDATE SET gpu = excluded.gpu, sum = excluded.sum": of a
/// table without fixed columns, whose first `keys` columns are its key.
template <class Record>
std::string upsert_statement(const StoreTable<Record>& table) {
  std::string keys, text;
  for (const auto& each : table.columns.first(table.keys))
    keys += fmt::format("{}{}", keys.empty() ? "" : ", ", each.name);
  for (const auto& each : table.columns.subspan(table.keys))
    text += fmt::format("{} = excluded.{}, ", each.name, each.name);
  return fmt::format("{} ON CONFLICT ({}) DO UPDATE SET {}sum = excluded.sum",
                     insert_statement(table.name, table.columns), keys, text);
}

/// As upsert_statement(), but for columns that add: "SET slice_ns = usage.slice_ns +
/// excluded.slice_ns". A row that is not what was written stays as it is.
template <class Record>
std::string add_statement(const StoreTable<Record>& table) {
  std::string keys, text;
  const auto value = [&](const auto& each) {
    return each.adds ? fmt::format("{0}.{1} + excluded.{1}", table.name, each.name)
                     : fmt::format("excluded.{}", each.name);
  };
  for (const auto& each : table.columns.first(table.keys))
    keys += fmt::format("{}{}", keys.empty() ? "" : ", ", each.name);
  for (const auto& each : table.columns.subspan(table.keys))
    text += fmt::format("{} = {}, ", each.name, value(each));
  return fmt::format("{} ON CONFLICT ({}) DO UPDATE SET {}sum = {} WHERE {}",
                     insert_statement(table.name, table.columns), keys, text,
                     sum_expression(table.name, table.columns, false, value),
                     is_intact(table.name, table.columns, table.name));
}

/// "UPDATE jobs SET state = ?2, sum = row_sum('jobs', ?1, ?2) WHERE number = ?1": all that may
/// change, by the first column.
template <class Record>
std::string update_statement(std::string_view table, std::span<const StoreColumn<Record>> columns) {
  std::string text;
  const auto value = [&](const auto& each) {
    const auto before =
        std::ranges::count(columns.first(static_cast<std::size_t>(&each - columns.data())), false,
                           &StoreColumn<Record>::fixed);
    return fmt::format("?{}", before + 1);
  };
  for (const auto& each : columns.subspan(1))
    if (!each.fixed) text += fmt::format("{} = {}, ", each.name, value(each));
  return fmt::format("UPDATE {} SET {}sum = {} WHERE {} = ?1", table, text,
                     sum_expression(table, columns, false, value), columns[0].name);
}

/// What brings a table of an earlier schema up to this one; its rows must then be summed.
template <class Record>
std::string upgrade_statements(std::string_view table, std::span<const StoreColumn<Record>> columns,
                               std::int64_t from) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view type) {
    text += fmt::format("ALTER TABLE {} ADD COLUMN {} {}; ", table, name, type);
  };
  for (const auto& each : columns)
    if (each.since > from) add(each.name, each.type);
  if (from < sums_since) {
    add("sum", sum_type);
    if (has_fixed(columns)) add("fixed_sum", sum_type);
  }
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
