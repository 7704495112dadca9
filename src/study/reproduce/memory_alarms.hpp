#pragma once
// False and missed alarms of the forecasters: each watches the same jobs, on instances of which the
// true peak is a known share, and what it would have done is counted.

#include <array>
#include <string>
#include <vector>

#include "study/reproduce/growth_series.hpp"

namespace cleave {

/// True peak over capacity.
inline constexpr std::array<double, 13> peak_shares = {0.5,  0.6, 0.7,  0.8, 0.85, 0.9, 0.95,
                                                       1.05, 1.1, 1.15, 1.2, 1.35, 1.5};

/// A job whose memory runs out within this many iterations is counted apart: no rule has seen
/// enough by then.
inline constexpr std::ptrdiff_t too_soon = 12;

/// What a forecaster did with the jobs of one peak.
struct AlarmCounts {
  std::size_t jobs = 0;
  std::size_t at_once = 0;    // memory ran out within the first `too_soon` iterations
  std::size_t restarted = 0;  // an alarm before the end, or before memory ran out
  std::size_t caught =
      0;  // one before half of the run that would be lost; of peaks above the capacity
};

/// One forecaster on jobs of one shape, over all peaks.
struct AlarmCurve {
  std::string forecaster, shape;
  std::array<AlarmCounts, peak_shares.size()> at;
};

/// Which forecasters see which jobs.
struct AlarmOptions {
  std::vector<std::string> forecasters;  // as `make_forecaster` takes them
  std::size_t jobs = 400;                // of each shape
  std::uint64_t seed = 2;
};

/// A curve for each forecaster and shape; shapes that need facts are left out without them.
[[nodiscard]] Result<std::vector<AlarmCurve>> alarm_curves(const AlarmOptions& options,
                                                           const ServingFacts& facts);

/// A forecaster's counts over the shapes that grow: `server` and `level` are left out of it.
[[nodiscard]] AlarmCurve pooled(const std::vector<AlarmCurve>& curves, std::string_view forecaster);

/// The four jobs of *Managing Multi Instance GPUs*, 5.2.2, rebuilt from the figures that it gives:
/// the iteration at which memory runs out, and for two of them the final size. Their noise is ours.
struct PaperAlarm {
  std::string_view job;
  std::int64_t overflow = 0;  // printed there
  std::int64_t printed = 0;   // the alarm, there
  std::optional<std::int64_t>
      worst;  // the latest alarm here, of all seeds; nullopt when one had none
};
[[nodiscard]] Result<std::vector<PaperAlarm>> paper_alarms(int noise_mib, std::uint64_t seeds);

}  // namespace cleave
