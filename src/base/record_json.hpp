#pragma once
// Records as JSON objects, read and written by their tables (base/record.hpp). A Form says how one
// kind of document does it, by static members:
//
//   strict                   unknown keys are refused
//   bounded                  the bounds and rules of the rows hold
//   has(info)                whether these documents have the field
//   key(info), needed(info)  its key, and whether a document without it is refused
//   omits(info)              whether it is left out where it is as in a new record
//   json(value), read(in, key, info, value)
//                            a time, an instant, and what else the rows hold that is not JSON's;
//                            read says whether there was one
//
// Templates, and json.hpp is heavy: for the few sources that are codecs.

#include <algorithm>
#include <concepts>

#include "base/json.hpp"
#include "base/record.hpp"

namespace cleave {

template <class Form, class Record>
void read_record(JsonReader& in, Record& record);

/// Reads the value of one field. Each read() says whether there was one, and leaves the value as it
/// was where there was none.
template <class Form>
class FieldReader {
 public:
  FieldReader(JsonReader& in, const FieldInfo& info)
      : in_(in), info_(info), key_(Form::key(info)), needed_(Form::needed(info)) {}

  bool read(bool& value) const {
    const bool found = in_.flag(key_, false);
    if (found != in_.flag(key_, true)) return false;  // there is none
    value = found;
    return true;
  }

  template <std::integral Number>
  bool read(Number& value) const {
    using Limits = std::numeric_limits<Number>;
    const std::int64_t least = std::max<std::int64_t>(bounds().first, Limits::min());
    const std::int64_t most = std::min<std::int64_t>(bounds().second, Limits::max());
    const auto found =
        needed_ ? std::optional(in_.integer(key_, least, most)) : in_.integer_if(key_, least, most);
    if (!found) return false;
    if (Form::bounded && info_.number != nullptr) refuse_if(info_.number(*found));
    value = static_cast<Number>(*found);
    return true;
  }
  template <class Kind, class Number>
  bool read(Count<Kind, Number>& value) const {
    return read(value.value);
  }
  bool read(double& value) const {
    const auto found = in_.number_if(key_);
    if (!found) return false;
    if (Form::bounded) refuse_if(wrong_number(info_, *found));
    value = *found;
    return true;
  }

  bool read(std::string& value) const {
    auto found = needed_ ? std::optional(in_.text(key_)) : in_.text_if(key_);
    if (!found) return false;
    if (Form::bounded) refuse_if(wrong_text(info_, *found));
    value = std::move(*found);
    return true;
  }

  /// Whatever the form, there are no other words.
  template <class Value>
  requires std::is_enum_v<Value>
  bool read(Value& value) const {
    const auto text = needed_ ? std::optional(in_.text(key_)) : in_.text_if(key_);
    if (!text) return false;
    const auto word = std::ranges::find(words_of<Value>, *text);
    if (text->empty() || word == words_of<Value>.end()) {
      refuse_if(wrong_word(info_, *text));
      return false;
    }
    value = static_cast<Value>(word - words_of<Value>.begin());
    return true;
  }

  bool read(std::vector<std::string>& value) const {
    if (!there()) return false;
    value = in_.texts(key_);
    if (!Form::bounded) return true;
    if (info_.has_least() && std::ssize(value) < info_.least) in_.refuse(key_, "it is empty");
    FieldInfo each = info_;
    each.least = FieldInfo{}.least;
    for (const std::string& text : value) refuse_if(wrong_text(each, text));
    return true;
  }
  template <std::integral Number>
  bool read(std::vector<Number>& value) const {
    using Limits = std::numeric_limits<Number>;
    if (!there()) return false;
    value.clear();
    for (const std::int64_t each :
         in_.integers(key_, std::max<std::int64_t>(bounds().first, Limits::min()),
                      std::min<std::int64_t>(bounds().second, Limits::max())))
      value.push_back(static_cast<Number>(each));
    return true;
  }

  template <class Record>
  requires is_record<Record>
  bool read(Record& value) const {
    auto object = in_.object_if(key_);
    if (!object) return false;
    read_record<Form>(*object, value);
    return true;
  }
  template <class Record>
  requires is_record<Record>
  bool read(std::vector<Record>& value) const {
    for (JsonReader& each : in_.objects(key_)) read_record<Form>(each, value.emplace_back());
    return true;
  }

