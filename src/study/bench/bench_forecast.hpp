#pragma once
// `cleave bench forecast`, streaming: what each forecaster takes for one memory report of a long
// run.

#include <string>
#include <vector>

#include "base/result.hpp"

namespace cleave {

struct StreamingBench {
  std::string forecaster;
  std::size_t samples = 0, jobs = 0;
  double samples_per_s = 0;
};

/// Every forecaster of the table but `none`: a job of so many samples, and as many in turn from a
/// thousand jobs. Samples are made beforehand.
[[nodiscard]] Result<std::vector<StreamingBench>> bench_streaming(std::size_t samples);

}  // namespace cleave
