// The law of waiting of SeededDaemon, whatever monitors hold: no job waits where an idle instance
// stands that it may have as it is, where slices are free, or where the daemon itself sees room;
// under adaptive, which chooses sizes, none for an idle instance that a monitor holds. And one that
// waits for the room of an instance that a monitor holds says which process that is.

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

bool fits(const Request& request, const Geometry& geometry, PlacementSet places) {
  return resolve(request, {geometry}).candidates.front().meets(places);
}

/// What stands on the GPU; empty where not all of it is known.
std::optional<PlacementSet> standing_on(const GpuStatus& gpu, const MemoryDoor& door) {
  PlacementSet all;
  for (const ObservedInstance& each : gpu.observation->instances) {
    if (!each.placement) return std::nullopt;
    all.insert(*each.placement);
  }
  if (gpu.observation->instances.size() != door.instances.size()) return std::nullopt;
  return all;
}

}  // namespace

/// As long as it is there, it holds what instances there are.
void SeededDaemon::set_monitor(std::size_t gpu, bool there) {
  MemoryDoor& door = machine_->door(gpu);
  if (there && monitored_.emplace(gpu, last_pid_ + 1).second) {
    ++counts_.monitors;
    machine_->holders(gpu) = {{++last_pid_, "monitor"}};
  }
  if (!there) {
    monitored_.erase(gpu);
    machine_->holders(gpu).clear();
  }
  tell(fmt::format("{} GPU {}", there ? "a monitor watches" : "nobody watches", gpu));
  door.refuse = [there](std::string_view call) -> std::optional<nvml::Return> {
    if (there && call == "destroy_compute_instance") return nvml::Return::in_use;
    return std::nullopt;
  };
}

/// Jobs of one place come and go, and monitors, which stay for about a minute.
void SeededDaemon::act_watched() {
  const double what = random_.uniform();
  if (what < 0.75) {
    NewJob job = any_job();
    job.spec.request.places = 1;
    job.spec.request.together = {};
    job.spec.asked = text(job.spec.request);
    if (!job.spec.service && !job.spec.lease) send(job);
  } else if (what < 0.92 && !wanted_.empty()) {
    auto which = wanted_.begin();
    std::advance(which, static_cast<std::ptrdiff_t>(random_.below(wanted_.size())));
    tell(fmt::format("job {} is cancelled", which->first));
    cancel(which->first);
  } else {
    set_monitor(random_.below(machine_->size()), random_.uniform() < 0.6);
  }
}

/// The machine and the driver let it take work.
bool SeededDaemon::may_have(const GpuStatus& gpu) const {
  const auto at = static_cast<std::size_t>(gpu.gpu->index);
  return gpu.observation && !gpu.lost && !gpu.drained && gpu.observation->mig &&
         machine_->door(at).mig && !is_closed(gpu.trouble) && !machine_->lost(at) &&
         !machine_->hangs(at);
}

/// Instances that the job would be given as they are, by what machine and driver show.
std::vector<std::string> SeededDaemon::standing_for(const JobRecord& job, bool everywhere) const {
  std::vector<std::string> devices;
  for (const GpuStatus& gpu : control_->gpus()) {
    const bool monitored = monitored_.contains(static_cast<std::size_t>(gpu.gpu->index));
    if (!may_have(gpu) || (!everywhere && !monitored)) continue;
    for (const ObservedInstance& each : gpu.observation->instances) {
      const auto had = had_.find(each.device);
      if (each.owner == Ownership::ours && each.placement && !each.device.empty() &&
          each.processes.empty() && machine_->processes_on(each.device).empty() &&
          machine_->exists(each.device) && (had == had_.end() || had->second == job.owner.uid) &&
          std::ranges::find(gpu.jobs, each.device, &GpuStatus::Held::device) == gpu.jobs.end() &&
          fits(job.request, gpu.gpu->geometry->geometry(), PlacementSet::of(*each.placement)))
        devices.push_back(each.device + " is idle");
    }
  }
  return devices;
}

/// GPUs with free slices for the job, beside all that stands there.
std::vector<std::string> SeededDaemon::free_for(const JobRecord& job) const {
  std::vector<std::string> gpus;
  for (const GpuStatus& gpu : control_->gpus()) {
    if (!may_have(gpu)) continue;
    const Geometry& geometry = gpu.gpu->geometry->geometry();
    const auto stands = standing_on(gpu, machine_->door(static_cast<std::size_t>(gpu.gpu->index)));
    if (stands && fits(job.request, geometry, geometry.free(*stands)))
      gpus.push_back(fmt::format("GPU {} has room", gpu.gpu->index));
  }
  return gpus;
}

