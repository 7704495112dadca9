#pragma once
// What creating and destroying instances takes on a simulated GPU. The measured law
// (physics/reconfiguration.hpp) is of commands that make or destroy a whole layout, and has one
// constant for all instances of a command. So the calls of a program that follow each other closely
// are taken for one command: its first call takes the constant and its own part, every later one
// what it adds.

#include <chrono>

#include "base/time.hpp"
#include "model/geometry.hpp"

namespace cleave::sim {

/// The calls of this program on one GPU. Used by who holds the GPU's `change` lock.
class CommandTime {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  /// create_time or destroy_time.
  using Law = Duration (*)(const Geometry& geometry, PlacementSet instances);

  /// What the call for `placement` takes that begins now. A call of the other kind, one for an
  /// instance that the command had already, and one that comes late begin the next command.
  Duration of(Law law, const Geometry& geometry, PlacementId placement, Moment now);

  /// When that call is over.
  void over(Moment now) { over_ = now; }

 private:
  Law law_ = nullptr;
  PlacementSet command_;
  Moment over_{};
};

}  // namespace cleave::sim
