#pragma once
// `cleave bench placement`: what a placement decision costs, found in four ways on the same
// generated sequence of arrivals and departures. The fleet and the policies are those that the
// engine uses.
//
// A fleet is filled to a load and churned until it is steady. Then a request of each kind is as
// likely as any other; after each arrival as much work leaves, drawn evenly, as keeps the load. A
// decision is an arrival, placed or not, with its commit and the departures that balance it; `ns`
// is the mean over arrivals and departures.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "placement/policy.hpp"

namespace cleave {

struct PlacementBenchOptions {
  std::vector<std::size_t> gpus = {8, 100, 1000, 10000, 100000};
  ChosenPolicy policy;
  std::vector<const GpuModel*> models;  // the fleet's GPUs in turn
  ProfileChoice profiles;
  double load = 0.75;     // share of memory slices held
  double walls = 0;       // share of GPUs with an instance that is not ours
  double seconds = 0.25;  // for each way of finding
};

/// One way of finding on one fleet.
struct PlacementPace {
  double decisions_per_s = 0;
  double ns = 0;  // an operation: an arrival or a departure
};

struct PlacementBench {
  std::size_t gpus = 0;
  bool idle_instances = false;  // instances stay for reuse when work leaves
  PlacementPace index, plain, scan;
  std::optional<PlacementPace> vector;  // none where a policy has too many levels for it
  bool identical = true;                // every way decided the same, decision by decision ...
  std::size_t compared = 0;             // ... as far as the slowest of them, the definition, came
  double rejected = 0;                  // share of arrivals that fitted nowhere
  double index_bytes_per_gpu = 0;
  std::size_t classes = 0;
  double build_seconds = 0;  // index of the steady fleet, its states known
};

std::vector<PlacementBench> bench_placement(const PlacementBenchOptions& options);

}  // namespace cleave
