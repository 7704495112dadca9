#pragma once
// Small things done to text: splitting, numbers, sizes with a unit, and the nearest known word for
// a remedy.

#include <cstdint>
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

/// The whole text as a number; nullopt when there is anything else in it. No leading '+', no
/// spaces, and for doubles neither "inf" nor "nan".
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

/// A size as people write it: a bare number of MiB, or with KiB, MiB or GiB behind it; rounded up
/// to whole MiB.
[[nodiscard]] Result<MiB> parse_size(std::string_view text);

/// The word nearest to `word` by edit distance, if it is near enough to be what was meant.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

/// "did you mean 'x'?" where nearest() knows, otherwise "one of: a, b, c".
std::string suggestion(std::string_view word, std::span<const std::string> known);

/// Whether the bytes are UTF-8: no stray or missing continuation, no overlong form, no surrogate,
/// at most U+10FFFF.
bool valid_utf8(std::string_view text);

/// Not empty and without control characters.
bool fit_for_a_name(std::string_view text);

/// Without the mark that some programs put in front of UTF-8 text.
std::string_view without_byte_order_mark(std::string_view text);

/// Text from outside made safe to show: control characters as \xNN, cut after `longest` characters.
std::string shown(std::string_view text, std::size_t longest = 60);

}  // namespace cleave
