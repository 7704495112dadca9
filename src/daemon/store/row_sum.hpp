#pragma once
// A checksum of values, in their order, with their types and lengths. It is made to notice damage
// and not an enemy: whatever changes within eight bytes changes the sum.

#include <sqlite3.h>

#include <cstdint>
#include <string_view>

namespace cleave {

/// The sum so far.
class RowSum {
 public:
  RowSum& add(std::int64_t value);
  RowSum& add(std::string_view text);
  RowSum& add_nothing();
  /// As SQLite keeps it.
  [[nodiscard]] std::int64_t value() const { return static_cast<std::int64_t>(sum_); }

 private:
  void mix(std::uint64_t word);
  std::uint64_t sum_ = 0xcbf29ce484222325;
};

/// Gives statements of this connection the function row_sum(value, ...). Returns SQLite's code.
[[nodiscard]] int add_row_sum(sqlite3* connection);

}  // namespace cleave
