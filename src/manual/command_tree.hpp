#pragma once
// A program's commands and options as plain data, read from the parser itself, so that help, shell
// completion and man pages cannot differ.

#include <string>
#include <vector>

#include "manual/command_line.hpp"

namespace cleave {

struct CommandOption {
  std::vector<std::string> names;  // "-f", "--follow"; of a positional just its own
  std::string value;               // what goes there: TEXT, INT; empty: a flag
  std::vector<std::string> choices;
  std::string description, otherwise;  // otherwise: the default, where there is one
  bool required = false, repeats = false;
};

struct CommandNode {
  std::string path;  // "cleave plan deploy"
  std::string name, description, example;
  std::vector<CommandOption> options, positionals;
  std::vector<CommandNode> commands;
};

/// Of the program and all below it.
[[nodiscard]] CommandNode command_tree(const CommandLine& program);

/// The node and all below it, in the order of their help.
[[nodiscard]] std::vector<const CommandNode*> all_commands(const CommandNode& root);

}  // namespace cleave
