#pragma once
// The energy that a GPU's counter showed between two readings, divided among what ran there.
//
// Drivers count whole GPUs only. The law is that of power.hpp, turned round: the idle part is due
// to nobody, and what the counter shows beyond it is due to the loads, in proportion to what each
// asks for by that law and to how long it was there. Everything is whole millijoules, and the parts
// add up to what the counter showed, exactly; each is within a millijoule, or a billionth of the
// whole, of its share.
//
// What the split cannot know: how heavy the work is (kappa), so that of two instances that are as
// busy and as large the one with the lighter work is given too much, at most what the other is
// given too little.

#include <cstdint>
#include <span>
#include <vector>

#include "base/quantity.hpp"
#include "base/time.hpp"
#include "physics/power.hpp"

namespace cleave {

/// Thousandths of a joule, as drivers count them.
using Millijoules = Count<struct MillijouleKind, std::int64_t>;

constexpr double in_joules(Millijoules energy) {
  return static_cast<double>(energy.value) / 1000;
}

/// More than a GPU can use in a life, and little enough to calculate with: 300 MWh.
inline constexpr Millijoules most_energy{std::int64_t{1} << 50};
/// The longest time that is divided at once, about four years.
inline constexpr Duration longest_split = std::chrono::hours(24 * 1461);

/// A whole divided in proportion to weights, none of which is negative: the parts add up to it
/// exactly. All parts are 0 where all weights are. `whole` is not negative, and its product with
/// the sum of the weights fits into 127 bits.
[[nodiscard]] std::vector<std::int64_t> divide_whole(std::int64_t whole,
                                                     std::span<const std::int64_t> weights);

/// What ran on a part of the GPU, and for how long of the time between the readings.
struct LoadTime {
  InstanceLoad load;
  Duration active{};
};

/// Energy divided.
struct EnergySplit {
  Millijoules idle;                // due to no load
  std::vector<Millijoules> loads;  // in their order
};

/// `energy`: what the counter showed for the time `over`. Where it is less than the idle part, or
/// no load asks for anything, all of it is idle. Values are cut to most_energy and longest_split.
[[nodiscard]] EnergySplit split_energy(const PowerBounds& bounds, Millijoules energy, Duration over,
                                       std::span<const LoadTime> loads);

/// Whether a GPU can have used so much in this time: four times its cap, and a second more, since
/// counters are renewed in steps. A counter that shows more is wrong.
[[nodiscard]] bool is_plausible(const PowerBounds& bounds, Millijoules energy, Duration over);

}  // namespace cleave
