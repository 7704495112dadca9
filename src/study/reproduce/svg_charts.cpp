#include "study/reproduce/svg_charts.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/format.hpp"

namespace cleave {

namespace {

constexpr double width = 900, height = 330, left = 70, right = 20, top = 60, bottom = 48;
constexpr std::string_view colours[] = {"#4477aa", "#ee6677", "#228833",
                                        "#ccbb44", "#aa3377", "#66ccee"};

std::string_view colour(std::size_t i) {
  return colours[i % std::size(colours)];
}

std::string text(double x, double y, std::string_view anchor, std::string_view words) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"12\">{}</text>\n", x, y,
      anchor, words);
}

std::string line(double x1, double y1, double x2, double y2, std::string_view stroke) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, stroke);
}

/// An axis: values to places, with round steps.
struct Axis {
  double least = 0, most = 1, from = 0, to = 1;  // values and where they are
  [[nodiscard]] double at(double value) const {
    return from + (value - least) / (most - least) * (to - from);
  }
  /// About five of 1, 2 or 5 times a power of ten.
  [[nodiscard]] double step() const {
    const double rough = (most - least) / 5;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double times : {1.0, 2.0, 5.0})
      if (rough <= times * power) return times * power;
    return 10 * power;
  }
};

/// From the least to the most, at least something.
Axis axis_over(double least, double most, double from, double to) {
  if (!(most > least)) most = least + 1;
  return {least, most, from, to};
}

std::string y_grid(const Axis& y, std::string_view name) {
  std::string svg;
  const double step = y.step();
  for (double value = std::ceil(y.least / step) * step; value <= y.most + step / 1000;
       value += step) {
    const double shown = std::abs(value) < step / 1000 ? 0 : value;
    svg += line(left, y.at(value), width - right, y.at(value), shown == 0 ? "#666666" : "#dddddd");
    svg += text(left - 6, y.at(value) + 4, "end", fmt::format("{:.4g}", shown));
  }
  const double middle = (y.from + y.to) / 2;
  return svg + fmt::format(
                   "<text transform=\"translate(16 {:.1f}) rotate(-90)\" "
                   "text-anchor=\"middle\" font-size=\"12\">{}</text>\n",
                   middle, name);
}

std::string head(std::string_view title, const std::vector<std::string>& names) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" fill=\"#222222\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      width, height);
  svg += text(left, 20, "start", title);
  double x = left;
  for (std::size_t i = 0; i < names.size(); ++i) {
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"32\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x,
                       colour(i));
    svg += text(x + 17, 43, "start", names[i]);
    x += 40 + 7.0 * static_cast<double>(names[i].size());
  }
  return svg;
}

std::string path(const ChartLine& of, const Axis& x, const Axis& y, std::string_view stroke) {
  std::string d;
  for (std::size_t i = 0; i < of.points.size(); ++i) {
    const auto [px, py] = of.points[i];
    if (i > 0 && of.steps) d += fmt::format(" H{:.1f}", x.at(px));
    d += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "M" : " L", x.at(px), y.at(py));
  }
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", d,
                     stroke);
}

}  // namespace

std::string line_chart(const LineChart& chart) {
  double first = 1e300, last = -1e300, most = 0;
  std::vector<std::string> names;
  for (const ChartLine& one : chart.lines) {
    names.push_back(one.name);
    for (const auto& [px, py] : one.points) {
      first = std::min(first, px);
      last = std::max(last, px);
      most = std::max(most, py);
    }
  }
  if (first > last) first = last = 0;
  if (!chart.marks.name.empty()) names.push_back(chart.marks.name);
  const Axis x = axis_over(first, last, left, width - right);
  const Axis y = axis_over(0, most, height - bottom, top);
  std::string svg = head(chart.title, names) + y_grid(y, chart.y);
  const double step = x.step();
  for (double value = std::ceil(x.least / step) * step; value <= x.most + step / 1000;
       value += step)
    svg += text(x.at(value), height - bottom + 17, "middle", fmt::format("{:.6g}", value));
  svg += text((left + width - right) / 2, height - 10, "middle", chart.x);
  for (std::size_t i = 0; i < chart.lines.size(); ++i) svg += path(chart.lines[i], x, y, colour(i));
  for (const double at : chart.marks.at)
    svg += line(x.at(at), top, x.at(at), top + 8, colour(chart.lines.size()));
  return svg + "</svg>\n";
}

std::string bar_chart(const BarChart& chart) {
  double least = 0, most = 0;
  for (const auto& group : chart.bars)
    for (const ChartBar& bar : group) {
      least = std::min({least, bar.value, bar.low});
      most = std::max({most, bar.value, bar.high});
    }
  const Axis y = axis_over(least, most, height - bottom, top);
  std::string svg = head(chart.title, chart.series) + y_grid(y, chart.y);
  const double group = (width - left - right) / static_cast<double>(chart.groups.size());
  const double wide = group * 0.8 / static_cast<double>(chart.series.size());
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    const double begin = left + group * (static_cast<double>(g) + 0.1);
    svg += text(begin + group * 0.4, height - 22, "middle", chart.groups[g]);
    for (std::size_t s = 0; s < chart.bars[g].size(); ++s) {
      const ChartBar& bar = chart.bars[g][s];
      const double x = begin + wide * static_cast<double>(s);
      const double above = std::min(y.at(bar.value), y.at(0));
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x,
          above, wide - 2, std::abs(y.at(bar.value) - y.at(0)), colour(s));
      const double middle = x + wide / 2 - 1;
      svg += line(middle, y.at(bar.low), middle, y.at(bar.high), "#222222");
    }
  }
  return svg + "</svg>\n";
}

}  // namespace cleave
