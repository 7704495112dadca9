#include "cli/forecast/chart.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"

namespace cleave::cli {

Chart::Chart(double most_x, double most_y)
    : most_x_(most_x > 0 ? most_x : 1),
      most_y_(most_y > 0 ? most_y : 1),
      rows_(height, std::string(width, ' ')) {}

void Chart::point(double x, double y, char mark) {
  if (!(x >= 0 && x <= most_x_ && y >= 0 && y <= most_y_)) return;
  const auto column = static_cast<std::size_t>(std::lround(x / most_x_ * (width - 1)));
  const auto up = static_cast<std::size_t>(std::lround(y / most_y_ * (height - 1)));
  rows_[height - 1 - up][column] = mark;
}

std::string Chart::drawn(const std::vector<std::string>& labels) const {
  std::size_t widest = 0;
  for (const std::string& label : labels) widest = std::max(widest, label.size());
  std::string text;
  for (std::size_t row = 0; row < height; ++row) {
    std::string line = fmt::format("{:>{}} {}{}", labels[row], widest,
                                   labels[row].empty() ? '|' : '+', rows_[row]);
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  text += fmt::format("{:>{}} +{:-<{}}\n", "", widest, "", width);
  const std::string end = fmt::format("{:.0f}", most_x_);
  text += fmt::format("{:>{}}  0{:>{}}\n", "", widest, end, width - 1);
  return text;
}

}  // namespace cleave::cli
