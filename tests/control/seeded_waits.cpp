// The law of waiting of SeededDaemon, whatever monitors hold: no job waits where an idle instance
// stands that it may have as it is, or where the daemon itself sees room.

#include <algorithm>

#include "base/format.hpp"
#include "placement/request_table.hpp"
#include "seeded_daemon.hpp"

namespace cleave::trial {

using namespace std::chrono_literals;

namespace {

/// That the GPU is closed, or the instance, for a reason that is not a monitor's.
bool is_closed(const std::string& trouble) {
  constexpr std::string_view reasons[] = {"drained", "quarantined", "takes no job", "answer",
                                          "lock"};
  return std::ranges::any_of(
      reasons, [&](std::string_view each) { return trouble.find(each) != std::string::npos; });
}

bool fits(const Request& request, const Geometry& geometry, PlacementId placement) {
  return resolve(request, {geometry}).candidates.front().meets(PlacementSet::of(placement));
}

}  // namespace

/// Instances that the job would be given as they are, by what machine and driver show.
std::vector<std::string> SeededDaemon::standing_for(const JobRecord& job) const {
  std::vector<std::string> devices;
  for (const GpuStatus& gpu : control_->gpus()) {
    const auto at = static_cast<std::size_t>(gpu.gpu->index);
    if (!gpu.observation || gpu.lost || gpu.drained || !gpu.observation->mig ||
        is_closed(gpu.trouble) || machine_->lost(at) || machine_->hangs(at))
      continue;
    for (const ObservedInstance& each : gpu.observation->instances) {
      const auto had = had_.find(each.device);
      if (each.owner == Ownership::ours && each.placement && !each.device.empty() &&
          each.processes.empty() && machine_->processes_on(each.device).empty() &&
          machine_->exists(each.device) && (had == had_.end() || had->second == job.owner.uid) &&
          std::ranges::find(gpu.jobs, each.device, &GpuStatus::Held::device) == gpu.jobs.end() &&
          fits(job.request, gpu.gpu->geometry->geometry(), *each.placement))
        devices.push_back(each.device);
    }
  }
  return devices;
}

/// What stands and waits longer than any retry, without a change, waits for nothing.
void SeededDaemon::check_waits() {
  constexpr Duration patience = 90s;
  if (now_ < next_look_at_waits_) return;
  next_look_at_waits_ = now_ + 1s;
  const std::string& scheduler = control_->scheduler();
  const bool in_order = scheduler == "online" || scheduler == "scheme-b";
  const bool decides =
      (in_order || scheduler == "adaptive") && !control_->paused() && control_->plan() == nullptr;
  std::set<std::pair<JobNumber, std::string>> wait;
  const auto jobs = decides ? control_->jobs() : std::vector<const JobRecord*>();
  bool kept = false;  // room, for another job
  for (const JobRecord* job : jobs) {
    const std::string why = control_->why_waits(job->number);
    kept = kept || why.find("is kept for it") != std::string::npos;
    // One that is tried again is behind those that have waited meanwhile.
    const auto attempts = store_->attempts(job->number);
    const bool behind =
        why.find(" before it") != std::string::npos || !attempts || !attempts->empty();
    const bool room = why.starts_with("there is room for it, but " + scheduler);
    if (job->state != JobState::queued || job->request.places > 1 || (in_order && behind) ||
        (!room && !why.starts_with("no GPU has room for it")))
      continue;
    if (room) wait.emplace(job->number, "");
    for (const std::string& device : standing_for(*job)) wait.emplace(job->number, device);
  }
  if (kept) wait.clear();
  std::erase_if(waits_since_, [&](const auto& each) { return !wait.contains(each.first); });
  for (const auto& each : wait) {
    const auto since = waits_since_.try_emplace(each, now_).first->second;
    if (now_ - since <= patience) continue;
    violation(fmt::format("job {} waits for {} s, and {}: {}", each.first,
                          std::chrono::duration_cast<std::chrono::seconds>(now_ - since).count(),
                          each.second.empty() ? "there is room" : each.second + " is idle",
                          control_->why_waits(each.first)));
    for (const JobRecord* job : jobs)
      tell(fmt::format("job {} ({}, {}) is {}: {}", job->number, text(job->request),
                       job->spec.asked, name(job->state), control_->why_waits(job->number)));
    for (const GpuStatus& gpu : control_->gpus())
      tell(fmt::format("GPU {}: {}", gpu.gpu->index, gpu.trouble));
    return;
  }
  if (!wait.empty()) ++counts_.waits;
}

}  // namespace cleave::trial
