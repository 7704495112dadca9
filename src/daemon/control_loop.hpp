#pragma once
// Who drives the loop of control/: steps when something is to be heard, when its time has come, and
// a few milliseconds after somebody wanted something, so that what many want at a time is one write
// to the disk.

#include <functional>
#include <memory>
#include <vector>

#include "control/control.hpp"

namespace boost::asio {
class io_context;
}

namespace cleave {

class ControlLoop {
 public:
  struct Hooks {
    std::function<void()> after_step;
    std::function<void()> tick;  // ten times a second while `waits` says so
    std::function<bool()> waits;
  };
  /// `wake`: descriptors that are readable when there is news; they stay their owners'. -1 is none.
  ControlLoop(boost::asio::io_context& loop, Control& control, const std::vector<int>& wake,
              std::function<Moment()> now);
  ~ControlLoop();
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;

  /// The first step is made by the loop, at once.
  void start(Hooks hooks);
  /// Somebody wants something: a step follows within 3 ms.
  void soon();
  /// Somebody waits now: ticks begin where there are none.
  void attend();
  /// No step is made any more.
  void stop();

 private:
  class Inside;
  std::shared_ptr<Inside> inside_;
};

/// The clocks of this machine.
[[nodiscard]] Moment moment_now();

}  // namespace cleave
