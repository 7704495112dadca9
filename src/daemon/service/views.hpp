#pragma once
// What the loop and the store know, as the documents of the API.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "api/documents.hpp"
#include "control/control.hpp"

namespace cleave {

/// NVML's index of a GPU by its UUID; -1 where it is not among those that are managed now.
using GpuIndexOf = std::function<std::int64_t(const std::string&)>;

/// `attempt`: its latest, or null. The instance is shown while the job holds one.
[[nodiscard]] ApiJob job_view(const JobRecord& job, const AttemptRecord* attempt,
                              const GpuIndexOf& index_of);
/// Where it is a service: how its replicas stand. It runs while one of them does.
void add_service(ApiJob& view, const ServiceStatus& service);
/// Where it is a lease that runs: what is known of its work.
void add_lease(ApiJob& view, const LeaseStatus& lease);
/// What it has used beyond what its record says.
void add_energy(ApiJob& view, const JobEnergy& energy);
/// When it is expected to end, and how that is known.
void add_expected_end(ApiJob& view, const std::optional<ExpectedEnd>& end);
/// `attempt`: the latest, or null; `ended`: how it did while others of the job run, or null.
[[nodiscard]] ApiProcess process_view(const JobRecord& process, const AttemptRecord* attempt,
                                      const EndedProcess* ended, const GpuIndexOf& index_of);
[[nodiscard]] ApiAttempt attempt_view(const AttemptRecord& attempt, const GpuIndexOf& index_of);
[[nodiscard]] ApiPredictionErrors prediction_errors_view(const PredictionErrors& errors);
/// What a client may know of the jobs and claims on a GPU. Devices and processes of instances that
/// hold none of the client's are for those who operate.
struct GpuSight {
  std::function<bool(JobNumber)> sees;  // whether it may know of this job
  bool operates = false;
  std::int64_t uid = -1;  // of the client
};
[[nodiscard]] ApiGpu gpu_view(const GpuStatus& gpu, const GpuSight& sight,
                              std::span<const ClaimStatus> claims = {},
                              const GpuReservation* reserved = nullptr);
[[nodiscard]] ApiEvent event_view(const EventRecord& event);
/// "id: 3\nevent: job-started\ndata: {...}\n\n"
[[nodiscard]] std::string event_stream_text(const EventRecord& event);

/// What the API sends: UTF-8 whatever was in it, one line.
[[nodiscard]] std::string api_text(const Json& document);

}  // namespace cleave
