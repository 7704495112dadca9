// `cleave man`: the help of a command as a man page.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/format.hpp"
#include "base/installation.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "manual/manual.hpp"

namespace cleave::cli {

namespace {

struct ManCommandOptions {
  std::vector<std::string> words;
  bool list = false;
};

Result<const CommandNode*> find_command(const CommandNode& root,
                                        const std::vector<std::string>& words) {
  const CommandNode* node = &root;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(node->commands, word, &CommandNode::name);
    if (found == node->commands.end())
      return fail(ErrorKind::bad_usage, "COMMAND",
                  fmt::format("{} has no command '{}'", node->path, shown(word)),
                  suggestion(word, names_of(node->commands)));
    node = &*found;
  }
  return node;
}

ManualNotes notes_for(const CommandNode& node, const std::string& version) {
  ManualNotes notes{version,
                    "0 Done.\n1 It could not be done.\n2 The command line or its input is wrong, "
                    "or names something that does not exist; nothing has changed."};
  if (node.path == "cleave submit")
    notes.exit_status +=
        "\n125 With --wait and --follow, whose exit status is the job's own: Cleave itself failed, "
        "or the job never ran.";
  if (node.path == "cleave wait")
    notes.exit_status =
        "N The job's own status; of several jobs the first that is not 0. Never 0 for a job that "
        "failed or was cancelled.\n2 The command line is wrong, or there is no such job.\n125 "
        "Cleave itself failed, or the job never ran.";
  return notes;
}

/// The daemon's page is its own program's.
Result<int> daemons_page() {
  const auto program = installed_program("cleaved");
  std::fflush(stdout);
  ::execl(program.c_str(), program.c_str(), "--man", nullptr);
  return fail(ErrorKind::infeasible, program.string(), "it is not there",
              "build or install all of Cleave");
}

Result<int> man(const CommandLine& program, const ManCommandOptions& options) {
  if (options.words == std::vector<std::string>{"cleaved"}) return daemons_page();
  const CommandNode root = command_tree(program);
  if (options.list) {
    for (const CommandNode* node : all_commands(root)) fmt::print("{}\n", node->path);
    return 0;
  }
  const auto node = find_command(root, options.words);
  if (!node) return std::unexpected(node.error());
  fmt::print("{}", manual_page(**node, root, notes_for(**node, program.version())));
  return 0;
}

}  // namespace

void add_man(CommandLine& program, Run& run) {
  const auto [command, options] = add_command<ManCommandOptions>(
      program, run, "man", "Print the help of a command, or of Cleave itself, as a man page",
      "cleave man submit | man -l -",
      [&program](const ManCommandOptions& given) { return man(program, given); });
  command->add_option(
      "COMMAND", options.words,
      "Command whose page to print, such as `plan deploy`, or `cleaved`; by default cleave");
  command->add_flag("--list", options.list, "List all commands that have a page, one per line");
}

}  // namespace cleave::cli
