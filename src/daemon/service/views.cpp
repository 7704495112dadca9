#include "daemon/service/views.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "model/job.hpp"

namespace cleave {

namespace {

/// What a damaged store may hold beyond all times is shown as the last there is.
Instant sum_within(Instant begin, Duration time) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(begin.time_since_epoch().count(), time.count(), &sum))
    sum = time < Duration{} ? Duration::min().count() : Duration::max().count();
  return Instant{Duration{sum}};
}

ApiPlace place_view(const AttemptRecord& attempt, const GpuIndexOf& index_of) {
  return {attempt.gpu, index_of(attempt.gpu), attempt.device, attempt.profile, attempt.start};
}

/// The process of a job that may have ended otherwise, by another process.
bool has_done_its_work(const AttemptRecord& attempt) {
  return attempt.end == AttemptEnd::ended_itself && attempt.exit_code == 0;
}

MiB rounded_mebibytes(std::uint64_t bytes) {
  return whole_mib(bytes + bytes_per_mib / 2);
}

/// Whether programs of this user run there, by a claim. Others learn only that there is a claim.
bool note_claim(ApiInstance& view, const std::string& device, const GpuSight& sight,
                std::span<const ClaimStatus> claims) {
  const auto has = [&device](const ClaimStatus& status) {
    return !device.empty() && std::ranges::find(status.claim.places, device, &ClaimPlace::device) !=
                                  status.claim.places.end();
  };
  const auto found = std::ranges::find_if(claims, has);
  if (found == claims.end()) return false;
  const bool own = found->claim.order.uid == sight.uid;
  view.claim = own || sight.operates ? found->claim.key : "";
  view.claim_holder = own || sight.operates ? found->claim.order.holder : "";
  return own;
}

ApiInstance instance_view(const GpuStatus& gpu, const ObservedInstance& seen, const GpuSight& sight,
                          std::span<const ClaimStatus> claims) {
  ApiInstance view;
  view.gpu = gpu.gpu->uuid;
  view.gpu_index = gpu.gpu->index;
  if (seen.placement) {
    const Placement& placement = gpu.gpu->geometry->geometry()[*seen.placement];
    view.profile = std::string(placement.profile->name);
    view.start = placement.start;
  }
  view.owner = std::string(name(seen.owner));
  for (const GpuStatus::Held& held : gpu.jobs) {
    if (seen.device.empty() || held.device != seen.device) continue;
    view.held = true;
    if (sight.sees(held.attempt.job)) view.jobs.push_back(held.attempt.job);
  }
  // Whoever knows the device of others could run there, as long as nothing fences it.
  const bool own_claim = note_claim(view, seen.device, sight, claims);
  if (sight.operates || own_claim || !view.jobs.empty()) {
    view.device = seen.device;
    for (const GpuStatus::Held& held : gpu.jobs)
      if (!seen.device.empty() && held.device == seen.device) view.activity = held.activity;
    for (const LiveProcess& process : seen.processes) view.processes.push_back(process.pid);
  }
  if (seen.memory) {
    view.used = rounded_mebibytes(seen.memory->used_bytes);
    view.total = rounded_mebibytes(seen.memory->total_bytes);
  }
  if (const auto used = gpu.energies.find(seen.device); used != gpu.energies.end())
    view.energy = static_cast<double>(used->second) / 1000;
  return view;
}

}  // namespace

void add_energy(ApiJob& view, const JobEnergy& energy) {
  if (energy.millijoules)
    view.energy = view.energy.value_or(0) + static_cast<double>(*energy.millijoules) / 1000;
  view.unmetered += energy.unmetered;
}

ApiJob job_view(const JobRecord& job, const AttemptRecord* attempt, const GpuIndexOf& index_of) {
  ApiJob view;
  view.id = job.number;
  view.name = job.spec.name;
  view.user = job.owner.user;
  view.uid = job.owner.uid;
  view.state = std::string(name(job.state));
  view.reason = job.reason;
  view.exit_code = job.exit_code;
  view.asked = job.spec.asked;
  view.asks_now = text(job.request);
  view.priority = job.spec.priority;
  view.restartable = may_be_restarted(job.spec);
  view.movable = may_be_moved(job.spec);
  if (job.spec.progress != Keeps::unsaid) view.progress = std::string(name(job.spec.progress));
  view.time_limit = job.spec.time_limit;
  view.cpus = job.spec.cpus;
  view.host_memory = job.spec.host_memory;
  if (job.spec.deadline) view.deadline_at = sum_within(job.submitted, *job.spec.deadline);
  view.submitted_at = job.submitted;
  view.ended_at = job.ended;
  view.attempts = job.attempts;
  view.places = job.places();
  view.kind = std::string(words_of_job_kind[static_cast<std::size_t>(kind_of(job.spec))]);
  if (job.is_replica()) view.replicas = job.replicas();
  view.restarts = job.restarts;
  view.lease = job.spec.lease;
  if (!job.spec.image.empty()) view.image = job.spec.image;
  view.promised_at = job.promised;
  view.array = job.spec.task;
  view.after = job.spec.after;
  if (!view.after.empty()) view.awaited = fmt::format("{}", fmt::join(view.after, ","));
  view.at_once = job.spec.at_once;
  view.output = job.spec.output_file;
  view.error = job.spec.error_file;
  view.early_restarts = static_cast<std::int64_t>(job.early_restarts.size());
  view.application = job.spec.application;
  add_energy(view, job.energy);
  if (attempt == nullptr) return view;
  view.ran_on = attempt->profile.empty() ? std::string(mig_off) : attempt->profile;
  view.started_at = attempt->began ? attempt->began : attempt->started;
  view.memory = attempt->peak;
  if (!is_final(job.state) && !attempt->ended) view.instance = place_view(*attempt, index_of);
  return view;
}

