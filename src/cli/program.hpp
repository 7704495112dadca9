#pragma once
// How a command line becomes an exit code: what the main functions of `cleave` and `cleave-study`
// call. The table of commands is in program.cpp.

#include <optional>

#include "cli/command.hpp"

namespace cleave::cli {

/// What adds the commands below `cleave bench` and `cleave reproduce`, and the options of `cleave
/// arena`. Only cleave-study has them.
struct StudyCommands {
  AddCommand* bench = nullptr;
  AddCommand* reproduce = nullptr;
  AddCommand* arena = nullptr;
};

/// Runs the command that the line names and reports its errors; the exit code.
int run_program(int argc, char** argv, const char* version, const StudyCommands& studies);

/// The studies of this program, as run_program was given them.
StudyCommands& study_commands();
/// In a program without studies: where the line needs them, becomes cleave-study and does not
/// return. That is so for `bench`, `reproduce` and `arena`, and for whatever describes every
/// command. An error where the program is missing and nothing else can answer.
[[nodiscard]] std::optional<Error> hand_to_study(int argc, char** argv);

}  // namespace cleave::cli
