#pragma once
// Reads the claims of a page of docs/reproduction back from its tables and judges them again, from
// the printed figures and bounds alone: shares nothing with what wrote the page.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::testing_claims {

/// The cells of a line "| a | b |".
inline std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  if (!line.starts_with("| ")) return cells;
  line.remove_prefix(2);
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(" |"), line.size());
    cells.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(line.size(), end + 3));
  }
  return cells;
}

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

/// The numbers in a text, in their order: "-3.1 (-4 to +2.5)" has three.
inline std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < text.size();) {
    const bool sign = (text[at] == '-' || text[at] == '+') && at + 1 < text.size() &&
                      std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0;
    if (!sign && std::isdigit(static_cast<unsigned char>(text[at])) == 0) {
      ++at;
      continue;
    }
    char* end = nullptr;
    numbers.push_back(std::strtod(text.c_str() + at, &end));
    at = static_cast<std::size_t>(end - text.c_str());
  }
  return numbers;
}

/// Half of the last printed digit.
inline double rounding_of(const std::string& number) {
  const std::size_t point = number.find('.');
  if (point == std::string::npos) return 0.5;
  std::size_t digits = 0;
  while (point + digits + 1 < number.size() &&
         std::isdigit(static_cast<unsigned char>(number[point + digits + 1])) != 0)
    ++digits;
  return 0.5 * std::pow(10, -static_cast<double>(digits));
}

/// Bounds as a page prints them.
struct PrintedBounds {
  double least = -INFINITY, most = INFINITY;
  bool figure = false;

  /// Whether some value from `low` to `high` lies within; empty where rounding could decide it.
  [[nodiscard]] std::optional<bool> hold(double low, double high, double rounding) const {
    const auto within = [&](double slack) { return low - slack <= most && high + slack >= least; };
    const double more = rounding * 1.001;
    return within(more) == within(-more) ? std::optional(within(0)) : std::nullopt;
  }
};

/// Behind the colon of a sentence; otherwise the first number is a figure.
inline std::optional<PrintedBounds> bounds_in(const std::string& paper) {
  const std::size_t colon = paper.rfind(": ");
  const std::string behind = colon == std::string::npos ? "" : paper.substr(colon + 2);
  const auto numbers = numbers_in(colon == std::string::npos ? paper : behind);
  if (numbers.empty()) return std::nullopt;
  if (behind.starts_with("at least ")) return PrintedBounds{.least = numbers[0]};
  if (behind.starts_with("at most ")) return PrintedBounds{.most = numbers[0]};
  if (behind.starts_with("within ")) return PrintedBounds{-numbers[0], numbers[0]};
  if (colon != std::string::npos) {
    if (numbers.size() != 2) return std::nullopt;
    return PrintedBounds{numbers[0], numbers[1]};
  }
  return PrintedBounds{numbers[0], numbers[0], true};
}

/// Whether `at` names values of these inputs, in their order, and none that is usual.
inline bool names_inputs(std::string_view at, const std::vector<std::vector<std::string>>& inputs) {
  if (at == "usual inputs") return true;
  for (const auto& input : inputs) {
    const std::string begin = input[0] + " ";
    if (!at.starts_with(begin)) continue;
    at.remove_prefix(begin.size());
    // Values may have commas in them, so that the list of all is searched for what stands here.
    std::size_t size = at.size();
    const std::string values = ", " + input[2] + ", ";
    while (size > 0 &&
           values.find(", " + std::string(at.substr(0, size)) + ", ") == std::string::npos)
      size = at.rfind(", ", size - 1) == std::string::npos ? 0 : at.rfind(", ", size - 1);
    if (size == 0 || at.substr(0, size) == input[1]) return false;
    at.remove_prefix(std::min(at.size(), size + 2));
  }
  return at.empty();
}

/// A row of a table of claims.
struct PrintedClaim {
  std::string section, claim, paper, here, range, verdict, nearest, why;
  std::vector<std::vector<std::string>> inputs;  // the rows of its part's open inputs
};