void add_service(ApiJob& view, const ServiceStatus& service) {
  if (!view.replicas) return;
  view.up = service.up;
  view.restarts = std::max(view.restarts, service.restarts);
  if (service.up > 0 && !view.is_over()) view.state = std::string(name(JobState::running));
}

void add_lease(ApiJob& view, const LeaseStatus& lease) {
  if (!view.lease || view.state != name(JobState::running)) return;
  view.idle_measured = lease.measured;
  view.idle_since = lease.idle_since;
}

void add_expected_end(ApiJob& view, const std::optional<ExpectedEnd>& end) {
  if (!end) return;
  view.expected_end_at = end->at;
  view.expected_by = std::string(name(end->source));
}

ApiAttempt attempt_view(const AttemptRecord& attempt, const GpuIndexOf& index_of) {
  ApiAttempt view;
  view.attempt = attempt.key.attempt;
  view.instance = place_view(attempt, index_of);
  view.started = attempt.started;
  view.began = attempt.began;
  view.ended = attempt.ended;
  if (attempt.end) view.end = std::string(name(*attempt.end));
  view.why = attempt.why;
  view.exit_code = attempt.exit_code;
  view.peak = attempt.peak;
  view.predicted = attempt.predicted;
  if (attempt.predicted_by) view.predicted_by = std::string(name(*attempt.predicted_by));
  view.lasted = attempt.lasted;
  view.too_large = attempt.too_large;
  return view;
}

ApiProcess process_view(const JobRecord& process, const AttemptRecord* attempt,
                        const EndedProcess* ended, const GpuIndexOf& index_of) {
  ApiProcess view;
  view.rank = process.rank();
  view.held = !process.has_process();
  view.restarts = process.restarts;
  JobState state = process.state;
  if (attempt != nullptr) {
    if (is_final(state) && !view.held && has_done_its_work(*attempt)) state = JobState::finished;
    // Of a service it stays so until the others have ended.
    if (process.is_replica() && process.cancelled && attempt->ended) state = JobState::cancelled;
    view.instance = place_view(*attempt, index_of);
    view.memory = attempt->peak;
    view.exit_code = attempt->exit_code;
    view.why = attempt->why;
  }
  if (ended != nullptr) {
    view.exit_code = ended->verdict.exit_code;
    if (view.why.empty()) view.why = ended->verdict.why;
    state = view.exit_code == 0 ? JobState::finished : JobState::failed;
  }
  view.state = std::string(name(state));
  return view;
}

ApiPredictionErrors prediction_errors_view(const PredictionErrors& errors) {
  ApiPredictionErrors view;
  if (errors.source) view.by = std::string(name(*errors.source));
  view.count = static_cast<std::int64_t>(errors.count);
  view.median = errors.median;
  view.p90 = errors.p90;
  return view;
}

ApiGpu gpu_view(const GpuStatus& gpu, const GpuSight& sight, std::span<const ClaimStatus> claims,
                const GpuReservation* reserved) {
  ApiGpu view;
  view.index = gpu.gpu->index;
  view.uuid = gpu.gpu->uuid;
  view.model = gpu.gpu->driver_name;
  view.managed = true;
  view.drained = gpu.drained;
  view.lost = gpu.lost;
  view.trouble = gpu.trouble;
  if (reserved != nullptr) {
    view.reserved_for = reserved->name;
    view.reserved_from = reserved->from;
    view.reserved_until = reserved->until;
  }
  if (!gpu.observation) return view;
  view.mig = gpu.observation->mig;
  if (gpu.observation->power_mw)
    view.power_w = static_cast<double>(*gpu.observation->power_mw) / 1000;
  if (gpu.observation->energy_mj)
    view.energy = static_cast<double>(*gpu.observation->energy_mj) / 1000;
  PlacementSet standing;
  for (const ObservedInstance& seen : gpu.observation->instances) {
    if (seen.placement) standing.insert(*seen.placement);
    view.instances.push_back(instance_view(gpu, seen, sight, claims));
  }
  view.layout = layout_text(gpu.gpu->geometry->geometry(), standing);
  return view;
}

ApiEvent event_view(const EventRecord& event) {
  return {event.number, event.at, event.kind, event.job, event.gpu, event.text};
}

std::string api_text(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string event_stream_text(const EventRecord& event) {
  return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.number, event.kind,
                     api_text(to_json(event_view(event))));
}

}  // namespace cleave
