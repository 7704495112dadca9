#pragma once
// Planning problems from a seed: fleets of any models, as JSON text, with work, idle instances,
// walls, waiting work and constraints. The same seed gives the same problem on every machine.

#include <cstdint>

#include "scene.hpp"

namespace cleave::plans {

/// The size of the fleet, and what it contains.
struct FleetShape {
  std::size_t gpus = 12, nodes = 4;         // at most
  std::size_t running = 100, waiting = 16;  // at most
  bool several_models = true;
  bool walls = true;
  bool unmovable = true;  // work that must stay
  bool pins = true, forbids = true, groups = true;
  bool sizes = true;  // waiting work that asks for memory, or for nothing
  bool limits = true;
};

/// For fleets small enough to try every combination, or to search each GPU.
inline constexpr FleetShape tiny_fleet{.gpus = 3, .nodes = 2, .running = 3, .waiting = 2};
inline constexpr FleetShape small_fleet{.gpus = 4, .nodes = 3, .running = 7, .waiting = 4};

/// The problem is valid: no work that must stay is where it is not allowed, and each request can be
/// satisfied by some GPU of the fleet. Whether all constraints can be kept is left open.
Question random_question(std::uint64_t seed, Task task, const FleetShape& shape);

}  // namespace cleave::plans
