#pragma once
// The page of GET /metrics, kept while it is fresh: scrapers see the node as it was a moment ago,
// and the daemon spends a fiftieth of its time on it at most, however often it is asked.

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>

#include "base/time.hpp"
#include "control/clock.hpp"
#include "daemon/metrics/metric_families.hpp"

namespace cleave {

/// Makes the page when it is asked for and the last one is not fresh any more.
class MetricsPage {
 public:
  /// What the page is made of, and a steady clock.
  struct Doors {
    std::function<NodeFigures()> node;
    std::function<DaemonFigures()> daemon;
    Stopwatch clock;
  };
  /// By which way it is asked for.
  enum class Way : std::uint8_t { socket, listener };

  explicit MetricsPage(Doors doors);
  [[nodiscard]] std::shared_ptr<const std::string> text(Way way);

  /// A page is fresh for this long, and for this many times as long as it took to make.
  static constexpr Duration fresh_for = std::chrono::milliseconds(250);
  static constexpr int fresh_times = 50;

 private:
  Doors doors_;
  std::shared_ptr<const std::string> text_;
  Duration fresh_until_{};
  // What is counted here, and nowhere in the loop.
  prometheus::Registry registry_;
  prometheus::Counter* asked_[2] = {};
  prometheus::Histogram* took_ = nullptr;
};

}  // namespace cleave
