#include <algorithm>
#include <concepts>

#include "api/job_list.hpp"
#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

template <class Record>
requires is_record<Record>
void append(std::string& to, const Record& record);

void append(std::string& to, bool value) {
  to += value ? "true" : "false";
}
template <std::integral Number>
void append(std::string& to, const Number& value) {
  const fmt::format_int text(value);
  to.append(text.data(), text.size());
}
template <class Kind, class Number>
void append(std::string& to, const Count<Kind, Number>& value) {
  append(to, value.value);
}
void append(std::string& to, double value) {
  to += Json(value).dump();
}
void append(std::string& to, const std::string& text) {
  const auto plain = [](unsigned char letter) {
    return letter >= 0x20 && letter < 0x7f && letter != '"' && letter != '\\';
  };
  if (!std::ranges::all_of(text, plain)) {
    to += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  to += '"';
  to += text;
  to += '"';
}
void append(std::string& to, Instant time) {
  to += '"';
  to += utc_text(time);
  to += '"';
}
template <class Value>
void append(std::string& to, const std::optional<Value>& value) {
  if (value)
    append(to, *value);
  else
    to += "null";
}

template <class Record>
requires is_record<Record>
void append(std::string& to, const Record& record) {
  constexpr const auto& rows = fields_of<Record>;
  char before = '{';
  const auto add = [&]<std::size_t each>() {
    // A list has no fields that only a single record's answer has.
    if constexpr (std::get<each>(rows).info.use == FieldUse::everywhere) {
      to += before;
      to += '"';
      to += std::get<each>(rows).info.key;
      to += "\":";
      append(to, record.*std::get<each>(rows).member);
      before = ',';
    }
  };
  const auto add_all = [&]<std::size_t... each>(std::index_sequence<each...>) {
    (add.template operator()<each>(), ...);
  };
  add_all(std::make_index_sequence<std::tuple_size_v<decltype(fields_of<Record>)>>());
  to += '}';
}

}  // namespace

void append_job_text(std::string& to, const ApiJob& job) {
  append(to, job);
}

}  // namespace cleave
