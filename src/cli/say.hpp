#pragma once
// Sentences for people on standard output.

#include <utility>

#include "base/format.hpp"
#include "base/terminal.hpp"

namespace cleave::cli {

/// Prints the text; on a terminal, lines that are wider are wrapped between words.
template <class... Values>
void say(fmt::format_string<Values...> form, Values&&... values) {
  fmt::print("{}", wrapped(fmt::format(form, std::forward<Values>(values)...), terminal_width()));
}

}  // namespace cleave::cli
