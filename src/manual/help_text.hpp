#pragma once
// What --help prints: commands in groups, and lines that fit the terminal.

#include <cstddef>
#include <string>
#include <string_view>

#include "manual/command_line.hpp"

namespace cleave {

/// Puts the program's commands that are in no group yet under this heading.
void group_commands(const CommandLine& program, const std::string& heading);

/// The help with descriptions wrapped below where they begin, in lines of at most `width` columns;
/// 0: as it is.
[[nodiscard]] std::string fitted_help(std::string_view help, std::size_t width);

}  // namespace cleave
