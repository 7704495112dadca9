#include "cli/table.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"

namespace cleave::cli {

namespace {

/// A number with or without a unit, or the mark of a missing one.
bool numeric(const std::string& cell) {
  if (cell.empty() || cell == "-" || cell == "?") return true;
  const char first =
      cell.size() > 1 && (cell.front() == '-' || cell.front() == '+') ? cell[1] : cell.front();
  return first >= '0' && first <= '9';
}

/// Rows of cells to be printed, and the room of each column.
struct Layout {
  std::vector<std::size_t> widths;
  std::vector<bool> right;

  [[nodiscard]] std::size_t total() const {
    std::size_t sum = 2 * (widths.size() - 1);
    for (const std::size_t each : widths) sum += each;
    return sum;
  }
};

using Rows = std::vector<std::vector<std::string>>;

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (const std::string_view word : split(text, ' '))
    longest = std::max(longest, columns_of(word));
  return longest;
}

Layout natural(const Rows& rows) {
  const std::size_t columns = rows.front().size();
  Layout layout{std::vector<std::size_t>(columns, 0), std::vector<bool>(columns, true)};
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      layout.widths[c] = std::max(layout.widths[c], columns_of(rows[r][c]));
      if (r > 0 && !numeric(rows[r][c])) layout.right[c] = false;
    }
  return layout;
}

/// Which cells of words may be wrapped, beside headings.
enum class Wrapping { none, behind_first, all };

/// The width of each column with what is wrapped as narrow as its words allow.
std::vector<std::size_t> least_widths(const Rows& rows, const Layout& layout, Wrapping wrapping) {
  constexpr std::size_t least_of_words = 16;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < layout.widths.size(); ++c) {
    std::size_t least = longest_word(rows.front()[c]);
    for (std::size_t r = 1; r < rows.size(); ++r) {
      const std::string& cell = rows[r][c];
      const bool wraps = !layout.right[c] && (wrapping == Wrapping::all ||
                                              (wrapping == Wrapping::behind_first && c > 0));
      least = std::max(
          least, wraps ? std::min(columns_of(cell), std::max(least_of_words, longest_word(cell)))
                       : columns_of(cell));
    }
    widths.push_back(least);
  }
  return widths;
}

/// Takes columns from the widest that can spare one until the table fits.
bool shrink(Layout& layout, const std::vector<std::size_t>& least, std::size_t width) {
  while (layout.total() > width) {
    std::size_t widest = layout.widths.size();
    for (std::size_t c = 0; c < layout.widths.size(); ++c)
      if (layout.widths[c] > least[c] &&
          (widest == layout.widths.size() || layout.widths[c] > layout.widths[widest]))
        widest = c;
    if (widest == layout.widths.size()) return false;
    --layout.widths[widest];
  }
  return true;
}

/// One row, in as many lines as its cells need; headings stand at the bottom of theirs.
std::string row_text(const std::vector<std::string>& row, const Layout& layout, bool heading) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (std::size_t c = 0; c < row.size(); ++c) {
    cells.push_back(lines_of(row[c], layout.widths[c]));
    height = std::max(height, cells.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::size_t above = heading ? height - cells[c].size() : 0;
      const std::string cell =
          i < above || i - above >= cells[c].size() ? std::string() : cells[c][i - above];
      const std::string padding(layout.widths[c] - std::min(layout.widths[c], columns_of(cell)),
                                ' ');
      line += (c == 0 ? "" : "  ") + (layout.right[c] ? padding + cell : cell + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string table_text(const Rows& rows, const Layout& layout) {
  std::string text;
  for (const auto& row : rows) text += row_text(row, layout, &row == &rows.front());
  return text;
}

/// Some of the columns, the first among them.
std::string block_text(const Rows& rows, const Layout& layout,
                       const std::vector<std::size_t>& columns) {
  Rows part;
  for (const auto& row : rows) {
    part.emplace_back();
    for (const std::size_t c : columns) part.back().push_back(row[c]);
  }
  Layout of_part;
  for (const std::size_t c : columns) {
    of_part.widths.push_back(layout.widths[c]);
    of_part.right.push_back(layout.right[c]);
  }
  return table_text(part, of_part);
}

std::string in_blocks(const Rows& rows, const Layout& layout, std::size_t width) {
  std::string text;
  std::vector<std::size_t> columns{0};
  std::size_t used = layout.widths[0];
  for (std::size_t c = 1; c < layout.widths.size(); ++c) {
    if (columns.size() > 1 && used + 2 + layout.widths[c] > width) {
      text += block_text(rows, layout, columns) + "\n";
      columns = {0};
      used = layout.widths[0];
    }
    columns.push_back(c);
    used += 2 + layout.widths[c];
  }
  return text + block_text(rows, layout, columns);
}

/// In which times of a column are written, and with how many digits behind the point.
struct TimeUnit {
  std::string_view name;
  double seconds;
  int digits;
};

TimeUnit unit_for(double longest) {
  constexpr double minute = 60, hour = 3600, day = 86400;
  if (longest < 100) return {"s", 1, 1};
  if (longest < 100 * minute) return {"min", minute, 1};
  return longest < 100 * hour ? TimeUnit{"h", hour, 2} : TimeUnit{"d", day, 2};
}

std::string kilowatt_hours(double value) {
  return value < 1000 ? fmt::format("{:.3g} kWh", value) : fmt::format("{:.0f} kWh", value);
}

}  // namespace

std::string Table::text(std::size_t width) const {
  Rows rows = rows_;
  for (auto& row : rows)
    for (std::string& cell : row) cell = in_locale(cell);
  Layout layout = natural(rows);
  if (width == 0 || layout.total() <= width) return table_text(rows, layout);
  for (const Wrapping wrapping : {Wrapping::none, Wrapping::behind_first, Wrapping::all}) {
    Layout shrunk = layout;
    if (shrink(shrunk, least_widths(rows, layout, wrapping), width))
      return table_text(rows, shrunk);
  }
  layout.widths = least_widths(rows, layout, Wrapping::behind_first);
  // A block has two columns at least.
  if (layout.widths.front() > width / 2) layout.widths = least_widths(rows, layout, Wrapping::all);
  return in_blocks(rows, layout, width);
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
  if (unit == "J") return kilowatt_hours(value / 3.6e6);
  return fmt::format("{:g}", value);
}

std::vector<std::string> in_one_unit(std::string_view unit,
                                     const std::vector<std::optional<double>>& values) {
  double longest = 0;
  for (const auto& value : values) longest = std::max(longest, value.value_or(0));
  const TimeUnit of_all = unit_for(longest);
  std::vector<std::string> texts;
  for (const auto& value : values) {
    texts.push_back(!value        ? "-"
                    : unit == "s" ? fmt::format("{:.{}f} {}", *value / of_all.seconds,
                                                of_all.digits, of_all.name)
                                  : in_unit(unit, *value));
  }
  return texts;
}

}  // namespace cleave::cli
