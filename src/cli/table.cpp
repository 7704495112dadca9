#include "cli/table.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave::cli {

namespace {

/// Width on a terminal: continuation bytes of UTF-8 take no column.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

/// A number with or without a unit, or the mark of a missing one.
bool numeric(const std::string& cell) {
  if (cell.empty() || cell == "-" || cell == "?") return true;
  const char first =
      cell.size() > 1 && (cell.front() == '-' || cell.front() == '+') ? cell[1] : cell.front();
  return first >= '0' && first <= '9';
}

}  // namespace

std::string Table::text() const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> right(columns, true);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], width(rows_[r][c]));
      if (r > 0 && !numeric(rows_[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string padding(widths[c] - width(row[c]), ' ');
      line += (c == 0 ? "" : "  ") + (right[c] ? padding + row[c] : row[c] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string percent(double share) {
  return fmt::format("{:.0f} %", share * 100);
}

std::string in_unit(std::string_view unit, double value) {
  if (unit == "s")
    return human(*duration_from_seconds(std::min(value, in_seconds(longest_duration))));
  if (unit == "%") return percent(value);
  if (unit == "jobs/s") return fmt::format("{:.1f} jobs an hour", value * 3600);
  if (unit == "1") return fmt::format("{:.4f}", value);
  if (unit == "ratio") return fmt::format("{:.2f}", value);
  if (unit == "W") return fmt::format("{:.0f} W", value);
  if (unit == "J") return fmt::format("{:.3g} kWh", value / 3.6e6);
  return fmt::format("{:g}", value);
}

}  // namespace cleave::cli
