#pragma once
// How long this node's driver takes to make and to destroy instances, beside the law of
// physics/reconfiguration.hpp, which was fitted to another machine: so that what is expected of a
// plan is what was seen here. A value; loop/gpu_listener.hpp tells it what it heard.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.hpp"

namespace cleave {

enum class InstanceChange : std::uint8_t { create, destroy };

class ChangeTimes {
 public:
  /// Only this number of the latest changes counts.
  static constexpr std::size_t most = 100;

  /// One took this long where the law expects that; zero: it was not measured.
  void hear(InstanceChange change, Duration expected, Duration took);
  [[nodiscard]] std::size_t count(InstanceChange change) const { return of(change).size(); }
  /// The median of what they took over what was expected; empty: none was measured yet.
  [[nodiscard]] std::optional<double> factor(InstanceChange change) const;

 private:
  [[nodiscard]] const std::deque<double>& of(InstanceChange change) const {
    return factors_[static_cast<std::size_t>(change)];
  }
  std::array<std::deque<double>, 2> factors_;  // by InstanceChange, oldest first
};

}  // namespace cleave
