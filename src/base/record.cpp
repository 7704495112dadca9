#include "base/record.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::optional<WrongValue> wrong_text(const FieldInfo& info, std::string_view text) {
  if (!valid_utf8(text))
    return WrongValue{"it is not UTF-8", "rename what it names, or put it into a script"};
  if (info.has_least() && static_cast<std::int64_t>(text.size()) < info.least)
    return WrongValue{"it is empty", ""};
  if (info.has_most() && static_cast<std::int64_t>(text.size()) > info.most)
    return WrongValue{fmt::format("it has {} bytes, and the limit is {}", text.size(), info.most),
                      ""};
  return info.text != nullptr ? info.text(text) : std::nullopt;
}

std::optional<WrongValue> wrong_time(const FieldInfo& info, Duration time) {
  if (info.has_most() && time > std::chrono::seconds(info.most))
    return WrongValue{fmt::format("it is longer than {} s", info.most), ""};
  if (info.has_least() && info.above_least && time <= std::chrono::seconds(info.least))
    return WrongValue{
        fmt::format("expected a time above {} s, found {} s", info.least, in_seconds(time)),
        "leave it out where the time is unknown"};
  return std::nullopt;
}

std::optional<WrongValue> wrong_number(const FieldInfo& info, double number) {
  const auto least = static_cast<double>(info.least), most = static_cast<double>(info.most);
  if (info.has_most() && number > most)
    return WrongValue{fmt::format("expected a number up to {}, found {}", info.most, number), ""};
  if (info.has_least() && (number < least || (info.above_least && number == least)))
    return WrongValue{fmt::format("expected a number {} {}, found {}",
                                  info.above_least ? "above" : "from", info.least, number),
                      ""};
  return std::nullopt;
}

WrongValue wrong_word(const FieldInfo& info, std::string_view text) {
  const std::vector<std::string> words(info.words.begin(), info.words.end());
  return {fmt::format("expected {}, found '{}'", any_of(words), shown(text)), ""};
}

}  // namespace cleave
