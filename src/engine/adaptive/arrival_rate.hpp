#pragma once
// How fast jobs come, by the last of them.

#include <deque>
#include <optional>

#include "base/time.hpp"

namespace cleave {

/// The arrivals at a fleet.
class ArrivalRate {
 public:
  void arrived(Instant now) {
    if (recent_.size() == most) recent_.pop_front();
    recent_.push_back(now);
  }
  /// Jobs a second; 0 where all have come at one instant, and empty where one job says nothing.
  [[nodiscard]] std::optional<double> a_second(Instant now) const {
    if (recent_.size() < 2) return std::nullopt;
    if (recent_.front() == recent_.back()) return 0;
    return static_cast<double>(recent_.size() - 1) / in_seconds(now - recent_.front());
  }

 private:
  static constexpr std::size_t most = 64;
  std::deque<Instant> recent_;
};

}  // namespace cleave
