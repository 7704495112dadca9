#include "base/json.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.hpp"
#include "base/json_line.hpp"
#include "base/text.hpp"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace cleave {

namespace {

constexpr int deepest = 64;  // our formats nest at most ten levels

/// Where in `text` the parser stopped: "line 3, column 7", or of a text of one line the column.
std::string line_and_column(std::string_view text, std::size_t byte, bool one_line) {
  std::size_t line = 1, column = 1;
  for (const char c : text.substr(0, byte == 0 ? 0 : byte - 1)) {
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  return one_line ? fmt::format("column {}", column)
                  : fmt::format("line {}, column {}", line, column);
}

/// The word that the byte belongs to, which counts from one; empty if it belongs to none.
std::string_view word_at(std::string_view text, std::size_t byte) {
  constexpr auto in_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::size_t begin = std::min(byte, text.size()), end = begin;
  while (begin > 0 && in_word(text[begin - 1])) --begin;
  while (end < text.size() && in_word(text[end])) ++end;
  return text.substr(begin, end - begin);
}

/// A text that is not JSON: what is wrong where the parser stopped, and what helps.
struct BrokenText {
  std::string message = "this is not valid JSON", remedy;
};

BrokenText broken_text(std::string_view text, std::size_t byte) {
  if (byte > text.size()) return {"the JSON text ends in the middle", "the file may be cut off"};
  if (!valid_utf8(text))
    return {"this is not UTF-8 text", "convert it, as `iconv -f LATIN1 -t UTF-8` does of Latin-1"};
  const std::string word = lowercase(word_at(text, byte));
  for (const char* const number : {"nan", "inf", "infinity"})
    if (word == number)
      return {.remedy = "JSON has no NaN and no infinity; write a number, or leave the key out"};
  for (const auto& [other, ours] : {std::pair("true", "true"), std::pair("false", "false"),
                                    std::pair("null", "null"), std::pair("none", "null")})
    if (word == other) return {.remedy = fmt::format("write {} in lower case", ours)};
  if (byte <= text.find_first_not_of(" \t\r\n") + 1) return {.remedy = "is it the right file?"};
  return {.remedy = "look for a missing comma, quote or bracket just before it"};
}

std::string what_it_is(const Json& node) {
  if (node.is_string())
    return fmt::format("the text '{}'", shown(node.get_ref<const std::string&>(), 30));
  if (node.is_number() || node.is_boolean()) return node.dump();
  if (node.is_null()) return "null";
  return node.is_array() ? "a list" : "an object";
}

/// Builds a document while it is parsed and stops at the first structural error. The library's own
/// builder searches for each key among all earlier ones and copies objects as they grow.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& value) override { return put(Json::binary(std::move(value))); }
  bool start_object(std::size_t) override {
    if (objects_ == keys_.size()) keys_.emplace_back();
    Keys& keys = keys_[objects_++];
    Json object = Json::object();
    // Objects of a list are usually alike. Those that are not waste reserved space, up to a limit.
    constexpr std::size_t most = 64, most_unused = 16'384;
    const std::size_t reserved = unused_ < most_unused ? std::min(keys.count(), most) : 0;
    object.get_ref<Json::object_t&>().reserve(reserved);
    keys.clear();
    keys.reserved = reserved;
    return open(std::move(object));
  }
  bool end_object() override {
    const Keys& keys = keys_[--objects_];
    unused_ += keys.reserved - std::min(keys.reserved, keys.count());
    open_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    if (!keys_[objects_ - 1].insert(name)) repeated = name;
    key_ = std::move(name);
    return !repeated;
  }
  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception& error) override {
    if (dynamic_cast<const Json::parse_error*>(&error) != nullptr) broken = byte;
    return false;
  }

  Json document;
  std::optional<std::string> repeated;
  bool too_deep = false;
  std::optional<std::size_t> broken;  // the byte at which the text is no JSON, from one

