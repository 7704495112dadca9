#pragma once
// A record as a table: one row for each field, with its key, the member that holds it, what it
// means and its bounds. The row is the only place that says so. From it follow the JSON in and out
// (base/record_json.hpp), the text in the store, the options of `cleave submit`, the schemas of
// docs/openapi.json and the lists of fields in docs/api.md.
//
//   template <>
//   inline constexpr auto fields_of<Tea> = std::tuple{
//       field("leaves_g", &Tea::leaves, {.help = "Weight of the leaves", .least = 1}),
//       field("pot", &Tea::pot, {.help = "The pot, where one is used"})};
//
// To add a field: a member and its row. A row costs nothing until a codec walks it, and those that
// do are compiled in few files.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/quantity.hpp"
#include "base/time.hpp"

namespace cleave {

/// What a field holds, as schemas and options tell kinds apart.
enum class FieldKind : std::uint8_t {
  flag,
  integer,
  number,
  text,
  seconds,
  time,
  integers,
  texts,
  record,
  records
};

/// Which documents have the field.
enum class FieldUse : std::uint8_t {
  everywhere,
  wire,    // over the socket only
  stored,  // in the store only
  whole,   // over the socket, and there in the answer about a single record only, not in lists
};

/// The words of an enum that is written as one, by value; an empty word says nothing and is left
/// out. Specialised beside the table that uses it.
template <class Enum>
inline constexpr std::span<const std::string_view> words_of = {};

/// When the field is null on the wire.
enum class NullWhen : std::uint8_t { absent, empty, never };

/// Why a value is refused, and what would help.
struct WrongValue {
  std::string message, remedy;
};

/// What is said of a field beside where it lies. Bounds are of a number, of a time in seconds, of
/// the length of a text in bytes, or of the number of elements of a list.
struct FieldInfo {
  std::string_view help = {};    // one sentence without its full stop, for help and schemas
  std::string_view option = {};  // the option of `cleave submit` that sets it
  std::string_view stored = {};  // its key in the store, where that is another one
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  bool above_least = false;       // the least value itself is refused
  std::string_view pattern = {};  // of a text or of each element, for schemas
  std::optional<WrongValue> (*text)(std::string_view) = nullptr;  // other rules of a text
  std::optional<WrongValue> (*number)(std::int64_t) = nullptr;    // other rules of a number
  std::span<const std::string_view> words = {};  // the only texts there are, for schemas
  FieldUse use = FieldUse::everywhere;
  bool needed = false;         // a document without it is refused
  bool always_stored = false;  // also where it is as in a new record; the store needs it back
  NullWhen null = NullWhen::absent;

  // What follows from the row.
  std::string_view key = {};
  FieldKind kind = FieldKind::flag;
  bool optional = false;
  std::string_view record = {};  // the schema of the record inside; empty: it stands in place
  std::span<const FieldInfo> inside = {};

  [[nodiscard]] constexpr bool has_least() const {
    return least != std::numeric_limits<std::int64_t>::min();
  }
  [[nodiscard]] constexpr bool has_most() const {
    return most != std::numeric_limits<std::int64_t>::max();
  }
};

/// One row: where the value lies, and what is said of it.
template <class Record, class Value>
struct Field {
  Value Record::*member;
  FieldInfo info;
};

/// The table of a record: a std::tuple of rows. Specialised where the record is declared.
template <class Record>
inline constexpr auto fields_of = nullptr;

/// The name of the record's schema in docs/openapi.json; empty: it is described where it is used.
template <class Record>
inline constexpr std::string_view schema_of = "";

template <class Record>
inline constexpr bool is_record =
    !std::is_same_v<decltype(fields_of<Record>), const std::nullptr_t>;

/// The rows of a table without their members.
template <class Record>
inline constexpr auto field_infos = std::apply(
    [](const auto&... row) { return std::array<FieldInfo, sizeof...(row)>{row.info...}; },
    fields_of<Record>);

namespace fields {

template <class Value>
struct Bare {
  using type = Value;
};
template <class Value>
struct Bare<std::optional<Value>> : Bare<Value> {};
template <class Value>
struct Bare<std::vector<Value>> {
  using type = Value;
};
template <class Value>
inline constexpr bool is_list = false;
template <class Element>
inline constexpr bool is_list<std::vector<Element>> = true;
template <class Value>
inline constexpr bool is_optional = false;
template <class Value>
inline constexpr bool is_optional<std::optional<Value>> = true;

template <class Value>
constexpr FieldKind kind_of() {
  using One = typename Bare<Value>::type;
  if constexpr (is_list<Value>)
    return std::is_integral_v<One>            ? FieldKind::integers
           : std::is_same_v<One, std::string> ? FieldKind::texts
                                              : FieldKind::records;
  else if constexpr (std::is_same_v<One, bool>)
    return FieldKind::flag;
  else if constexpr (std::is_integral_v<One> || std::is_same_v<One, MiB> ||
                     std::is_same_v<One, ComputeSlices>)
    return FieldKind::integer;
  else if constexpr (std::is_floating_point_v<One>)
    return FieldKind::number;
  else if constexpr (std::is_same_v<One, std::string> || std::is_enum_v<One>)
    return FieldKind::text;
  else if constexpr (std::is_same_v<One, Duration>)
    return FieldKind::seconds;
  else if constexpr (std::is_same_v<One, Instant>)
    return FieldKind::time;
  else
    return FieldKind::record;
}

}  // namespace fields

template <class Record, class Value>
constexpr Field<Record, Value> field(std::string_view key, Value Record::*member,
                                     FieldInfo info = {}) {
  using One = typename fields::Bare<Value>::type;
  info.key = key;
  info.kind = fields::kind_of<Value>();
  info.optional = fields::is_optional<Value>;
  if constexpr (std::is_enum_v<One>)
    info.words = words_of<One>.subspan(words_of<One>.front().empty() ? 1 : 0);
  if constexpr (is_record<One>) {
    info.record = schema_of<One>;
    info.inside = field_infos<One>;
  }
  return {member, info};
}

/// What is wrong with a value by its row; nothing where all is well.
[[nodiscard]] std::optional<WrongValue> wrong_text(const FieldInfo& info, std::string_view text);
[[nodiscard]] std::optional<WrongValue> wrong_time(const FieldInfo& info, Duration time);
[[nodiscard]] std::optional<WrongValue> wrong_number(const FieldInfo& info, double number);
/// Of a text that is none of its words.
[[nodiscard]] WrongValue wrong_word(const FieldInfo& info, std::string_view text);

}  // namespace cleave
