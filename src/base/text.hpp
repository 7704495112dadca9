#pragma once
// Small operations on text: splitting, numbers, sizes with a unit, and the nearest known word for a
// remedy.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"

namespace cleave {

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trimmed(std::string_view text);
std::string lowercase(std::string_view text);

/// "0, 2 or 4"
std::string any_of(std::span<const std::string> words);

/// "1 GPU", "3 GPUs"
std::string counted(std::size_t count, std::string_view thing);

/// The text as a number; nullopt unless all of it is one. A leading '+', spaces, "inf" and "nan"
/// are not accepted.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

/// A size as people write it: a number of MiB, or a number followed by KiB, MiB or GiB; rounded up
/// to whole MiB.
[[nodiscard]] Result<MiB> parse_size(std::string_view text);

/// The names of rows; or with `of`, what another member or a function says of each.
template <class Rows, class Of>
[[nodiscard]] std::vector<std::string> names_of(const Rows& rows, Of of) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(std::invoke(of, row));
  return names;
}
template <class Rows>
[[nodiscard]] std::vector<std::string> names_of(const Rows& rows) {
  return names_of(rows, [](const auto& row) { return row.name; });
}

/// The known word nearest to `word` by edit distance, if it is near enough to be what was meant.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

/// "did you mean 'x'?" where nearest() knows, otherwise "one of: a, b, c".
std::string suggestion(std::string_view word, std::span<const std::string> known);

/// Whether the bytes are UTF-8: no stray or missing continuation, no overlong form, no surrogate,
/// at most U+10FFFF.
bool valid_utf8(std::string_view text);

/// Not empty and without control characters.
bool fit_for_a_name(std::string_view text);

/// The text without the byte order mark that some programs put in front of UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

/// Text from outside, made safe to show: control characters as \xNN, cut after `longest`
/// characters.
std::string shown(std::string_view text, std::size_t longest = 60);

}  // namespace cleave