 private:
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  Json& place(Json value) {
    if (open_.empty()) return document = std::move(value);
    if (Json& in = *open_.back(); in.is_array())
      return in.get_ref<Json::array_t&>().emplace_back(std::move(value));
    Json::object_t& object = open_.back()->get_ref<Json::object_t&>();
    object.emplace_back(std::move(key_), std::move(value));
    return object.back().second;
  }
  /// Outer values do not grow while an inner one is open, so that pointers to them stay valid.
  bool open(Json value) {
    open_.push_back(&place(std::move(value)));
    too_deep = open_.size() > static_cast<std::size_t>(deepest);
    return !too_deep;
  }

  /// The keys of an object so far. Nearly all objects are small, and there are many: their keys are
  /// searched in one text whose memory is reused.
  class Keys {
   public:
    std::size_t reserved = 0;  // space in the object from the beginning
    [[nodiscard]] std::size_t count() const { return std::max(ends_.size(), many_.size()); }
    void clear() {
      text_.clear();
      ends_.clear();
      many_.clear();
    }
    /// False if the key was there already.
    bool insert(const std::string& name) {
      constexpr std::size_t few = 32;
      if (ends_.size() >= few) {
        if (many_.empty())
          for (std::size_t i = 0; i < ends_.size(); ++i) many_.emplace((*this)[i]);
        return many_.insert(name).second;
      }
      for (std::size_t i = 0; i < ends_.size(); ++i)
        if ((*this)[i] == name) return false;
      text_ += name;
      ends_.push_back(text_.size());
      return true;
    }

   private:
    [[nodiscard]] std::string_view operator[](std::size_t i) const {
      const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
      return std::string_view(text_).substr(begin, ends_[i] - begin);
    }
    std::string text_;
    std::vector<std::size_t> ends_;
    std::set<std::string> many_;
  };

  std::vector<Json*> open_;  // the values being filled, outermost first
  std::string key_;          // of the next value in an object
  std::vector<Keys> keys_;   // of each open object, outermost first; more may be kept
  std::size_t unused_ = 0;   // reserved but unused space in all closed objects
  std::size_t objects_ = 0;  // how many of them are open
};

}  // namespace

namespace {

Result<Json> parse(std::string_view text, const std::string& place, bool one_line) {
  // The library takes a byte of zero for the end, whatever follows it.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: {}", place, line_and_column(text, zero + 1, one_line)),
                "here is a byte of zero, which no text has", "is it the right file?");
  Builder builder;
  if (Json::sax_parse(text, &builder)) return std::move(builder.document);
  if (builder.too_deep)
    return fail(ErrorKind::bad_input, place,
                fmt::format("nested more than {} levels deep", deepest));
  if (builder.repeated)
    return fail(ErrorKind::bad_input, place,
                fmt::format("the key '{}' occurs twice in one object", shown(*builder.repeated)),
                "keep one of the two");
  if (!builder.broken)
    return fail(ErrorKind::bad_input, place, "a number in the JSON text is too large");
  if (trimmed(text).empty())
    return fail(ErrorKind::bad_input, place, "the JSON text is empty", "is it the right file?");
  BrokenText why = broken_text(text, *builder.broken);
  return fail(ErrorKind::bad_input,
              fmt::format("{}: {}", place, line_and_column(text, *builder.broken, one_line)),
              std::move(why.message), std::move(why.remedy));
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& place) {
  return parse(text, place, false);
}

Result<Json> parse_json_line(std::string_view text, const std::string& place) {
  return parse(text, place, true);
}

JsonReader::JsonReader(const Json& node, std::string place, std::optional<Error>& error)
    : node_(&node), place_(std::move(place)), error_(&error) {
  if (!node.is_object()) {
    refuse("", fmt::format("expected an object in {{}}, found {}", what_it_is(node)));
    static const Json empty = Json::object();
    node_ = &empty;
  }
}

