#pragma once
// How large an instance a job asks for that names its application and no size: what was measured of
// the application decides. A pure function.
//
// Memory is the largest known peak of the batch on the node's GPU models, from the user's earlier
// jobs and the operator's repository, and a twentieth more; never less than the peak. Where the
// scheduler gives jobs the profile that they name, the profile is the one of the highest reward
// (forecast/choice/reward.hpp, as `cleave recommend` has it by default) among those with that
// memory, from the first of the two repositories that can tell. Everywhere else the job asks for
// the memory.

#include <optional>
#include <string>
#include <vector>

#include "control/node/measured_applications.hpp"
#include "model/geometry.hpp"
#include "model/request.hpp"

namespace cleave {

/// What a job asks for, and that in words: "resnet, batch 64: 2g.10gb, by measurements".
struct MeasuredSize {
  Request request;
  std::string asked;
  friend bool operator==(const MeasuredSize&, const MeasuredSize&) = default;
};

/// What is added to a known peak, as a share of it, as far as an instance has it.
inline constexpr double peak_margin = 0.05;

/// The peak with its margin; without a part of it where only that keeps it from the largest
/// instance. Nothing where no instance has the peak.
[[nodiscard]] std::optional<MiB> with_margin(MiB peak,
                                             const std::vector<const Geometry*>& geometries);

/// Nothing where no peak is known. `geometries`: of the node's GPUs, equal ones once. `by_profile`:
/// the scheduler gives jobs the profile that they name. `needed`: what jobs of the application were
/// seen to need, which may be more than a peak that was measured elsewhere.
[[nodiscard]] std::optional<MeasuredSize> size_by_measurements(
    const JobSpec& spec, std::uint32_t uid, const MeasuredApplications& applications,
    const std::vector<const Geometry*>& geometries, bool by_profile,
    std::optional<MiB> needed = std::nullopt);

}  // namespace cleave
