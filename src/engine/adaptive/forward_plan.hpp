#pragma once
// Where times are known and what starts stays: when and where the next jobs should start, found by
// simulating them forward. A list of jobs is served in its order, each at the place and moment that
// end it soonest after a price for the slices it holds; then single jobs get another size or
// another turn as long as that brings down what the list costs.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "model/geometry.hpp"

namespace cleave {

/// A GPU as it is now, and as it becomes free. Seconds are from now on.
struct ForwardGpu {
  struct Busy {
    PlacementId place;
    double until_s;
  };
  const Geometry* geometry = nullptr;
  std::size_t kind = 0;
  PlacementSet never;      // placements that stay taken
  std::vector<Busy> busy;  // and those that are taken for a while
};

/// A job that waits.
struct ForwardJob {
  std::vector<PlacementSet> allowed;        // by GPU
  std::vector<std::vector<double>> time_s;  // by kind and profile; 0: it does not run there
};

/// Where a job starts, and when.
struct ForwardStart {
  std::size_t gpu = 0;
  PlacementId place = 0;
  double at_s = 0, end_s = 0;
};

/// What is to come behind these jobs, and how long it is looked for something better.
struct ForwardSetting {
  double behind = 0;        // jobs that wait, or are expected to, for what these leave
  double fleet_slices = 1;  // the mean of compute and memory slices, of all GPUs
  double start_s = 0;       // before a job makes progress
  std::size_t tries = 300;  // lists that are looked at, the first one besides
};

/// A start for each job; empty: it runs nowhere.
using ForwardPlan = std::vector<std::optional<ForwardStart>>;

/// What a plan costs: the sum of the ends, and of what those behind do without meanwhile.
[[nodiscard]] double cost_of(const ForwardPlan& plan, std::span<const ForwardGpu> gpus,
                             const ForwardSetting& setting);

/// The same of what runs as it does.
[[nodiscard]] double cost_of_busy(std::span<const ForwardGpu> gpus, const ForwardSetting& setting);

/// The best plan found for these jobs, which come in the order in which they would be served.
/// Of equal plans it is the first one: the same question gives the same answer.
[[nodiscard]] ForwardPlan plan_forward(std::span<const ForwardGpu> gpus,
                                       std::span<const ForwardJob> jobs,
                                       const ForwardSetting& setting);

}  // namespace cleave
