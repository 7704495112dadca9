// The program `cleave-study`: `cleave` with `arena` and the commands below `bench` and `reproduce`,
// which link the study room. `cleave` hands those command lines to it.

#include "cli/program.hpp"
#include "study/study_commands.hpp"

int main(int argc, char** argv) {
  return cleave::cli::run_program(
      argc, argv, CLEAVE_VERSION,
      {cleave::cli::add_benches, cleave::cli::add_reproductions, cleave::cli::add_arena_options});
}
