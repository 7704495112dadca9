#pragma once
// Jobs of several places in random workloads of tests.

#include "base/random.hpp"
#include "model/job.hpp"

namespace cleave {

/// A third of the jobs ask for up to `most` places from now on, lying to each other in any way,
/// some of them for whole GPUs.
inline void ask_for_several(Workload& workload, std::uint64_t seed, std::uint32_t most) {
  Random random(seed ^ 0x67616e67);
  for (Job& job : workload.jobs) {
    if (random.below(3) > 0) continue;
    Request request = workload.requests[job.request];
    if (request.offload) continue;
    request.places = 1 + static_cast<std::uint32_t>(random.below(most));
    const bool whole = random.below(4) == 0;
    if (whole) request.wanted = WholeGpu{};
    if (request.places > 1)
      request.together = static_cast<Together>(random.below(words_of_together.size()));
    if (whole && request.together == Together::gpu) request.together = Together::node;
    job.request = workload.intern(request);
  }
}

}  // namespace cleave