/// GPUs where the job would have room but for idle instances that a monitor holds, which neither
/// the job nor the node's troubles name.
std::vector<std::string> SeededDaemon::unnamed_for(const JobRecord& job) {
  std::vector<std::string> gpus;
  for (const GpuStatus& gpu : control_->gpus()) {
    const auto at = static_cast<std::size_t>(gpu.gpu->index);
    if (!may_have(gpu) || !monitored_.contains(at)) continue;
    const Geometry& geometry = gpu.gpu->geometry->geometry();
    const auto stands = standing_on(gpu, machine_->door(at));
    if (!stands || fits(job.request, geometry, geometry.free(*stands))) continue;
    PlacementSet stays;
    for (const ObservedInstance& each : gpu.observation->instances)
      if (each.owner != Ownership::ours || !machine_->processes_on(each.device).empty() ||
          std::ranges::find(gpu.jobs, each.device, &GpuStatus::Held::device) != gpu.jobs.end())
        stays.insert(*each.placement);
    if (!fits(job.request, geometry, geometry.free(stays))) continue;
    const std::string process = fmt::format("process {}", monitored_.at(at));
    const std::vector<std::string> troubles = control_->troubles();
    const bool told = std::ranges::any_of(
        troubles, [&](const std::string& each) { return each.find(process) != std::string::npos; });
    if (told && control_->why_waits(job.number).find(process) != std::string::npos) {
      ++counts_.named;
    } else {
      gpus.push_back(fmt::format("{} has GPU {}, which is not said", process, gpu.gpu->index));
    }
  }
  return gpus;
}

/// One that came first has the first claim to what stands, also where it is to be made anew for it.
bool SeededDaemon::is_behind(const JobRecord& job) const {
  return life_ == Life::watched &&
         std::ranges::any_of(control_->jobs(), [&](const JobRecord* each) {
           return each->number < job.number &&
                  (each->state == JobState::queued || each->state == JobState::starting);
         });
}

void SeededDaemon::judge_wait(const JobRecord& job, bool in_order, std::set<Wait>& wait) {
  const std::string why = control_->why_waits(job.number);
  // One that is tried again is behind those that have waited meanwhile.
  const auto attempts = store_->attempts(job.number);
  const bool behind = why.find(" before it") != std::string::npos || is_behind(job) || !attempts ||
                      !attempts->empty();
  const bool room = why.starts_with("there is room for it, but " + control_->scheduler());
  const bool rejected = why.starts_with("it cannot run at present");
  if (job.state != JobState::queued || job.request.places > 1 ||
      (!room && !rejected && !why.starts_with("no GPU has room for it")))
    return;
  if (!room)
    for (const std::string& what : unnamed_for(job)) wait.insert({job.number, what});
  if (rejected || (in_order && behind)) return;
  for (const std::string& what : standing_for(job, in_order)) wait.insert({job.number, what});
  // Adaptive may know that it takes more than it asks for.
  if (!in_order) return;
  if (room) wait.insert({job.number, "there is room"});
  for (const std::string& what : free_for(job)) wait.insert({job.number, what});
}

/// What stands and waits longer than any retry, without a change, waits for nothing.
void SeededDaemon::check_waits() {
  const Duration patience = life_ == Life::watched ? 25s : 90s;
  if (now_ < next_look_at_waits_) return;
  next_look_at_waits_ = now_ + 1s;
  const std::string& scheduler = control_->scheduler();
  const bool in_order = scheduler == "online" || scheduler == "scheme-b";
  const bool decides =
      (in_order || scheduler == "adaptive") && !control_->paused() && control_->plan() == nullptr;
  std::set<Wait> wait;
  const auto jobs = decides ? control_->jobs() : std::vector<const JobRecord*>();
  bool kept = false;  // room, for another job
  for (const JobRecord* job : jobs) {
    kept = kept || control_->why_waits(job->number).find("is kept for it") != std::string::npos;
    judge_wait(*job, in_order, wait);
  }
  if (kept) wait.clear();
  std::erase_if(waits_since_, [&](const auto& each) { return !wait.contains(each.first); });
  for (const Wait& each : wait) {
    const auto since = waits_since_.try_emplace(each, now_).first->second;
    if (now_ - since <= patience) continue;
    violation(fmt::format("job {} waits for {} s, and {}: {}", each.job,
                          std::chrono::duration_cast<std::chrono::seconds>(now_ - since).count(),
                          each.what, control_->why_waits(each.job)));
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
