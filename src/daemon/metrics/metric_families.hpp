#pragma once
// The families of metrics, from the node in numbers: a pure function, apart from how they are
// served.

#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/figures.hpp"
#include "daemon/metrics/metrics_settings.hpp"

namespace cleave {

/// What the page shows besides the node.
struct DaemonFigures {
  std::string version;
  bool simulated = false;
  Instant started{};
  std::int64_t store_bytes = 0;
  std::optional<std::int64_t> resident_bytes;
};

/// In the order of the table (metric_table.hpp); those without a series are left out.
[[nodiscard]] std::vector<prometheus::MetricFamily> metric_families(const NodeFigures& node,
                                                                    const DaemonFigures& daemon);
/// The text format of Prometheus.
[[nodiscard]] std::string metrics_text(const std::vector<prometheus::MetricFamily>& families);

}  // namespace cleave
