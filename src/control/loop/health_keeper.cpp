#include "control/loop/health_keeper.hpp"

#include <algorithm>
#include <iterator>

#include "base/format.hpp"
#include "control/book/stored_health.hpp"

namespace cleave {

void HealthKeeper::event(GpuId gpu, std::string kind, std::string text, const LiveJob* job) {
  book_.event(std::move(kind), std::move(text), job, node_.gpu(gpu).identity->uuid);
}

void HealthKeeper::write(GpuId id) {
  const ManagedGpu& gpu = node_.gpu(id);
  book_.note_setting(health_key(gpu.identity->uuid), conditions_text(gpu.conditions));
}

void HealthKeeper::recall(const StoredSettings& stored, bool rebooted) {
  for (const GpuId id : node_.all_gpus()) {
    ManagedGpu& gpu = node_.gpu(id);
    const auto known = stored.conditions.find(gpu.identity->uuid);
    if (known == stored.conditions.end()) continue;
    gpu.conditions = known->second;
    if (rebooted) remove(id, ends_with_reset, "the machine was started again");
  }
}

void HealthKeeper::hear(GpuId id, const GpuNews& news) {
  const auto findings = findings_of(node_.gpu(id), news);
  const bool looked = news.observation && !news.observation->lost;
  if (looked) take(id, *news.observation);
  for (const HealthFinding& each : findings) apply(id, each);
  if (looked) follow_states(id, news.observation->health);
}

/// What is not told now may be told again later.
void HealthKeeper::take(GpuId id, const GpuObservation& observation) {
  ManagedGpu& gpu = node_.gpu(id);
  const GpuHealth& told = observation.health;
  if (told.recovery_action) gpu.health.recovery_action = told.recovery_action;
  if (told.rows_pending) gpu.health.rows_pending = told.rows_pending;
  if (told.rows_failed) gpu.health.rows_failed = told.rows_failed;
  if (told.uncorrected) gpu.health.uncorrected = told.uncorrected;
  for (const ObservedInstance& seen : observation.instances) {
    if (!seen.placement || !seen.uncorrected) continue;
    const auto known = gpu.instances.find(*seen.placement);
    if (known != gpu.instances.end() && known->second.device == seen.device)
      known->second.errors = seen.uncorrected;
  }
}

std::vector<JobKey> HealthKeeper::attempts_at(GpuId id, std::optional<PlacementId> at) const {
  std::vector<JobKey> attempts;
  for (auto each = node_.occupants.lower_bound({id, std::nullopt});
       each != node_.occupants.end() && each->first.gpu == id; ++each)
    if (!at || each->first.placement == at)
      std::ranges::copy(each->second, std::back_inserter(attempts));
  return attempts;
}

LiveJob* HealthKeeper::only_job(const std::vector<JobKey>& attempts) {
  LiveJob* only = nullptr;
  for (const JobKey& key : attempts) {
    LiveJob* process = node_.find(key.job);
    if (process == nullptr) continue;
    LiveJob* job = &node_.whole(*process);
    if (only != nullptr && only != job) return nullptr;
    only = job;
  }
  return only;
}

void HealthKeeper::note_fault(LiveJob& job, const std::string& gpu, bool grave) {
  job.faults = recent_faults(job.faults, clock_.wall());
  job.faults.push_back({gpu, clock_.wall(), grave});
  book_.note_setting(faults_key(job.record.number), faults_text(job.faults));
}

void HealthKeeper::blame(const std::vector<JobKey>& attempts, const std::string& why, bool of_job) {
  for (const JobKey& key : attempts) {
    LiveJob* process = node_.find(key.job);
    if (process == nullptr || !process->attempts.contains(key.attempt)) continue;
    const auto faults = recent_faults(node_.whole(*process).faults, clock_.wall());
    const auto count = std::max<std::size_t>(faults.size(), 1);
    process->attempts.at(key.attempt).blame =
        GpuBlame{why, clock_.steady() + soon_after_sign, static_cast<std::int64_t>(count), of_job};
  }
}

void HealthKeeper::stop(const std::vector<JobKey>& attempts, const std::string& why) {
  for (const JobKey& key : attempts)
    if (LiveJob* job = node_.find(key.job); job != nullptr && job->attempts.contains(key.attempt))
      lifecycle_.stop_attempt(*job, key.attempt, AttemptEnd::lost, why);
}

void HealthKeeper::apply(GpuId id, const HealthFinding& finding) {
  const ManagedGpu& gpu = node_.gpu(id);
  const std::string where =
      finding.placement ? node_.in_words(JobPlace{id, finding.placement}) : node_.in_words(id);
  const std::string what = finding.fact == nullptr
                               ? fmt::format("Xid {} (not in the table of health)", finding.number)
                               : in_words(*finding.fact);
  const std::string why = fmt::format("{}: {}", where, what);
  const std::vector<JobKey> there = attempts_at(id, finding.placement);
  LiveJob* job = only_job(there);
  event(id, "gpu-sign", finding.times == 1 ? why : fmt::format("{}, {} times", why, finding.times),
        job);
  if (finding.reaction == HealthReaction::ignore) return;

  const HealthFact& fact = *finding.fact;
  const bool grave = finding.reaction == HealthReaction::drain_gpu || fact.deferred;
  const bool cause =
      grave && job != nullptr && is_taken_for_cause(job->faults, gpu.identity->uuid, clock_.wall());
  if (job != nullptr) note_fault(*job, gpu.identity->uuid, grave);
  // Of what concerns the whole GPU all are stopped, whichever met it.
  const bool all = finding.reaction == HealthReaction::drain_gpu && fact.stops_jobs && !cause;
  const std::vector<JobKey> concerned = all ? attempts_at(id, {}) : there;
  blame(concerned, why, cause);
  if (cause) {
    event(id, "gpu-spared",
          fmt::format("{} is not drained: job {} has met such a sign on another GPU too, and is "
                      "taken for the cause",
                      node_.in_words(id), job->record.number),
          job);
    return stop(there, why);
  }
  GpuCondition condition{.fact = &fact, .device = {}, .since = clock_.wall()};
  if (job != nullptr) condition.job = job->record.number;
  if (job != nullptr) condition.uid = job->record.owner.uid;
  if (finding.reaction == HealthReaction::drain_instance) {
    condition.device = gpu.instances.at(*finding.placement).device;
    add(id, std::move(condition));
  } else if (finding.reaction == HealthReaction::drain_gpu) {
    if (condition.uid && has_drained_enough(node_, id, *condition.uid)) {
      event(id, "gpu-spared",
            fmt::format("{} is not drained: {} other GPUs are drained for signs that jobs of the "
                        "same user met",
                        node_.in_words(id), most_gpus_of_user),
            job);
    } else {
      add(id, std::move(condition));
    }
  }
  // One of several jobs, of which nobody knows which, is not stopped.
  if (fact.stops_jobs && finding.reaction != HealthReaction::requeue_job) stop(concerned, why);
}

void HealthKeeper::add(GpuId id, GpuCondition condition) {
  ManagedGpu& gpu = node_.gpu(id);
  const bool known = std::ranges::any_of(gpu.conditions, [&](const GpuCondition& each) {
    return each.fact == condition.fact && each.device == condition.device && !each.accepted;
  });
  if (known) return;
  // An event that comes again after an operator's word counts anew.
  std::erase_if(gpu.conditions, [&](const GpuCondition& each) {
    return each.fact == condition.fact && each.device == condition.device;
  });
  const bool of_instance = !condition.device.empty(), closes = of_instance || drains(condition);
  const std::string text = in_words(condition, gpu.identity->index, clock_.wall());
  gpu.conditions.push_back(std::move(condition));
  write(id);
  if (!closes) return event(id, "gpu-sign", fmt::format("{}: {}", node_.in_words(id), text));
  event(id, of_instance ? "instance-quarantined" : "gpu-unhealthy",
        fmt::format("{}: {}", node_.in_words(id), text));
  lifecycle_.rebuild(of_instance ? "an instance is quarantined"
                                 : "a GPU is drained for its health");
}

template <class Which>
void HealthKeeper::remove(GpuId id, Which which, const std::string& why) {
  ManagedGpu& gpu = node_.gpu(id);
  const bool drained = gpu.drained_by() != nullptr;
  bool of_instance = false;
  std::string gone;
  std::erase_if(gpu.conditions, [&](const GpuCondition& each) {
    if (!which(each)) return false;
    of_instance = of_instance || !each.device.empty();
    gone += fmt::format("{}{}", gone.empty() ? "" : ", ", in_words(*each.fact));
    return true;
  });
  if (gone.empty()) return;
  write(id);
  const bool back = drained && gpu.drained_by() == nullptr;
  event(id, back ? "gpu-recovered" : "gpu-sign",
        fmt::format("{}: {} is over: {}{}", node_.in_words(id), gone, why,
                    back ? "; it takes jobs again" : ""));
  if (back || of_instance) lifecycle_.rebuild("a GPU is healthy again");
}

void HealthKeeper::follow_states(GpuId id, const GpuHealth& health) {
  for (const HealthSign sign : health_states())
    if (const auto fact = state_of(health, sign)) follow_state(id, sign, *fact);
  follow_requests(id, health);
}

void HealthKeeper::follow_state(GpuId id, HealthSign sign, const HealthFact* fact) {
  const auto same = [&](const GpuCondition& each) { return each.fact == fact; };
  if (fact != nullptr && std::ranges::none_of(node_.gpu(id).conditions, same))
    add(id, {.fact = fact, .device = {}, .since = clock_.wall()});
  // What takes the place of another is there first, so that the GPU is not back in between.
  remove(
      id, [&](const GpuCondition& each) { return each.fact->sign == sign && each.fact != fact; },
      "the driver no longer says so");
}

/// A driver that asked for something after an Xid, and asks for nothing any more, has seen it done.
void HealthKeeper::follow_requests(GpuId id, const GpuHealth& health) {
  if (!health.recovery_action) return;
  if (*health.recovery_action == 0)
    return remove(
        id,
        [](const GpuCondition& each) {
          return each.asked && each.device.empty() && ends_with_reset(each);
        },
        "the driver asks for nothing any more");
  bool changed = false;
  for (GpuCondition& each : node_.gpu(id).conditions)
    if (each.fact->sign == HealthSign::xid && !std::exchange(each.asked, true)) changed = true;
  if (changed) write(id);
}

void HealthKeeper::returned(GpuId id) {
  remove(id, ends_with_reset, "it was lost and is back, which takes a reset");
}

void HealthKeeper::gone(GpuId id, const std::string& device) {
  if (device.empty()) return;
  remove(
      id, [&](const GpuCondition& each) { return each.device == device; },
      "the instance is no more");
}

void HealthKeeper::accept(GpuId id) {
  ManagedGpu& gpu = node_.gpu(id);
  for (GpuCondition& each : gpu.conditions)
    if (each.device.empty() && each.fact->sign != HealthSign::xid) each.accepted = true;
  std::erase_if(gpu.conditions, [](const GpuCondition& each) {
    return each.device.empty() && each.fact->sign == HealthSign::xid;
  });
  write(id);
}

}  // namespace cleave
