#pragma once
// Relative speeds measured by others on MIG profiles (figures only), so that generated workloads
// run at speeds that some GPU had. All three sets are under the MIT licence.
//
// - miso: training on an A100 40 GB, 8 models by batch size. Li et al., "MISO: Exploiting
//   Multi-Instance GPU Capability on Multi-Tenant GPU Clusters", SoCC 2022
//   (github.com/boringlee24/socc22-miso, commit 39b1ee69). Speed is the median time of a batch on
//   7g.40gb over that on the profile. The batches of deepspeech2 differ so much in length that its
//   speeds mean little.
// - parvagpu: inference on an A100 80 GB, 11 models by batch size, one process in the instance. Lee
//   et al., "ParvaGPU", SC 2024 (github.com/MunQ-Lee/ParvaGPU_SC24, commit 5f3de1e1). Speed is the
//   throughput over that on 7g.80gb. Larger profiles are sometimes slower by about 5 %, which is
//   noise; densenet169 at batch 128 on 3g and 4g is faster than any trend.
// - rodinia: kernels of Rodinia on an A30, one run each. github.com/artecs-group/RL_MIG_scheduler,
//   commit b5c1b9c7; related: Villarrubia et al., JPDC 2025. Speed is the time on 4g.24gb over that
//   on the profile. Some kernels are slower on 4g than on 2g, so speeds above 1 occur; good for a
//   smoke test only.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/time.hpp"
#include "model/job.hpp"

namespace cleave {

/// A set of measurements.
enum class MeasuredSet : std::uint8_t { miso, parvagpu, rodinia };

/// The speeds of one application.
struct MeasuredSpeed {
  MeasuredSet set;
  std::string_view application;
  int batch;                   // samples in a batch; 0 if the application has none
  std::string_view reference;  // key of the GPU model; its largest profile has speed 1
  SpeedTable speeds;  // without profiles on which it did not run, mostly for lack of memory
  Duration latency;   // of one batch, or one run of the kernel, on the largest profile
};

/// Sorted by application and batch; Rodinia's kernels in the order of their source.
std::span<const MeasuredSpeed> measured_speeds(MeasuredSet set);

/// Null if it was not measured.
const MeasuredSpeed* find_measured(MeasuredSet set, std::string_view application, int batch = 0);

}  // namespace cleave
