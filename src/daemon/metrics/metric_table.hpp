#pragma once
// Every family of metrics that the daemon shows, as a table: the page takes names and help from it,
// and docs/metrics.md shows it. How many series there are follows from GPUs, their instances and
// the words of the labels, and never from jobs or users.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cleave {

enum class MetricKind : std::uint8_t { gauge, counter, histogram };
std::string_view name(MetricKind kind);

/// One family.
struct MetricRow {
  std::string_view name;
  MetricKind kind{};
  std::string_view labels;  // separated by spaces
  std::string_view help;
};

[[nodiscard]] std::span<const MetricRow> metric_rows();
/// There must be one of this name.
[[nodiscard]] const MetricRow& metric_row(std::string_view name);
/// The table of docs/metrics.md.
[[nodiscard]] std::string metric_rows_text();

}  // namespace cleave
