#pragma once
// A program's commands and options for the Tab key of a shell.

#include <string>
#include <string_view>
#include <vector>

#include "manual/command_tree.hpp"

namespace cleave {

/// Shells whose completion can be written.
inline const std::vector<std::string> completion_shells = {"bash", "zsh", "fish"};

/// The values that the program's tables have for an option or positional without choices of its
/// own, by its command ("cleave plan") and its name; empty where there are none. Some may be
/// patterns of files, "*.json".
using NamesFor = std::vector<std::string> (*)(std::string_view command, const std::string& option);

/// What the shell reads, one of completion_shells. `names_for` may be null.
[[nodiscard]] std::string completion(const CommandNode& root, std::string_view shell,
                                     NamesFor names_for);

}  // namespace cleave
