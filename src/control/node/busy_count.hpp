#pragma once
// How busy an attempt keeps its instance, as the driver counts it between looks at its GPU. A plain
// value; times are of the steady clock.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "device/door.hpp"

namespace cleave {

/// At least this is between two counts: the counters of the hardware are renewed every 100 ms.
inline constexpr Duration shortest_count = std::chrono::milliseconds(200);

/// The means of an attempt until now, over the time that was counted.
class BusyCount {
 public:
  /// Asks for the count in the operation of this number.
  void ask(std::uint64_t operation, Duration now) {
    operation_ = operation;
    asked_ = now;
  }
  /// Whether it is time to ask again.
  [[nodiscard]] bool is_due(Duration now) const {
    return !asked_ || now - *asked_ >= shortest_count;
  }
  /// Whether the answer to this operation is about the attempt.
  [[nodiscard]] bool is_in(std::uint64_t operation) const { return operation_ == operation; }
  [[nodiscard]] Counting next() const { return since_ ? Counting::on : Counting::anew; }

  /// Counted until now; empty: a count begins.
  void hear(const std::optional<BusyShares>& shares, Duration now) {
    if (shares && since_ && now > *since_) {
      const double seconds = in_seconds(now - *since_);
      counted_s_ += seconds;
      add("sm_activity", shares->sm_activity, seconds);
      add("sm_occupancy", shares->sm_occupancy, seconds);
      add("tensor_activity", shares->tensor_activity, seconds);
      add("dram_activity", shares->dram_activity, seconds);
    }
    since_ = now;
  }
  /// The last count is not continued.
  void interrupt() { since_.reset(); }

  /// Means as counters of a profile repository. Empty if less than half of the attempt's time was
  /// counted: a part may be unlike the whole.
  [[nodiscard]] std::map<std::string, double, std::less<>> counters(Duration lasted) const {
    std::map<std::string, double, std::less<>> means;
    if (lasted <= Duration::zero() || counted_s_ < in_seconds(lasted) / 2) return means;
    for (const auto& [name, sum] : sums_)
      if (sum.seconds >= counted_s_ / 2) means[name] = sum.busy_s / sum.seconds;
    return means;
  }

 private:
  struct Sum {
    double busy_s = 0, seconds = 0;
  };
  void add(std::string_view name, std::optional<double> share, double seconds) {
    if (!share) return;
    Sum& sum = sums_[std::string(name)];
    sum.busy_s += std::clamp(*share, 0.0, 1.0) * seconds;
    sum.seconds += seconds;
  }

  std::uint64_t operation_ = 0;
  std::optional<Duration> asked_, since_;
  double counted_s_ = 0;
  std::map<std::string, Sum, std::less<>> sums_;
};

}  // namespace cleave
