#pragma once
// The fewest waves from now to the goal, by trying everything: every possible wave from the present
// state, then from all states these lead to, until the goal is one wave away. For fleets of one or
// two GPUs.

#include <cstddef>
#include <string_view>

#include "scene.hpp"

namespace cleave::plans {

/// How the search ended.
enum class Outcome {
  found,
  impossible,    // the goal cannot be reached undisturbed
  beyond_limit,  // not known
};
std::string_view name(Outcome outcome);

/// The smallest number of waves that the search found.
struct FewestWaves {
  Outcome outcome = Outcome::found;
  std::size_t waves = 0;
  /// With that many waves, the fewest moves to places other than the goal's.
  std::size_t temporary = 0;
  std::size_t looked_at = 0;
};

/// `goal` must be without fault. Running works without a seat in it end, waiting works with a seat
/// are new. Idle instances are never in the way and are ignored. Gives up after `limit` steps, each
/// a work tried at a place.
FewestWaves fewest_waves(const Scene& scene, const Seats& goal, std::size_t limit);

}  // namespace cleave::plans
