#pragma once
// What may be said of times that were seen in pairs: two schedulers with the same draw of a
// workload. Ratios are paired, and a difference counts only if it is beyond the spread and large
// enough to matter.
//
// Where draws are independent (days of a generator), the two-sided sign test over them must give at
// most 5 %. Where they are resampled from one workload they are not new evidence, however many
// there are; then at most one draw in twenty may say otherwise, which is a bootstrap's percentile
// interval of 90 %.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulate/comparison.hpp"

namespace cleave {

/// Where draws come from.
enum class DrawKind : std::uint8_t { independent, resampled };

/// What a paired ratio says of the first of the two.
enum class Difference : std::uint8_t { shorter, none, longer, too_few_draws };

/// Smaller differences of a median are not worth a word.
inline constexpr double least_difference = 0.02;

/// The times of one over those of another, draw by draw.
struct PairedRatio {
  double median = 1, low = 1, high = 1;  // low, high: nine of ten draws lie between them
  std::size_t shorter = 0, longer = 0, draws = 0;
  Difference difference = Difference::too_few_draws;
  friend bool operator==(const PairedRatio&, const PairedRatio&) = default;
};

/// By draw; every time is above zero.
[[nodiscard]] PairedRatio paired_ratio(std::span<const double> times, std::span<const double> over,
                                       DrawKind kind);

/// Times by draw, of several.
using TimesByDraw = std::vector<std::vector<double>>;

/// The one with the lowest geometric mean over the draws for which `counts` holds; all where it is
/// empty. The first of those alike. There is at least one, and a draw that counts.
[[nodiscard]] std::size_t lowest(const TimesByDraw& times, const std::vector<bool>& counts = {});

/// For each draw the time of the one that was lowest in the other half of the draws. Whoever takes
/// the best of many by the same draws by which it is then judged praises luck: here the draws that
/// chose are not those that judge.
[[nodiscard]] std::vector<double> chosen_elsewhere(const TimesByDraw& times);

}  // namespace cleave