  template <class Value>
  bool read(std::optional<Value>& value) const {
    Value found{};
    if (!read(found)) return false;
    value = std::move(found);
    return true;
  }

  /// A time, an instant, and what else the form knows.
  template <class Value>
  bool read(Value& value) const {
    if (!Form::read(in_, key_, info_, value)) return false;
    if constexpr (std::is_same_v<Value, Duration>)
      if (Form::bounded) refuse_if(wrong_time(info_, value));
    return true;
  }

 private:
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> bounds() const {
    return Form::bounded ? std::pair(info_.least, info_.most)
                         : std::pair(FieldInfo{}.least, FieldInfo{}.most);
  }
  [[nodiscard]] bool there() const {
    if (in_.has(key_) || !needed_) return true;
    in_.refuse("", "the key '" + std::string(key_) + "' is missing");
    return false;
  }
  void refuse_if(std::optional<WrongValue> wrong) const {
    if (wrong) in_.refuse(key_, std::move(wrong->message), std::move(wrong->remedy));
  }

  JsonReader& in_;
  const FieldInfo& info_;
  std::string_view key_;
  bool needed_;
};

/// Reads the fields that the form's documents have; the others stay as they are.
template <class Form, class Record>
void read_record(JsonReader& in, Record& record) {
  const auto read = [&](const auto& row) {
    if (Form::has(row.info)) FieldReader<Form>(in, row.info).read(record.*row.member);
  };
  std::apply([&](const auto&... row) { (read(row), ...); }, fields_of<Record>);
  if (Form::strict) in.done();
}

template <class Form, class Record>
Json record_json(const Record& record, bool whole = true);

/// The value of a field as JSON.
template <class Form>
struct ValueJson {
  static Json of(bool value) { return value; }
  template <std::integral Number>
  static Json of(const Number& value) {
    return value;
  }
  template <class Kind, class Number>
  static Json of(const Count<Kind, Number>& value) {
    return value.value;
  }
  static Json of(double value) { return value; }
  static Json of(const std::string& value) { return value; }
  template <class Value>
  requires std::is_enum_v<Value>
  static Json of(const Value& value) {
    const std::string_view word = words_of<Value>[static_cast<std::size_t>(value)];
    return word.empty() ? Json(nullptr) : Json(word);
  }
  static Json of(const std::vector<std::string>& value) { return value; }
  template <std::integral Number>
  static Json of(const std::vector<Number>& value) {
    return value;
  }
  template <class Record>
  requires is_record<Record>
  static Json of(const Record& value) { return record_json<Form>(value); }
  template <class Record>
  requires is_record<Record>
  static Json of(const std::vector<Record>& value) {
    Json list = Json::array();
    for (const Record& each : value) list.push_back(record_json<Form>(each));
    return list;
  }
  template <class Value>
  static Json of(const std::optional<Value>& value) {
    return value ? of(*value) : Json(nullptr);
  }
  template <class Value>
  static Json of(const Value& value) {
    return Form::json(value);
  }
};

/// Adds the fields that the form's documents have; without `whole`, not those of a single record's
/// answer.
template <class Form, class Record>
void add_record(Json& to, const Record& record, bool whole = true) {
  const auto add = [&](const auto& row) {
    const FieldInfo& info = row.info;
    if (!Form::has(info) || (info.use == FieldUse::whole && !whole)) return;
    const auto& value = record.*row.member;
    static const Record fresh{};
    if (Form::omits(info) && value == fresh.*row.member) return;
    Json json = ValueJson<Form>::of(value);
    if (info.null == NullWhen::empty && json.is_string() &&
        json.template get_ref<const std::string&>().empty())
      json = nullptr;
    to[std::string(Form::key(info))] = std::move(json);
  };
  std::apply([&](const auto&... row) { (add(row), ...); }, fields_of<Record>);
}

template <class Form, class Record>
Json record_json(const Record& record, bool whole) {
  Json json = Json::object();
  add_record<Form>(json, record, whole);
  return json;
}

}  // namespace cleave
