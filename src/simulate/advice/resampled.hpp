#pragma once
// Other days like the one that was recorded. A workload file or a trace is one sequence of
// arrivals; how far an answer hangs on its accidents is seen by drawing others from it: a block
// bootstrap. Time is cut into windows, each window of a draw gets the batches that arrived in a
// window of the recording drawn with replacement, and they keep their place within it, so that
// bursts and the jobs of one user who submits many at a time stay together.
//
// A recording of a week or more is cut into days, which keep the time of day. A shorter one is cut
// into twelve windows, and those of the recording begin anywhere in it, the end joined to the
// beginning. Where all jobs come at once, single jobs are drawn.
//
// Jobs wait for one another within a window, and not beyond it.
//
// Services and leases stay as they are: they are few, and a day without the service would be
// another site.

#include <cstdint>
#include <vector>

#include "model/job.hpp"

namespace cleave {

/// How a workload is cut.
struct BootstrapWindows {
  std::size_t count = 1;
  Duration length{};        // zero: single jobs are drawn
  bool fixed_grid = false;  // windows of the recording begin where those of a draw do
};
[[nodiscard]] BootstrapWindows windows_of(const Workload& workload);

/// Another workload from the same windows, in order of arrival.
struct ResampledWorkload {
  Workload workload;
  std::vector<std::uint32_t> source;  // by job: its number in the recording
};
/// The same for the same seed.
[[nodiscard]] ResampledWorkload resampled(const Workload& recorded, std::uint64_t seed);
/// The recording itself, with its own numbers.
[[nodiscard]] ResampledWorkload as_recorded(const Workload& recorded);

}  // namespace cleave
