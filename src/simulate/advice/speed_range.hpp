#pragma once
// How far an answer hangs on speeds that nobody has measured. Jobs without speeds run as fast as
// their SMs, which is the worst that slices can do to them; the best is that they hardly notice.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/fleet_file.hpp"
#include "model/job.hpp"

namespace cleave {

/// What may be assumed, from no loss on slices to all of it.
enum class SpeedEnd : std::uint8_t { flat, half_way, by_sms };
inline constexpr std::array<std::string_view, 3> words_of_speed_end = {"flat", "half-way",
                                                                       "by SMs"};

/// The batches of a workload whose speeds are an assumption.
struct AssumedCounts {
  std::size_t jobs = 0;      // batches
  std::size_t unknown = 0;   // nothing is said: as fast as their SMs
  std::size_t one_time = 0;  // one time was recorded: the same on every instance that holds them
  std::size_t whole = 0;     // they ask for whole GPUs, on which nothing is assumed
};
[[nodiscard]] AssumedCounts count_assumed(const Workload& workload);

/// The workload with this assumption for those of which nothing is said.
[[nodiscard]] Workload with_assumed(Workload workload, SpeedEnd assumed);

/// What stands for the results of a workload with such counts, a line each; empty where every speed
/// is known.
[[nodiscard]] std::string assumed_text(const AssumedCounts& counts, const FleetFile& fleet);

}  // namespace cleave
