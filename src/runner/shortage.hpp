#pragma once
// Which errors of the system mean that the host is short of something, and not that something is
// wrong with the job: a job that cannot be started for one of these waits, and is tried again.

#include <string_view>

#include "base/result.hpp"

namespace cleave {

/// What the host is short of.
struct Shortage {
  int code = 0;           // the system's error number
  std::string_view what;  // as a sentence: "a disk is full, or has no inodes left"
  std::string_view remedy;
};
/// The shortage that this error number stands for; null where it is a failure.
[[nodiscard]] const Shortage* shortage_of(int code);

/// Why an attempt was not started.
struct NotStarted {
  Error error;
  int code = 0;  // the system's error number; 0 where it was not the system that refused
  NotStarted(Error why, int number = 0) : error(std::move(why)), code(number) {}
};
/// Of the start of an attempt.
using Started = std::expected<void, NotStarted>;

}  // namespace cleave
