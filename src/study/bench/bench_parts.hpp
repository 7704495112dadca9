#pragma once
// What the benchmarks share: a stopwatch, a median, and options that several of them have.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

#include "base/time.hpp"
#include "cli/command.hpp"

namespace cleave::cli {

using BenchClock = std::chrono::steady_clock;

inline double seconds_since(BenchClock::time_point begin) {
  return in_seconds(BenchClock::now() - begin);
}

/// Processor time of this thread: what else the machine does meanwhile does not count. For work of
/// one thread that waits for nothing.
struct ProcessorClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ProcessorClock>;
  static constexpr bool is_steady = true;
  static time_point now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + duration(time.tv_nsec));
  }
};

inline double seconds_since(ProcessorClock::time_point begin) {
  return in_seconds(ProcessorClock::now() - begin);
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
