#pragma once
// The schema of the store: how it is begun, which versions there have been, how an earlier one is
// brought up to this one, and what a database that follows it must hold. Tables and columns are in
// store_columns.hpp. A database goes forward only: a newer one is refused.

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/store/sqlite.hpp"
#include "daemon/store/store_columns.hpp"
#include "daemon/store/store_witness.hpp"

namespace cleave {

/// With which batches are counted.
inline constexpr std::int64_t counting_since = 6;

/// That of this program.
[[nodiscard]] std::int64_t schema_version();
/// The version of a database of ours. Refuses what is not ours, newer, or of no version that there
/// has been; `place` names it.
[[nodiscard]] Result<std::int64_t> known_schema(SqliteConnection& connection,
                                                const std::string& place);
/// The same, and begins the schema in a database without tables.
[[nodiscard]] Result<std::int64_t> begin_or_know_schema(SqliteConnection& connection,
                                                        const std::string& place);
/// Refuses what is damaged, and brings an earlier schema up to this one. A database up to 64 MiB is
/// checked whole; of a larger one only the rows of tables that are not large.
[[nodiscard]] Result<void> check_and_upgrade(SqliteConnection& connection, std::int64_t version);

/// The error of a damaged database; `what` is shown.
[[nodiscard]] std::unexpected<Error> damaged(const SqliteConnection& connection,
                                             std::string_view what);

/// A row of "SELECT name, highest FROM numbers".
void take_number(SqliteRun& row, StoreProgress& progress);

/// An expression that names a row by its key: "'job ' || job || ', ' || 'attempt ' || attempt".
template <class Record>
std::string row_name(const StoreTable<Record>& table) {
  std::string text;
  for (const auto& each : table.columns.first(table.keys))
    text += fmt::format("{}'{} ' || {}", text.empty() ? "" : " || ', ' || ", each.name, each.name);
  return text;
}
/// "in the table jobs the row of number 3 is not what was written"
[[nodiscard]] std::string altered_row(std::string_view table, std::string_view row);

}  // namespace cleave
