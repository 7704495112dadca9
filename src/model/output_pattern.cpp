#include "model/output_pattern.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

struct Letter {
  char letter;
  std::string (*text)(const OutputNames& names);
};

std::string of(std::int64_t number) {
  return fmt::format("{}", number);
}

std::string name_as_file(const OutputNames& names) {
  std::string name = names.name;
  std::ranges::replace(name, '/', '_');
  return name;
}

constexpr Letter letters[] = {
    {'%', [](const OutputNames&) { return std::string("%"); }},
    {'j', [](const OutputNames& names) { return of(names.job); }},
    {'A', [](const OutputNames& names) { return of(names.array); }},
    {'a', [](const OutputNames& names) { return of(names.index); }},
    {'t', [](const OutputNames& names) { return of(names.rank); }},
    {'r', [](const OutputNames& names) { return of(names.attempt); }},
    {'x', name_as_file},
};

constexpr const char* known_letters =
    "there are %j (job), %A (array), %a (index), %x (name), %r (attempt), %t (process) and %%";

}  // namespace

std::optional<WrongValue> wrong_output_pattern(std::string_view pattern) {
  if (pattern.empty()) return std::nullopt;
  if (pattern.contains('\0')) return WrongValue{"it has a zero byte", ""};
  if (!valid_utf8(pattern)) return WrongValue{fmt::format("'{}' is not UTF-8", shown(pattern)), ""};
  if (pattern.ends_with('/'))
    return WrongValue{fmt::format("'{}' is a folder", shown(pattern)),
                      "name a file in it, such as %j.out"};
  for (std::size_t at = pattern.find('%'); at != pattern.npos; at = pattern.find('%', at + 2)) {
    const char letter = at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (std::ranges::find(letters, letter, &Letter::letter) == std::end(letters))
      return WrongValue{
          fmt::format("'{}' has no meaning in '{}'", shown(pattern.substr(at, 2)), shown(pattern)),
          known_letters};
  }
  return std::nullopt;
}

bool has_letter(std::string_view pattern, char letter) {
  for (std::size_t at = pattern.find('%'); at != pattern.npos; at = pattern.find('%', at + 2))
    if (at + 1 < pattern.size() && pattern[at + 1] == letter) return true;
  return false;
}

std::string output_file(std::string_view pattern, const std::string& directory,
                        const OutputNames& names) {
  std::string path;
  if (!pattern.starts_with('/')) path = directory.ends_with('/') ? directory : directory + "/";
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%' || at + 1 == pattern.size()) {
      path += pattern[at];
      continue;
    }
    const auto* const found = std::ranges::find(letters, pattern[++at], &Letter::letter);
    if (found != std::end(letters)) path += found->text(names);
  }
  return path;
}

}  // namespace cleave
