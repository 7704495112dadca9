#include "control/node/node_state.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

LiveJob* NodeState::find(JobNumber number) {
  const auto found = jobs.find(number);
  return found == jobs.end() ? nullptr : &found->second;
}

const LiveJob* NodeState::find(JobNumber number) const {
  const auto found = jobs.find(number);
  return found == jobs.end() ? nullptr : &found->second;
}

LiveJob& NodeState::whole(LiveJob& process) {
  LiveJob* const job = process.record.stands_alone() ? nullptr : find(process.record.leader);
  return job == nullptr ? process : *job;
}

std::vector<const LiveJob*> NodeState::processes(const LiveJob& job) const {
  std::vector<const LiveJob*> all;
  for (std::int64_t rank = 0; rank < job.record.places(); ++rank)
    if (const LiveJob* process = find(job.record.first() + rank)) all.push_back(process);
  return all;
}

std::vector<LiveJob*> NodeState::processes(const LiveJob& job) {
  std::vector<LiveJob*> all;
  for (std::int64_t rank = 0; rank < job.record.places(); ++rank)
    if (LiveJob* process = find(job.record.first() + rank)) all.push_back(process);
  return all;
}

std::vector<const LiveJob*> NodeState::replicas(const LiveJob& job) const {
  if (!job.record.is_replica()) return {&job};
  std::vector<const LiveJob*> all;
  for (std::int64_t rank = 0; rank < job.record.replicas(); ++rank)
    if (const LiveJob* replica = find(job.record.job() + rank))
      if (!is_final(replica->record.state)) all.push_back(replica);
  return all;
}

std::vector<LiveJob*> NodeState::replicas(LiveJob& job) {
  std::vector<LiveJob*> all;
  for (const LiveJob* replica : std::as_const(*this).replicas(job))
    all.push_back(find(replica->record.number));
  return all;
}

HostNode NodeState::host_node() const {
  HostNode node{host, 0, 0};
  for (const ManagedGpu& gpu : gpus) {
    const HostSlices slices = host_slices(gpu.geometry().model());
    node.compute += slices.compute;
    node.memory += slices.memory;
  }
  return node;
}

HostAmount NodeState::host_part(const JobRecord& job, const JobPlace& place) const {
  const Geometry& rules = gpu(place.gpu).geometry();
  return host_share(
      host_ask(job.spec), host_node(),
      place.placement ? host_slices(*rules[*place.placement].profile) : host_slices(rules.model()));
}

bool NodeState::runs(const LiveJob& job) const {
  if (!job.record.several()) return !job.attempts.empty();
  return std::ranges::any_of(processes(job),
                             [](const LiveJob* process) { return !process->attempts.empty(); });
}

std::vector<GpuId> NodeState::all_gpus() const {
  std::vector<GpuId> all;
  for (std::size_t i = 0; i < gpus.size(); ++i) all.push_back(static_cast<GpuId>(i));
  return all;
}

std::optional<GpuId> NodeState::gpu_of(const std::string& uuid) const {
  for (const GpuId id : all_gpus())
    if (gpu(id).identity->uuid == uuid) return id;
  return std::nullopt;
}

std::optional<JobPlace> NodeState::place_of(const PlannedPlace& place) const {
  const auto id = gpu_of(place.gpu);
  if (!id) return std::nullopt;
  const auto placement = gpu(*id).geometry().find(place.profile, static_cast<int>(place.start));
  return placement ? std::optional(JobPlace{*id, *placement}) : std::nullopt;
}

PlanHold NodeState::held_of(GpuId id) const {
  PlanHold hold;
  if (!plan) return hold;
  const ManagedGpu& held = gpu(id);
  const std::string& uuid = held.identity->uuid;
  for (const PlannedMove& move : plan->moves) {
    // What a plan empties stays so until it ends, or others would come to where jobs left.
    hold.all = hold.all || move.from.gpu == uuid;
    if (move.to.gpu != uuid || is_settled(move.state)) continue;
    const auto place = place_of(move.to);
    const LiveJob* job = find(move.job);
    const bool there = job != nullptr && job->main && job->attempts.at(*job->main).placed &&
                       job->attempts.at(*job->main).place == place;
    if (place && !there) hold.places.insert(*place->placement);
  }
  const PlacementSet stands = held.immovable() | held.ready_instances();
  hold.all = hold.all || (hold.any() && !held.geometry().legal(stands | hold.places));
  return hold;
}

