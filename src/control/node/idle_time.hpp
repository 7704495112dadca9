#pragma once
// For how long a lease has left its instance without GPU work, as the driver counts it between
// looks at its GPU. A plain value; times are of the steady clock.
//
// Only what was counted without a gap is idle time: where the driver does not count, or a look
// failed, there may have been work.

#include <optional>

#include "base/time.hpp"

namespace cleave {

/// Of one attempt.
class IdleTime {
 public:
  /// Until now this share of the time since the last call had work; empty: a count begins.
  void hear(const std::optional<double>& busy, Duration now) {
    if (busy && counted_until_) {
      measured_ = true;
      if (*busy > 0)
        since_.reset();
      else if (!since_)
        since_ = counted_until_;
      works_ = *busy > 0;
    } else {
      since_.reset();
    }
    counted_until_ = now;
  }
  /// The driver did not count.
  void interrupt() { *this = {}; }

  /// Whether there is a count.
  [[nodiscard]] bool measured() const { return measured_; }
  /// There was work when it was counted last.
  [[nodiscard]] bool works() const { return works_; }
  /// For how long it has been counted without work; zero where it works, or that is not known.
  [[nodiscard]] Duration lasts() const { return since_ ? *counted_until_ - *since_ : Duration{}; }
  /// Since when it is without work; empty: it works, or that is not known.
  [[nodiscard]] std::optional<Duration> since() const { return since_; }

 private:
  bool measured_ = false, works_ = false;
  std::optional<Duration> counted_until_, since_;
};

}  // namespace cleave
