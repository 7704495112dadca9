// A document of ten thousand jobs takes more time than all that is done with it. So the text is
// read into the jobs at once where it is as the daemon writes it, by the table of their fields;
// where anything is otherwise, it is read as every answer is, which also knows the words for what
// is wrong.

#include <limits>
#include <utility>

#include "api/job_list.hpp"
#include "api/time_text.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

/// A row of a table, for a record whose type is not known: what takes a value of each kind, null
/// where the field is not of that kind. Each says whether the value is as it should be.
struct FieldOps {
  std::string_view key = {};
  bool may_be_null = false;
  bool (*text)(void* record, std::string& value) = nullptr;
  bool (*number)(void* record, std::int64_t value) = nullptr;
  bool (*real)(void* record, double value) = nullptr;  // of a number without bounds
  bool (*flag)(void* record, bool value) = nullptr;
  /// Begins the record inside, whose rows are `inside`.
  void* (*open)(void* record) = nullptr;
  const std::vector<FieldOps>* inside = nullptr;
};

template <class Record>
const std::vector<FieldOps>& list_rows();

template <class Record, std::size_t row>
constexpr const auto& row_of = std::get<row>(fields_of<Record>);

template <class Record, std::size_t row>
auto& value_of(void* record) {
  return static_cast<Record*>(record)->*row_of<Record, row>.member;
}

/// `Value`: a number, or a count of something.
template <class Record, std::size_t row, class Value>
bool take_number(void* record, std::int64_t value) {
  constexpr const FieldInfo& info = row_of<Record, row>.info;
  if (value < info.least || value > info.most) return false;
  if constexpr (std::is_integral_v<Value>) {
    using Limits = std::numeric_limits<Value>;
    if (value < std::int64_t{Limits::min()} || value > std::int64_t{Limits::max()}) return false;
    value_of<Record, row>(record) = static_cast<Value>(value);
  } else {
    value_of<Record, row>(record) = Value{value};
  }
  return true;
}

template <class Record, std::size_t row>
FieldOps ops_of() {
  constexpr const FieldInfo& info = row_of<Record, row>.info;
  using Value = std::remove_reference_t<decltype(value_of<Record, row>(nullptr))>;
  using One = typename fields::Bare<Value>::type;
  FieldOps ops{.key = info.key, .may_be_null = info.optional};
  if constexpr (info.kind == FieldKind::flag) {
    ops.flag = [](void* record, bool value) {
      value_of<Record, row>(record) = value;
      return true;
    };
  } else if constexpr (info.kind == FieldKind::integer) {
    ops.number = take_number<Record, row, One>;
  } else if constexpr (info.kind == FieldKind::number && !info.has_least() && !info.has_most()) {
    ops.real = [](void* record, double value) {
      value_of<Record, row>(record) = value;
      return true;
    };
  } else if constexpr (info.kind == FieldKind::text) {
    ops.text = [](void* record, std::string& value) {
      value_of<Record, row>(record) = std::move(value);
      return true;
    };
  } else if constexpr (info.kind == FieldKind::time) {
    ops.text = [](void* record, std::string& value) {
      const auto time = parse_utc_text(value);
      value_of<Record, row>(record) = time;
      return time.has_value();
    };
  } else if constexpr (info.kind == FieldKind::record) {
    ops.open = [](void* record) -> void* { return &value_of<Record, row>(record).emplace(); };
    ops.inside = &list_rows<One>();
  }
  return ops;
}

/// The rows that lists have.
template <class Record>
const std::vector<FieldOps>& list_rows() {
  static const auto rows = []<std::size_t... row>(std::index_sequence<row...>) {
    std::vector<FieldOps> listed;
    const auto add = [&]<std::size_t each>() {
      if constexpr (row_of<Record, each>.info.use == FieldUse::everywhere)
        listed.push_back(ops_of<Record, each>());
    };
    (add.template operator()<row>(), ...);
    return listed;
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(fields_of<Record>)>>());
  return rows;
}

constexpr std::size_t no_field = SIZE_MAX;
/// Larger whole numbers are left to the careful reader.
constexpr std::int64_t largest_read_here = std::int64_t{1} << 40;

