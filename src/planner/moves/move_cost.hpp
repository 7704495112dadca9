#pragma once
// What waves of moves cost: time on the GPUs that are cut anew, time and MiB on the links.

#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "planner/moves/moves.hpp"

namespace cleave {

/// Of one wave. GPUs and links work at the same time, so each time is that of the slowest.
struct WaveCost {
  Duration make_room{}, create{}, transfer{}, clean_up{};
  std::int64_t moved_mib = 0, between_nodes_mib = 0;
  [[nodiscard]] Duration time() const { return make_room + create + transfer + clean_up; }
};

std::vector<WaveCost> cost_of(const PlanProblem& problem, const std::vector<Wave>& waves);

}  // namespace cleave
