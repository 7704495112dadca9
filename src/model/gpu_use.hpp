#pragma once
// What monitoring saw a job use of a whole GPU, and what follows for other profiles: from the share
// of time in which the GPU was busy its speed, from the most memory its size.

#include <optional>

#include "model/job.hpp"

namespace cleave {

/// As far as it was seen.
struct SeenUse {
  std::optional<double> busy_percent;  // of the job's time, 0 to 100
  std::optional<MiB> memory;           // the most at a time
};

/// The law of a job that takes 1 on the whole GPU, where `bound` of that, 0 to 1, is work that
/// keeps the GPU busy.
[[nodiscard]] SliceLaw law_of_bound(double bound);

/// What is assumed of a job that was busy on the GPU for so much of its time: that share grows on
/// slices as work does that fills the GPU, and the rest of the time hides it as far as usual. To a
/// whole percent, so that many jobs share few laws.
[[nodiscard]] SliceLaw law_of_use(double busy_percent);

/// What a job with this memory asks for: at least 1 MiB, since it needs an instance.
[[nodiscard]] MiB size_of_use(MiB memory);

}  // namespace cleave