std::optional<std::pair<GpuId, PlacementId>> NodeState::instance_of(
    const std::string& device) const {
  for (const GpuId id : all_gpus())
    for (const auto& [placement, instance] : gpu(id).instances)
      if (instance.device == device && instance.state != ManagedInstance::State::making)
        return std::pair(id, placement);
  return std::nullopt;
}

void NodeState::occupy(const JobPlace& place, const JobKey& key) {
  std::set<JobKey>& there = occupants[place];
  there.insert(key);
  if (there.size() < 2) return;
  for (const JobKey& each : there)
    if (LiveJob* job = find(each.job))
      if (const auto attempt = job->attempts.find(each.attempt); attempt != job->attempts.end())
        attempt->second.shared = true;
}

void NodeState::vacate(const JobPlace& place, const JobKey& key, Duration now) {
  const auto there = occupants.find(place);
  if (there == occupants.end()) return;
  there->second.erase(key);
  if (!there->second.empty()) return;
  occupants.erase(there);
  leave(place, now);
}

void NodeState::leave(const JobPlace& place, Duration now) {
  const Vacancy vacancy{.since = last_operation,
                        .unseen = true,
                        .seen_free = {},
                        .strangers = {},
                        .strangers_since = {},
                        .set_aside = false};
  if (!place.placement) {
    gpu(place.gpu).vacancy = vacancy;
    return;
  }
  auto& instances_there = gpu(place.gpu).instances;
  if (const auto found = instances_there.find(*place.placement); found != instances_there.end()) {
    found->second.idle_since = now;
    found->second.vacancy = vacancy;
  }
}

bool NodeState::has_no_process(JobNumber number) const {
  const LiveJob* job = find(number);
  return job == nullptr || job->attempts.empty();
}

std::optional<MiB> NodeState::capacity_of(const LiveAttempt& attempt) const {
  std::optional<MiB> capacity = attempt.capacity;
  const auto at = gpu_of(attempt.record.gpu);
  if (!at) return capacity;
  const Geometry& geometry = gpu(*at).geometry();
  for (const PlacementId id : geometry.all())
    if (const Profile& profile = *geometry[id].profile; profile.name == attempt.record.profile)
      if (profile.usable) capacity = std::max(capacity.value_or(MiB{}), *profile.usable);
  return capacity;
}

void NodeState::count_use(const JobOwner& owner, const AttemptRecord& attempt) {
  const auto at = gpu_of(attempt.gpu);
  if (!at || !attempt.ended || (!attempt.began && !attempt.lasted)) return;
  const GpuModel& model = gpu(*at).geometry().model();
  int slices = model.compute.value;
  if (!attempt.profile.empty()) {
    const auto profile = std::ranges::find(model.profiles, attempt.profile, &Profile::name);
    if (profile == model.profiles.end()) return;
    slices = profile->compute.value;
  }
  const Duration lasted =
      attempt.lasted ? *attempt.lasted : std::max(Duration{}, *attempt.ended - *attempt.began);
  past_use.push_back({{}, owner.name_or_number(), slices, *attempt.ended - lasted, *attempt.ended});
  if (past_use.size() > most_past_use) past_use.pop_front();
}

std::optional<Architecture> NodeState::architecture_of(const LiveAttempt& attempt) const {
  const auto at = gpu_of(attempt.record.gpu);
  if (!at) return std::nullopt;
  return gpu(*at).geometry().model().architecture;
}

std::string NodeState::in_words(GpuId id) const {
  return fmt::format("GPU {}", gpu(id).identity->index);
}

std::string NodeState::in_words(const JobRecord& job) {
  if (job.is_replica() && job.replicas() > 1)
    return fmt::format("replica {} of job {}", job.rank(), job.job());
  if (job.leader == 0) return fmt::format("job {}", job.number);
  return fmt::format("process {} of job {}", job.rank(), job.leader);
}

std::string NodeState::in_words(const JobPlace& place) const {
  if (!place.placement) return fmt::format("the whole of {}", in_words(place.gpu));
  return fmt::format("{} of {}",
                     layout_text(gpu(place.gpu).geometry(), PlacementSet::of(*place.placement)),
                     in_words(place.gpu));
}

std::string NodeState::place_in_words(const LiveAttempt& attempt) const {
  if (attempt.placed) return in_words(attempt.place);
  const auto at = gpu_of(attempt.record.gpu);
  const std::string where = at ? in_words(*at) : attempt.record.gpu;
  if (attempt.record.profile.empty()) return fmt::format("the whole of {}", where);
  return fmt::format("{}@{} of {}", attempt.record.profile, attempt.record.start, where);
}

}  // namespace cleave
