#pragma once
// `cleave bench graph`: how long it takes to build the partition state graph of each model, with
// every table.

#include <string>
#include <vector>

namespace cleave {

struct GraphBench {
  std::string model, profiles;
  int states = 0, maximal_states = 0;
  double seconds_median = 0, seconds_min = 0;
  int repeats = 0;
};

/// Builds the graph of every model and profile set afresh, `repeats` times each.
std::vector<GraphBench> bench_graph(int repeats);

}  // namespace cleave
