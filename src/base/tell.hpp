#pragma once
// Sentences for people on standard error.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.hpp"

namespace cleave {

/// The text in lines of at most `width` columns, broken between words, but not within a quoted
/// command that has room on a line. 0: as it is.
[[nodiscard]] std::string told(std::string_view text, std::size_t width);

/// Prints the text on standard error; if that is a terminal, lines that are wider are wrapped
/// between words. Elsewhere lines stay whole, as programs that read them expect.
void tell_text(std::string_view text);

/// The same for a format and its values.
template <class... Values>
void tell(fmt::format_string<Values...> form, Values&&... values) {
  tell_text(fmt::format(form, std::forward<Values>(values)...));
}

}  // namespace cleave
