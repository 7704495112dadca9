#pragma once
// `cleave bench daemon`, one of the benchmarks of bench.cpp.

#include "cli/command.hpp"

namespace cleave::cli {

void add_bench_daemon(CommandLine& bench, Run& run);

}  // namespace cleave::cli
