#pragma once
// Waiting for one call of an event loop, within a time and until somebody asks to stop.

#include <algorithm>
#include <chrono>

namespace cleave {

/// Runs the loop until the call has come back, which sets `done`, and asks `stops` ten times a
/// second. False: time is up or `stops` says so; then `close` was called, which must end the call,
/// and the call has come back, so that what it refers to may go. `Context` is an asio::io_context.
template <class Context, class Stops, class Close>
bool run_until_called(Context& context, const bool& done,
                      std::chrono::steady_clock::time_point until, const Stops& stops,
                      const Close& close) {
  using Clock = std::chrono::steady_clock;
  constexpr auto slice = std::chrono::milliseconds(100);
  while (!done) {
    const auto left = until - Clock::now();
    if (stops() || left <= Clock::duration::zero()) {
      close();
      context.restart();
      context.run();
      return false;
    }
    context.restart();
    context.run_one_for(std::min<Clock::duration>(left, slice));
  }
  return true;
}

}  // namespace cleave
