#include "model/job_array.hpp"

#include <algorithm>
#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::string_view index_word = "{index}";
constexpr const char* how_written =
    "write indices such as 1-200, 0-30:10 or 1,3,7-9, and %20 behind for 20 at a time";

std::unexpected<Error> wrong(std::string message) {
  return fail(ErrorKind::bad_input, "", std::move(message), how_written);
}

/// Digits only: "+1" and " 1" are no indices.
std::optional<std::int64_t> parse_index(std::string_view text) {
  const bool digits = !text.empty() && text.size() <= 9 &&
                      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return digits ? parse_integer(text) : std::nullopt;
}

/// Adds "7", "1-5" or "1-9:2".
Result<void> add_part(std::string_view part, std::vector<std::int64_t>& indices) {
  const std::size_t colon = part.find(':');
  const std::string_view range = part.substr(0, colon);
  const std::size_t dash = range.find('-');
  const auto first = parse_index(range.substr(0, dash));
  const auto last = dash == range.npos ? first : parse_index(range.substr(dash + 1));
  const auto step =
      colon == part.npos ? std::optional<std::int64_t>(1) : parse_index(part.substr(colon + 1));
  if (!first || !last || !step)
    return wrong(fmt::format("'{}' is not an index from 0 to {}, nor a range of them", shown(part),
                             highest_array_index));
  if (dash == range.npos && colon != part.npos)
    return wrong(fmt::format("'{}' has a step, and is no range", shown(part)));
  if (*last < *first) return wrong(fmt::format("'{}' ends before it begins", shown(part)));
  if (*step == 0) return wrong(fmt::format("'{}' has a step of 0", shown(part)));
  const std::int64_t more = (*last - *first) / *step + 1;
  if (std::ssize(indices) + more > most_array_tasks)
    return wrong(fmt::format("it has more than {} jobs", most_array_tasks));
  for (std::int64_t index = *first; index <= *last; index += *step) indices.push_back(index);
  return {};
}

Result<std::vector<std::int64_t>> parse_indices(std::string_view text) {
  std::vector<std::int64_t> indices;
  for (const std::string_view part : split(text, ','))
    if (const auto added = add_part(part, indices); !added) return std::unexpected(added.error());
  std::ranges::sort(indices);
  if (const auto twice = std::ranges::adjacent_find(indices); twice != indices.end())
    return wrong(fmt::format("it has the index {} twice", *twice));
  return indices;
}

}  // namespace

Result<AskedArray> parse_array(std::string_view text) {
  const std::size_t percent = text.find('%');
  AskedArray array;
  auto indices = parse_indices(text.substr(0, percent));
  if (!indices) return std::unexpected(indices.error());
  array.indices = std::move(*indices);
  if (percent == text.npos) return array;
  const std::string_view most = text.substr(percent + 1);
  array.at_once = parse_index(most).value_or(0);
  if (array.at_once < 1)
    return wrong(fmt::format("'%{}' does not say how many may run at a time", shown(most)));
  return array;
}

std::optional<WrongValue> wrong_array(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto array = parse_array(text);
  if (array) return std::nullopt;
  return WrongValue{array.error().message, array.error().remedy};
}

std::vector<std::string> with_index(std::vector<std::string> words, std::int64_t index) {
  const std::string number = fmt::format("{}", index);
  for (std::string& word : words)
    for (std::size_t at = word.find(index_word); at != word.npos;
         at = word.find(index_word, at + number.size()))
      word.replace(at, index_word.size(), number);
  return words;
}

std::optional<NamedTasks> parse_tasks(std::string_view word) {
  const std::size_t underscore = word.find('_');
  if (underscore == word.npos || underscore == 0 || underscore > 18) return std::nullopt;
  const std::string_view number = word.substr(0, underscore);
  if (!std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  const auto job = parse_integer(number);
  auto indices = parse_indices(word.substr(underscore + 1));
  if (!job || *job < 1 || !indices) return std::nullopt;
  return NamedTasks{*job, std::move(*indices)};
}

std::string in_short(const ArrayTask& task) {
  return fmt::format("{}_{}", task.job, task.index);
}

std::string index_list(std::span<const std::int64_t> indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += end - i > 1 ? fmt::format("{}-{}", indices[i], indices[end - 1])
                        : fmt::format("{}", indices[i]);
    i = end;
  }
  return text;
}

}  // namespace cleave
