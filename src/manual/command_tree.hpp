#pragma once
// A program's commands and options as plain data, read from the parser itself, so that help, shell
// completion and man pages always agree.

#include <string>
#include <vector>

#include "manual/command_line.hpp"

namespace cleave {

/// One option, flag or positional of a command.
struct CommandOption {
  std::vector<std::string> names;  // "-f", "--follow"; the only name of a positional
  std::string value;               // the kind of value: TEXT, INT; empty for a flag
  std::vector<std::string> choices;
  std::string description, otherwise;  // otherwise: the default, if there is one
  bool required = false, repeats = false;
};

/// A command, or the program itself, with all commands below it.
struct CommandNode {
  std::string path;  // "cleave plan deploy"
  std::string name, description, example;
  std::string group;  // under which help lists it
  std::vector<CommandOption> options, positionals;
  std::vector<CommandNode> commands;
};

/// The program and all its commands.
[[nodiscard]] CommandNode command_tree(const CommandLine& program);

/// The node and all below it, in the order of their help.
[[nodiscard]] std::vector<const CommandNode*> all_commands(const CommandNode& root);

}  // namespace cleave
