#pragma once
// What goes wrong in a simulation on purpose: GPUs that are lost and return, jobs whose process
// fails. Either said one by one, or drawn from a seed: each GPU is lost after an exponential time
// and returns after another.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "model/fleet_file.hpp"
#include "model/ids.hpp"

namespace cleave {

/// A GPU that is lost for a while.
struct Outage {
  GpuId gpu;
  Instant from, until;
};

/// What goes wrong in a run.
struct FaultPlan {
  std::vector<Outage> outages;
  std::optional<Duration> between_losses;   // mean, of one GPU
  Duration repair = std::chrono::hours{1};  // mean
  double job_failure = 0;  // share of jobs whose process fails, somewhere in its work

  [[nodiscard]] bool empty() const {
    return outages.empty() && !between_losses && job_failure == 0;
  }
};

/// "mtbf=TIME;repair=TIME;job-failure=SHARE", each optional.
[[nodiscard]] Result<FaultPlan> parse_faults(std::string_view text);
/// "NAME@FROM-UNTIL" in seconds; the GPU by its name in the fleet.
[[nodiscard]] Result<Outage> parse_outage(std::string_view text, const FleetFile& fleet);
/// One GPU's outages may not overlap.
[[nodiscard]] Result<void> check_outages(const FaultPlan& plan, const FleetFile& fleet);

}  // namespace cleave
