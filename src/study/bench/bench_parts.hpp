#pragma once
// What the benchmarks share: a stopwatch, a median, and options that several of them have.

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/time.hpp"
#include "cli/command.hpp"

namespace cleave::cli {

using BenchClock = std::chrono::steady_clock;

inline double seconds_since(BenchClock::time_point begin) {
  return in_seconds(BenchClock::now() - begin);
}

/// The upper one of two in the middle; `values` must not be empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// `--gpus`: the sizes of the fleets to measure on.
void add_fleet_sizes(CommandLine& command, std::vector<std::size_t>& gpus);
/// `--model`, whose default is what `model` holds; `of`: "fleet", "node".
void add_bench_model(CommandLine& command, std::string& model, const std::string& of = "fleet");

}  // namespace cleave::cli
