// `cleave bench`, `cleave reproduce` and `cleave arena`: the commands of another program,
// cleave-study.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/installation.hpp"
#include "cli/program.hpp"

namespace cleave::cli {

StudyCommands& study_commands() {
  static StudyCommands commands;
  return commands;
}

std::optional<Error> hand_to_study(int argc, char** argv) {
  if (argc < 2 || study_commands().bench != nullptr) return std::nullopt;
  const std::string_view command = argv[1];
  const bool is_study = command == "bench" || command == "reproduce" || command == "arena";
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const bool describes_all =
      command == "man" || command == "completion" ||
      std::ranges::any_of(words, [](std::string_view word) { return word == "--help-all"; });
  if (!is_study && !describes_all) return std::nullopt;
  const auto program = installed_program("cleave-study");
  ::execv(program.c_str(), argv);
  if (!is_study) return std::nullopt;
  return Error{ErrorKind::bad_input, program.string(),
               "this program has the benchmarks and studies, and it cannot be started",
               "build the target cleave-study, or install all of Cleave"};
}

void add_bench(CommandLine& program, Run& run) {
  CommandLine* group =
      program.add_subcommand("bench", "Measure on this machine the speeds that Cleave claims");
  group->require_subcommand();
  if (study_commands().bench != nullptr) study_commands().bench(*group, run);
}

void add_arena(CommandLine& program, Run& run) {
  CommandLine* command =
      add_command(program, "arena", "Measure a scheduler against the others on many cells",
                  "cleave arena cells.jsonl --schedulers online:backfill=easy --keep runs.jsonl");
  if (study_commands().arena != nullptr) study_commands().arena(*command, run);
}

void add_reproduce(CommandLine& program, Run& run) {
  CommandLine* group = program.add_subcommand(
      "reproduce", "Repeat the evaluation of a paper, and compare the results with its claims");
  group->require_subcommand();
  if (study_commands().reproduce != nullptr) study_commands().reproduce(*group, run);
}

}  // namespace cleave::cli
