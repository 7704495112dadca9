// The program `cleave`. Benchmarks and studies belong to another program beside it, cleave-study.

#include "cli/program.hpp"

int main(int argc, char** argv) {
  return cleave::cli::run_program(argc, argv, CLEAVE_VERSION, {});
}
