#pragma once
// What a job of a workload says of the service that it stands for, or of its lease.

#include "base/json.hpp"
#include "model/job.hpp"

namespace cleave {

/// What a document says of its kind beside the keys of every job. A service has `replicas` jobs.
struct StatedKind {
  std::optional<ServiceTerms> service;
  std::optional<LeaseTerms> lease;
};

/// Reads the keys `service` and `lease`; what is wrong is kept by `in`.
[[nodiscard]] StatedKind read_kind(JsonReader& in);
/// What follows for the job, and what it may not say then.
void apply_kind(JsonReader& in, const StatedKind& kind, const Request& request, SpeedModel& speed,
                JobDetails& details);

[[nodiscard]] Json json_of(const ServiceTerms& service);
[[nodiscard]] Json json_of(const LeaseTerms& lease);

}  // namespace cleave