inline std::vector<PrintedClaim> claims_in(const std::string& page) {
  std::vector<PrintedClaim> claims;
  std::vector<std::vector<std::string>> inputs;
  std::string heading;  // of the table
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("## ")) inputs.clear();
    const auto cells = cells_of(line);
    if (cells.empty()) {
      if (!line.starts_with("|---")) heading.clear();
    } else if (heading.empty()) {
      heading = line;
    } else if (heading.starts_with("| open input |")) {
      inputs.push_back(cells);
    } else if (heading.starts_with("| section | claim | paper | here |") && cells.size() == 8) {
      claims.push_back(
          {cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], inputs});
    }
  }
  return claims;
}

/// The verdict that the printed figures give; empty where rounding could decide it.
inline std::optional<std::string> verdict_of(const PrintedClaim& row) {
  const PrintedBounds bounds = *bounds_in(row.paper);
  const auto here = numbers_in(row.here), range = numbers_in(row.range);
  const double rounding = rounding_of(row.here);
  const auto typical = bounds.figure ? bounds.hold(here[1], here[2], rounding)
                                     : bounds.hold(here[0], here[0], rounding);
  if (!typical) return std::nullopt;
  if (*typical) return "agrees";
  std::optional<bool> possible;
  if (bounds.figure) {
    possible = bounds.hold(range[0], range[1], rounding);
  } else if (!row.nearest.empty()) {
    const double nearest = numbers_in(row.nearest).front();
    EXPECT_TRUE(nearest >= range[0] && nearest <= range[1]) << row.claim << ": " << row.nearest;
    possible = bounds.hold(nearest, nearest, rounding);
  }
  if (!possible) return std::nullopt;
  return *possible ? "in range" : "outside";
}

/// Judges every claim of a page whose claims were swept (dyna-p.md, migm.md), and counts again.
/// With `reasons`, what lies outside must say why.
inline void expect_judged_as_printed(const std::string& page, bool reasons = true) {
  std::map<std::string, double> counts;
  double all = 0, undecided = 0;
  for (const PrintedClaim& row : claims_in(page)) {
    ++counts[row.verdict];
    ++all;
    ASSERT_TRUE(bounds_in(row.paper)) << row.claim << ": no bound in " << row.paper;
    ASSERT_EQ(numbers_in(row.here).size(), 3U) << row.claim << ": " << row.here;
    ASSERT_EQ(numbers_in(row.range).size(), 2U) << row.claim << ": " << row.range;
    if (row.verdict == "agrees") {
      EXPECT_EQ(row.nearest, "") << row.claim;
    } else {
      const std::size_t colon = row.nearest.find(": ");
      ASSERT_NE(colon, std::string::npos) << row.claim << ": " << row.nearest;
      EXPECT_TRUE(names_inputs(row.nearest.substr(colon + 2), row.inputs))
          << row.claim << ": " << row.nearest;
    }
    if (reasons && row.verdict == "outside") {
      EXPECT_NE(row.why, "") << row.claim << ": no reason is given";
    }
    const auto verdict = verdict_of(row);
    if (!verdict) ++undecided;
    EXPECT_EQ(verdict.value_or(row.verdict), row.verdict)
        << row.claim << ": " << row.paper << ", here " << row.here << ", range " << row.range;
  }
  EXPECT_GT(all, 0);
  EXPECT_LT(undecided, 1 + all / 8) << "rounding hides too many verdicts";
  for (const std::string& line : lines_of(page)) {
    if (!line.starts_with("Of ") || line.find(" claims ") == std::string::npos) continue;
    EXPECT_EQ(numbers_in(line),
              (std::vector<double>{all, counts["agrees"], counts["in range"], counts["outside"]}));
    return;
  }
  ADD_FAILURE() << "the claims are not counted";
}

}  // namespace cleave::testing_claims
