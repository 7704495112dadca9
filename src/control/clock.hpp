#pragma once
// The loop's clock: the time of the current step on three scales. `steady` times everything, `wall`
// is for records and people, and the engine's time is the wall's as of the start, which nobody can
// set back. Only Control moves it; everyone else reads.

#include <algorithm>
#include <functional>

#include "control/moment.hpp"

namespace cleave {

/// The machine's steady clock, for measuring how long something takes: nothing is decided by it.
/// Empty: nothing is measured.
using Stopwatch = std::function<Duration()>;

/// The time of the current step, and how the engine's time relates to it.
class Clock {
 public:
  explicit Clock(Moment began) : began_(began), now_(began) {}

  [[nodiscard]] Instant wall() const { return now_.wall; }
  [[nodiscard]] Duration steady() const { return now_.steady; }
  /// Never goes back; equal to the wall clock when the loop began.
  [[nodiscard]] Instant engine_time() const { return began_.wall + (now_.steady - began_.steady); }
  [[nodiscard]] Duration steady_of(Instant engine) const {
    return engine - began_.wall + began_.steady;
  }
  /// By how much the wall clock has been set since the loop began.
  [[nodiscard]] Duration wall_offset() const { return wall() - engine_time(); }

  /// Moves to `now`; returns by how much the wall clock was set since the last call.
  Duration advance(Moment now) {
    const Duration before = now_.wall.time_since_epoch() - now_.steady;
    now.steady = std::max(now.steady, now_.steady);
    now_ = now;
    return now.wall.time_since_epoch() - now.steady - before;
  }

 private:
  Moment began_, now_;
};

}  // namespace cleave
