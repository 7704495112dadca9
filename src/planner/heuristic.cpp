#include "planner/heuristic.hpp"

#include "planner/method.hpp"

namespace cleave {

namespace {

constexpr Heuristic table[] = {
    {"rules", "large work first, on the fullest GPU that fits, at the vendor's preferred start",
     "Optimal Workload Placement, 4.2", rules::deploy, rules::compact, rules::reconfigure},
    {"first-fit", "work by name, on the first GPU that fits, at the lowest start",
     "Optimal Workload Placement, 5.1", first_fit::deploy, first_fit::compact,
     first_fit::reconfigure},
    {"load-balanced", "work as it comes, on the emptiest GPU that fits, at the lowest start",
     "Optimal Workload Placement, 5.1", load_balanced::deploy, load_balanced::compact,
     load_balanced::reconfigure},
};

}  // namespace

std::span<const Heuristic> heuristics() {
  return table;
}

}  // namespace cleave
