#pragma once
// Relative speeds by (speed model, GPU model, profile), computed when first needed. The last column
// of a GPU model is the whole GPU with MIG off.

#include <cmath>
#include <limits>
#include <vector>

#include "model/job.hpp"
#include "physics/speed.hpp"
#include "placement/fleet.hpp"

namespace cleave {

/// A table of speeds that fills itself.
class Speeds {
 public:
  /// After as many profiles as a mask can hold.
  static constexpr std::size_t whole_gpu = 8 * sizeof(ProfileMask);

  Speeds(const Workload& workload, const Fleet& fleet);

  /// A speed of 0 means that the job does not run there.
  Speed on(const Job& job, std::size_t kind, std::size_t column) const {
    double& known = known_[(job.speed * models_.size() + kind) * columns + column];
    if (known == unknown) known = work_out(job, kind, column);
    return {std::abs(known), known < 0};
  }

 private:
  static constexpr std::size_t columns = whole_gpu + 1;
  static constexpr double unknown = std::numeric_limits<double>::infinity();

  [[nodiscard]] double work_out(const Job& job, std::size_t kind, std::size_t column) const;

  const Workload* workload_;
  std::vector<const GpuModel*> models_;
  mutable std::vector<double> known_;  // a negative sign marks an inferred speed
};

}  // namespace cleave
