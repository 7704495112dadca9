#include "nvmlsim/command_time.hpp"

#include <algorithm>

namespace cleave::sim {

namespace {

/// Shorter than the constant part of either law, so that no second command fits in between.
constexpr Duration between_calls = std::chrono::milliseconds(50);

}  // namespace

Duration CommandTime::of(Law law, const Geometry& geometry, PlacementId placement, Moment now) {
  const PlacementSet this_one = PlacementSet::of(placement);
  if (law != law_ || command_.meets(this_one) || now < over_ || now - over_ > between_calls) {
    law_ = law;
    command_ = {};
  }
  const Duration before = law(geometry, command_);
  command_ = command_ | this_one;
  return std::max(Duration::zero(), law(geometry, command_) - before);
}

}  // namespace cleave::sim