bool JsonReader::has(std::string_view key) const {
  return node_->contains(key);
}

bool JsonReader::has_object(std::string_view key) const {
  return has(key) && (*node_)[std::string(key)].is_object();
}

std::string JsonReader::place_of(std::string_view key) const {
  if (key.empty()) return place_;
  // A path in a document is gpus[3].instances[1].start, with the file's name in front.
  const bool inside = place_.ends_with(']') || place_.find(": ") != std::string::npos;
  return fmt::format("{}{}{}", place_, inside ? "." : ": ", shown(key));
}

void JsonReader::refuse(std::string_view key, std::string message, std::string remedy) {
  if (!*error_)
    *error_ = Error{ErrorKind::bad_input, place_of(key), std::move(message), std::move(remedy)};
}

const Json* JsonReader::find(std::string_view key) {
  if (std::ranges::find(asked_, key) == asked_.end()) asked_.emplace_back(key);
  const auto found = node_->find(key);
  return found == node_->end() || found->is_null() ? nullptr : &*found;
}

const Json* JsonReader::require(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) refuse("", fmt::format("the key '{}' is missing", key));
  return found;
}

std::string JsonReader::text(std::string_view key) {
  return require(key) == nullptr ? std::string() : text_if(key).value_or("");
}

std::optional<std::string> JsonReader::text_if(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  refuse(key, fmt::format("expected a text, found {}", what_it_is(*found)));
  return std::nullopt;
}

std::int64_t JsonReader::integer(std::string_view key, std::int64_t least, std::int64_t most) {
  return require(key) == nullptr ? least : integer_if(key, least, most).value_or(least);
}

std::optional<std::int64_t> JsonReader::integer_if(std::string_view key, std::int64_t least,
                                                   std::int64_t most) {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_number_integer() &&
      !(found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX)) {
    const auto value = found->get<std::int64_t>();
    if (value >= least && value <= most) return value;
  }
  refuse(key, fmt::format("expected a whole number from {} to {}, found {}", least, most,
                          what_it_is(*found)));
  return std::nullopt;
}

std::optional<double> JsonReader::number_if(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_number() && std::isfinite(found->get<double>())) return found->get<double>();
  refuse(key, fmt::format("expected a number, found {}", what_it_is(*found)));
  return std::nullopt;
}

bool JsonReader::flag(std::string_view key, bool otherwise) {
  const Json* found = find(key);
  if (found == nullptr) return otherwise;
  if (found->is_boolean()) return found->get<bool>();
  refuse(key, fmt::format("expected true or false, found {}", what_it_is(*found)));
  return otherwise;
}

std::optional<Duration> JsonReader::seconds_if(std::string_view key) {
  const auto number = number_if(key);
  if (!number) return std::nullopt;
  const auto duration = duration_from_seconds(*number);
  if (!duration) {
    refuse(key, duration.error().message, duration.error().remedy);
    return std::nullopt;
  }
  if (*duration < Duration::zero()) {
    refuse(key, fmt::format("a time of {} s is negative", *number));
    return std::nullopt;
  }
  return *duration;
}

std::optional<MiB> JsonReader::size_if(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_string() && !found->is_number()) {
    refuse(key, fmt::format("expected a size, found {}", what_it_is(*found)));
    return std::nullopt;
  }
  const auto size = parse_size(found->is_string() ? found->get<std::string>() : found->dump());
  if (size) return *size;
  refuse(key, size.error().message, size.error().remedy);
  return std::nullopt;
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) {
  std::vector<JsonReader> readers;
  const Json* found = find(key);
  if (found == nullptr) return readers;
  if (!found->is_array()) {
    refuse(key, fmt::format("expected a list in [], found {}", what_it_is(*found)));
    return readers;
  }
  readers.reserve(found->size());
  for (std::size_t i = 0; i < found->size(); ++i)
    readers.emplace_back((*found)[i], fmt::format("{}[{}]", place_of(key), i), *error_);
  return readers;
}

