#pragma once
// Two plain charts as SVG, for pages of results: lines over an axis, and groups of bars with
// intervals. Same data, same bytes.

#include <string>
#include <utility>
#include <vector>

namespace cleave {

/// One line of a chart.
struct ChartLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  // by x
  bool steps = false;                             // holds each value until the next point
};
/// Marks at places of the x axis.
struct ChartMarks {
  std::string name;
  std::vector<double> at;
};
/// A chart of lines; the y axis begins at zero.
struct LineChart {
  std::string title, x, y;
  std::vector<ChartLine> lines;
  ChartMarks marks = {};
};
std::string line_chart(const LineChart& chart);

/// A bar with its interval.
struct ChartBar {
  double value = 0, low = 0, high = 0;
};
/// Bars side by side, one for each series, in each group.
struct BarChart {
  std::string title, y;
  std::vector<std::string> series, groups;
  std::vector<std::vector<ChartBar>> bars;  // by group, then series
};
std::string bar_chart(const BarChart& chart);

}  // namespace cleave
