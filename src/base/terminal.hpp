#pragma once
// The terminal that standard output is, if it is one, and text that fits its width. What goes to
// pipes and files is never wrapped or cut.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// Columns and lines of the terminal that standard output is; 0 where it is none.
[[nodiscard]] std::size_t terminal_width();
[[nodiscard]] std::size_t terminal_height();

/// Whether the locale of the environment shows characters beyond ASCII: not with LC_ALL=C.
[[nodiscard]] bool shows_unicode();
/// The text as that locale shows it: without characters beyond ASCII, a cut ends in "~" and not in
/// "…", and "±" is "+-". What users wrote stays.
[[nodiscard]] std::string in_locale(std::string_view text);

/// The text in lines of at most `width` columns, broken between words; a longer word is broken
/// behind a comma, or has a line of its own. 0: one line. There is always at least one.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text, std::size_t width);
/// Each line of the text wrapped like this; what follows stands two columns further in. 0: as it
/// is.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width);

}  // namespace cleave
