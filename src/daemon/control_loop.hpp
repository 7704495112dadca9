#pragma once
// Drives the loop of control/. It makes a step when there is news from the GPUs or the runner, when
// a time that control has named has come, and 3 ms after a request, so that requests that arrive
// together share one write to the disk.

#include <functional>
#include <memory>
#include <vector>

#include "control/control.hpp"

namespace boost::asio {
class io_context;
}

namespace cleave {

/// Calls Control::step() at the right times on an event loop.
class ControlLoop {
 public:
  /// What the loop calls back.
  struct Hooks {
    std::function<void()> after_step;
    std::function<void()> tick;   // ten times a second while `waits` returns true
    std::function<bool()> waits;  // whether ticks are wanted
  };
  /// `wake`: descriptors that are readable when there is news; the caller keeps them open. -1:
  /// none.
  ControlLoop(boost::asio::io_context& loop, Control& control, const std::vector<int>& wake,
              std::function<Moment()> now);
  ~ControlLoop();
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;

  /// The loop makes the first step soon after.
  void start(Hooks hooks);
  /// There is a request: a step follows within 3 ms.
  void soon();
  /// A client is waiting: starts the ticks if there are none.
  void attend();
  /// Makes no more steps.
  void stop();

 private:
  class Inside;
  std::shared_ptr<Inside> inside_;
};

/// The clocks of this machine.
[[nodiscard]] Moment moment_now();

}  // namespace cleave
