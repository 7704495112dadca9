#pragma once
// A present fleet and its goal, from a seed: layouts over the same GPUs with partly the same work,
// some that ends and some that is new; walls and work that must stay are the same in both. The same
// seed gives the same pair on every machine.

#include <cstdint>
#include <string>

#include "scene.hpp"

namespace cleave::plans {

/// The size of the pair, and what it contains.
struct PairShape {
  std::size_t gpus = 12;    // at most
  bool walls = true;        // and work that must stay
  bool constraints = true;  // pins, forbidden places, groups
  bool idle = true;         // instances without work, now and in the goal
};

/// A problem and its goal.
struct Pair {
  Question now;      // joint, with new work waiting; running work may end
  std::string goal;  // a fleet as JSON text, without fault for `now`
};

Pair random_pair(std::uint64_t seed, const PairShape& shape);

}  // namespace cleave::plans