std::vector<std::vector<JsonReader>> JsonReader::object_lists(std::string_view key) {
  std::vector<std::vector<JsonReader>> lists;
  const Json* found = find(key);
  if (found == nullptr) return lists;
  if (!found->is_array()) {
    refuse(key, fmt::format("expected a list in [], found {}", what_it_is(*found)));
    return lists;
  }
  for (std::size_t i = 0; i < found->size(); ++i) {
    const Json& inner = (*found)[i];
    const std::string place = fmt::format("{}[{}]", key, i);
    if (!inner.is_array())
      refuse(place, fmt::format("expected a list in [], found {}", what_it_is(inner)));
    auto& readers = lists.emplace_back();
    for (std::size_t j = 0; inner.is_array() && j < inner.size(); ++j)
      readers.emplace_back(inner[j], fmt::format("{}[{}]", place_of(place), j), *error_);
  }
  return lists;
}

std::optional<JsonReader> JsonReader::object_if(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  return JsonReader(*found, place_of(key), *error_);
}

std::vector<std::string> JsonReader::texts(std::string_view key) {
  std::vector<std::string> all;
  const Json* found = find(key);
  if (found == nullptr) return all;
  if (!found->is_array())
    refuse(key, fmt::format("expected a list of texts, found {}", what_it_is(*found)));
  for (const Json& element : *found) {
    if (!element.is_string()) {
      refuse(key, fmt::format("expected a list of texts, found {} in it", what_it_is(element)));
      return {};
    }
    all.push_back(element.get<std::string>());
  }
  return all;
}

std::vector<std::int64_t> JsonReader::integers(std::string_view key, std::int64_t least,
                                               std::int64_t most) {
  std::vector<std::int64_t> all;
  const Json* found = find(key);
  if (found == nullptr) return all;
  if (!found->is_array())
    refuse(key, fmt::format("expected a list of whole numbers, found {}", what_it_is(*found)));
  for (const Json& element : *found) {
    const bool fits = element.is_number_integer() &&
                      !(element.is_number_unsigned() && element.get<std::uint64_t>() > INT64_MAX);
    if (!fits || element.get<std::int64_t>() < least || element.get<std::int64_t>() > most) {
      refuse(key, fmt::format("expected whole numbers from {} to {}, found {} in it", least, most,
                              what_it_is(element)));
      return {};
    }
    all.push_back(element.get<std::int64_t>());
  }
  return all;
}

std::vector<double> JsonReader::number_list(std::string_view key) {
  std::vector<double> all;
  const Json* found = find(key);
  if (found == nullptr) return all;
  if (!found->is_array())
    refuse(key, fmt::format("expected a list of numbers, found {}", what_it_is(*found)));
  for (const Json& element : *found) {
    if (!element.is_number() || !std::isfinite(element.get<double>())) {
      refuse(key, fmt::format("expected numbers, found {} in it", what_it_is(element)));
      return {};
    }
    all.push_back(element.get<double>());
  }
  return all;
}

std::vector<std::pair<std::string, double>> JsonReader::numbers() {
  std::vector<std::pair<std::string, double>> all;
  const std::vector<std::string> others = asked_;
  for (const auto& [key, value] : node_->items()) {
    if (std::ranges::find(others, key) != others.end()) continue;
    const auto number = number_if(key);
    if (!number) {
      refuse(key, "expected a number, found null");
      return {};
    }
    all.emplace_back(key, *number);
  }
  return all;
}

void JsonReader::done() {
  for (const auto& [key, value] : node_->items()) {
    if (std::ranges::find(asked_, key) != asked_.end() || key.starts_with("x-")) continue;
    std::vector<std::string> known = asked_;
    std::ranges::sort(known);
    refuse("", fmt::format("unknown key '{}'", shown(key)), suggestion(key, known));
    return;
  }
}

}  // namespace cleave
