#pragma once
// How long creating and destroying instances takes on a simulated GPU. The measured law
// (physics/reconfiguration.hpp) is for commands that create or destroy a whole layout, with one
// constant part for all instances of a command. So a program's calls that follow each other closely
// count as one command: the first takes the constant and its own part, each later one only what it
// adds.

#include <chrono>

#include "base/time.hpp"
#include "model/geometry.hpp"

namespace cleave::sim {

/// The calls of this program on one GPU. Used only by the holder of the GPU's `change` lock.
class CommandTime {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  /// create_time or destroy_time.
  using Law = Duration (*)(const Geometry& geometry, PlacementSet instances);

  /// The duration of a call for `placement` that begins now. A new command begins with a call of
  /// the other kind, a call for an instance that the command had already, and a call that comes
  /// late.
  Duration of(Law law, const Geometry& geometry, PlacementId placement, Moment now);

  /// Sets when that call ended.
  void over(Moment now) { over_ = now; }

 private:
  Law law_ = nullptr;
  PlacementSet command_;
  Moment over_{};
};

}  // namespace cleave::sim