/// One record on its way: its rows, and which of them have been there.
struct OpenRecord {
  void* record;
  const std::vector<FieldOps>* rows;
  std::uint64_t seen = 0;
  std::size_t field = no_field;

  bool next(std::string_view name) {
    // They mostly come in this order.
    const std::size_t from = field == no_field ? 0 : field + 1;
    std::size_t found = no_field;
    for (std::size_t i = 0; i < rows->size() && found == no_field; ++i)
      if ((*rows)[(from + i) % rows->size()].key == name) found = (from + i) % rows->size();
    field = found;
    if (found == no_field || (seen >> found & 1U) != 0) return false;
    seen |= std::uint64_t{1} << found;
    return true;
  }
  [[nodiscard]] bool complete() const { return seen == (std::uint64_t{1} << rows->size()) - 1; }
};

/// Of nlohmann's SAX interface. Each call says whether the text is still as expected.
class JobListReader {
 public:
  std::vector<ApiJob> jobs;

  [[nodiscard]] bool complete() const { return place_ == Place::end; }

  bool null() {
    const FieldOps* field = field_here();
    return field != nullptr && field->may_be_null;
  }
  bool boolean(bool value) {
    const FieldOps* field = field_here();
    return field != nullptr && field->flag != nullptr && field->flag(open_.back().record, value);
  }
  bool number_integer(std::int64_t value) {
    const FieldOps* field = field_here();
    if (field == nullptr || value > largest_read_here || value < -largest_read_here) return false;
    if (field->real != nullptr) return field->real(open_.back().record, static_cast<double>(value));
    return field->number != nullptr && field->number(open_.back().record, value);
  }
  bool number_unsigned(std::uint64_t value) {
    return value <= static_cast<std::uint64_t>(largest_read_here) &&
           number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string&) {
    const FieldOps* field = field_here();
    return field != nullptr && field->real != nullptr && field->real(open_.back().record, value);
  }
  bool binary(Json::binary_t&) { return false; }
  bool string(std::string& value) {
    const FieldOps* field = field_here();
    return field != nullptr && field->text != nullptr && field->text(open_.back().record, value);
  }
  bool start_object(std::size_t) {
    if (const FieldOps* field = field_here()) {
      if (field->open == nullptr) return false;
      open_.push_back({field->open(open_.back().record), field->inside});
    } else if (place_ == Place::begin) {
      place_ = Place::document;
    } else if (place_ == Place::list && open_.empty()) {
      open_.push_back({&jobs.emplace_back(), &list_rows<ApiJob>()});
    } else {
      return false;
    }
    return true;
  }
  bool key(const std::string& name) {
    if (!open_.empty()) return open_.back().next(name);
    return place_ == Place::document && name == "jobs" && !std::exchange(has_list_, true);
  }
  bool end_object() {
    if (!open_.empty()) {
      const bool complete = open_.back().complete();
      open_.pop_back();
      return complete;
    }
    place_ = Place::end;
    return has_list_;
  }
  bool start_array(std::size_t) {
    if (place_ != Place::document || !has_list_ || std::exchange(had_list_, true)) return false;
    place_ = Place::list;
    return true;
  }
  bool end_array() {
    place_ = Place::document;
    return open_.empty();
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) { return false; }

 private:
  enum class Place : std::uint8_t { begin, document, list, end };

  /// The field whose value comes next; null outside of records.
  [[nodiscard]] const FieldOps* field_here() const {
    if (open_.empty() || open_.back().field == no_field) return nullptr;
    return &(*open_.back().rows)[open_.back().field];
  }

  Place place_ = Place::begin;
  bool has_list_ = false, had_list_ = false;
  std::vector<OpenRecord> open_;
};

}  // namespace

Result<std::vector<ApiJob>> read_jobs_text(std::string_view text, const std::string& place) {
  JobListReader reader;
  bool read = false;
  try {
    // Which the parser takes for the end, whatever follows it.
    const bool has_zero = text.find('\0') != std::string_view::npos;
    read = !has_zero && Json::sax_parse(text, &reader) && reader.complete();
  } catch (const Json::exception&) {
  }
  if (read) return std::move(reader.jobs);
  const auto document = parse_json(text, place);
  if (!document) return std::unexpected(document.error());
  return read_jobs(*document, place);
}

}  // namespace cleave
