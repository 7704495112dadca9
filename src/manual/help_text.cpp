#include "manual/help_text.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/terminal.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// Where the description of "  --fleet TEXT        A fleet" begins; 0 where there is none.
std::size_t description_at(std::string_view line) {
  const std::size_t name = line.find_first_not_of(' ');
  if (name == 0 || name == std::string_view::npos) return 0;
  if (name > 4) return name;  // the names stand on the line above
  const std::size_t gap = line.find("  ", name);
  const std::size_t begin = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return begin == std::string_view::npos ? 0 : begin;
}

std::string fitted_line(std::string_view line, std::size_t width) {
  constexpr std::size_t least = 24;
  const std::size_t at = description_at(line);
  if (columns_of(line) <= width) return std::string(line);
  if (at == 0 || at + least > width) return wrapped(line, width);
  std::string text(line.substr(0, at));
  const auto lines = lines_of(line.substr(at), width - at);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text.append("\n").append(at, ' ');
    text += lines[i];
  }
  return text;
}

}  // namespace

void group_commands(const CommandLine& program, const std::string& heading) {
  for (const CLI::App* command : program.given().get_subcommands({}))
    if (command->get_group() == "Commands")
      program.given().get_subcommand(command->get_name())->group(heading);
}

std::string fitted_help(std::string_view help, std::size_t width) {
  if (width == 0) return std::string(help);
  std::string text;
  for (const std::string_view line : split(help, '\n'))
    text.append(text.empty() ? "" : "\n").append(fitted_line(line, width));
  return text;
}

}  // namespace cleave
