#pragma once
// Curves on a terminal, in plain characters. Later curves cover earlier ones.

#include <string>
#include <vector>

namespace cleave::cli {

/// A grid of characters with two axes.
class Chart {
 public:
  /// Both axes begin at 0 and end at these values.
  Chart(double most_x, double most_y);

  void point(double x, double y, char mark);
  /// A mark in every column between the two, at the value of `y` there.
  template <class Curve>
  void curve(double from_x, double to_x, Curve y, char mark) {
    for (std::size_t i = 0; i < width; ++i)
      if (const double x = x_of(i); x >= from_x && x <= to_x) point(x, y(x), mark);
  }
  /// `label` writes a value of the y axis.
  template <class Label>
  [[nodiscard]] std::string text(Label label) const {
    std::vector<std::string> labels;
    for (std::size_t row = 0; row < height; ++row)
      labels.push_back(row % 4 == 0
                           ? label(most_y_ * static_cast<double>(height - 1 - row) / (height - 1))
                           : "");
    return drawn(labels);
  }

 private:
  static constexpr std::size_t width = 70, height = 17;
  [[nodiscard]] double x_of(std::size_t column) const {
    return most_x_ * static_cast<double>(column) / (width - 1);
  }
  [[nodiscard]] std::string drawn(const std::vector<std::string>& labels) const;

  double most_x_, most_y_;
  std::vector<std::string> rows_;
};

}  // namespace cleave::cli
