#pragma once
// Text from jobs and users on somebody's terminal: what would steer the terminal, or make a reader
// see other letters in another order, is written out instead. All commands print names, reasons,
// commands and environments through this, and output of jobs through OutputFilter where it goes to
// a terminal.

#include <string>
#include <string_view>

namespace cleave {

/// Control characters (C0, DEL and C1) as \x1b or \u{85}, marks that turn the direction of writing
/// or have no width as \u{202e}, line separators likewise, bytes that are not UTF-8 as \xff. One
/// line stays one line.
[[nodiscard]] std::string visible(std::string_view text);

/// How many columns the text takes, near enough: characters, for which visible() was called.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// Cut to so many columns, the last of them "…" where something was left out.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

/// The output of a job, piece by piece, for a terminal: lines, tabs, carriage returns and colours
/// go through (ESC [ digits m), all else that visible() would write out is written out.
class OutputFilter {
 public:
  /// What can be shown of what has come so far; the beginning of a character or a colour is kept
  /// back.
  [[nodiscard]] std::string pass(std::string_view bytes);
  /// What was kept back, when nothing more comes.
  [[nodiscard]] std::string rest();

 private:
  std::string kept_;
};

}  // namespace cleave
