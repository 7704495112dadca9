#pragma once
// The fewest waves from now to the goal, by looking at everything: from where the works are, every
// wave there is, then from everywhere that leads to, until the goal is one wave away. For fleets of
// one or two GPUs.

#include <cstddef>
#include <optional>
#include <string_view>

#include "scene.hpp"

namespace cleave::plans {

enum class Outcome {
  found,
  impossible,    // nobody can get there undisturbed
  beyond_limit,  // not known
};
std::string_view name(Outcome outcome);

struct FewestWaves {
  Outcome outcome = Outcome::found;
  std::size_t waves = 0;
  std::size_t temporary =
      0;  // with that many waves, the fewest moves to places that are not the goal's
  std::size_t looked_at = 0;
};

/// `goal` must be without fault. Works that run and have no seat in it end, those that wait and
/// have one are new. Idle instances are in nobody's way and are not looked at. Gives up after
/// `limit` steps, each a work tried at a place.
FewestWaves fewest_waves(const Scene& scene, const Seats& goal, std::size_t limit);

}  // namespace cleave::plans
