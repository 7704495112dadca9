#pragma once
// Text from jobs and users, made safe for a terminal: characters that would control the terminal or
// change the order in which text is read are shown as escapes. All commands print names, reasons,
// commands and environments through `visible`, and output of jobs through OutputFilter where it
// goes to a terminal.

#include <string>
#include <string_view>

namespace cleave {

/// Shows control characters (C0, DEL and C1) as \x1b or \u{85}, marks without width or that change
/// the direction of writing as \u{202e}, line separators likewise, and bytes that are not UTF-8 as
/// \xff. One line stays one line.
[[nodiscard]] std::string visible(std::string_view text);

/// How many columns the text takes, to a good approximation: its characters. For text from
/// visible().
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// Cuts the text to a number of columns; the last one is "…" if anything was left out,
/// or "~" where the locale does not show that.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

/// The output of a job, piece by piece, for a terminal: lines, tabs, carriage returns and colours
/// (ESC [ digits m) pass, and everything else that visible() would escape is escaped.
class OutputFilter {
 public:
  /// What can be shown so far; an unfinished character or colour at the end is kept for later.
  [[nodiscard]] std::string pass(std::string_view bytes);
  /// What was kept, for when nothing more comes.
  [[nodiscard]] std::string rest();

 private:
  std::string kept_;
};

}  // namespace cleave
