#include "daemon/store/row_sum.hpp"

#include <bit>
#include <cstring>

namespace cleave {

namespace {

// Before each value, so that no two rows of other values are the same sequence of words.
enum class ValueKind : std::uint8_t { nothing = 1, integer, text };

std::uint64_t word_of(std::string_view bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return word;
}

std::string_view bytes_of(sqlite3_value* value) {
  const void* data = sqlite3_value_blob(value);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

void row_sum(sqlite3_context* context, int count, sqlite3_value** values) {
  RowSum sum;
  for (int each = 0; each < count; ++each) {
    sqlite3_value* value = values[each];
    switch (sqlite3_value_type(value)) {
      case SQLITE_NULL:
        sum.add_nothing();
        break;
      case SQLITE_INTEGER:
        sum.add(sqlite3_value_int64(value));
        break;
      case SQLITE_TEXT: {
        if (sqlite3_value_text(value) == nullptr) return sqlite3_result_error_nomem(context);
        sum.add(bytes_of(value));
        break;
      }
      // No column holds another type: its row is damaged, and no sum agrees with it.
      default:
        return sqlite3_result_null(context);
    }
  }
  sqlite3_result_int64(context, sum.value());
}

}  // namespace

void RowSum::mix(std::uint64_t word) {
  // Each step can be undone, so words that differ in one place never end alike.
  sum_ = std::rotl((sum_ ^ word) * 0x9e3779b97f4a7c15, 29);
}

RowSum& RowSum::add(std::int64_t value) {
  mix(static_cast<std::uint64_t>(ValueKind::integer));
  mix(static_cast<std::uint64_t>(value));
  return *this;
}

RowSum& RowSum::add(std::string_view text) {
  mix(static_cast<std::uint64_t>(ValueKind::text));
  mix(text.size());
  constexpr std::size_t step = sizeof(std::uint64_t);
  for (; text.size() >= step; text.remove_prefix(step)) mix(word_of(text.substr(0, step)));
  if (!text.empty()) mix(word_of(text));
  return *this;
}

RowSum& RowSum::add_nothing() {
  mix(static_cast<std::uint64_t>(ValueKind::nothing));
  return *this;
}

int add_row_sum(sqlite3* connection) {
  constexpr int any_number = -1;
  return sqlite3_create_function_v2(connection, "row_sum", any_number,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, nullptr,
                                    row_sum, nullptr, nullptr, nullptr);
}

}  // namespace cleave
