// Samples of GPUs, joined with three jobs.

#include "simulate/traces/gpu_samples.hpp"

#include "fuzz.hpp"

namespace cleave::fuzz::gpu_samples_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const SampledJob jobs[] = {{"1", "11", "n0", 1000, 2000, 1},
                             {"2_3", "", "n1", 1500, 2500, 2},
                             {"4", "", "n0", 1900, 3000, 1}};
  const auto joined = join_samples(text, "samples", jobs, nullptr);
  if (joined) {
    require(joined->by_job.size() == std::size(jobs), "each job has an answer");
    for (const SeenUse& use : joined->by_job)
      require(!use.busy_percent || (*use.busy_percent >= 0 && *use.busy_percent <= 100.0001),
              "a percentage");
    require(joined->of_no_job + joined->ambiguous <= joined->read, "no sample counts twice");
  }
  return error_of(joined);
}

}  // namespace
}  // namespace cleave::fuzz::gpu_samples_target

CLEAVE_FUZZ_TARGET(gpu_samples, judged)
