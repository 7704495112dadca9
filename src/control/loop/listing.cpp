#include "control/loop/listing.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "control/node/reserved_gpus.hpp"
#include "control/verdicts/disk_verdicts.hpp"
#include "control/verdicts/size_by_siblings.hpp"
#include "placement/request_table.hpp"

namespace cleave {

namespace {

/// Whether an array has a limit of its own on the jobs that run at a time.
bool has_share(const std::optional<ArrayTask>& task) {
  return task && task->at_once > 0;
}

}  // namespace

const JobRecord* Listing::job(JobNumber number) const {
  const LiveJob* job = node_.find(number);
  return job == nullptr || is_final(job->record.state) ? nullptr : &job->record;
}

std::vector<const JobRecord*> Listing::jobs() const {
  std::vector<const JobRecord*> all;
  all.reserve(node_.jobs.size());
  for (const auto& [number, job] : node_.jobs)
    if (job.record.leader == 0 && !is_final(job.record.state)) all.push_back(&job.record);
  return all;
}

const AttemptRecord* Listing::attempt_of(JobNumber number) const {
  const LiveJob* job = node_.find(number);
  if (job == nullptr || job->attempts.empty()) return nullptr;
  return &job->attempts.at(job->main.value_or(job->attempts.rbegin()->first)).record;
}

std::optional<MiB> Listing::memory_of(JobNumber number) const {
  const LiveJob* job = node_.find(number);
  if (job == nullptr || !job->main) return std::nullopt;
  return job->attempts.at(*job->main).last_reported;
}

const EndedProcess* Listing::end_of_process(JobNumber number) const {
  const LiveJob* process = node_.find(number);
  if (process == nullptr || !process->main) return nullptr;
  const auto& over = process->attempts.at(*process->main).over;
  return over ? &*over : nullptr;
}

ServiceStatus Listing::service(JobNumber number) const {
  ServiceStatus status;
  const LiveJob* service = node_.find(number);
  if (service == nullptr || !service->record.is_replica()) return status;
  for (const LiveJob* replica : node_.replicas(*service)) {
    status.restarts += replica->record.restarts;
    status.up += std::ranges::any_of(replica->attempts, [](const auto& each) {
      return each.second.record.began.has_value() && !each.second.record.end;
    });
  }
  return status;
}

LeaseStatus Listing::lease(JobNumber number) const {
  const LiveJob* lease = node_.find(number);
  if (lease == nullptr || !lease->main) return {};
  const IdleTime& idle = lease->attempts.at(*lease->main).idle;
  LeaseStatus status{idle.measured(), {}};
  if (const auto since = idle.since())
    status.idle_since = clock_.wall() - (clock_.steady() - *since);
  return status;
}

std::optional<Instant> Listing::starts_again_at(JobNumber number) const {
  const LiveJob* replica = node_.find(number);
  if (replica == nullptr || !replica->not_before || is_final(replica->record.state))
    return std::nullopt;
  return clock_.wall() + (*replica->not_before - clock_.steady());
}

/// Of several processes the end of the last.
std::optional<ExpectedEnd> Listing::expected_end_of(JobNumber number, Moment now) const {
  const LiveJob* job = node_.find(number);
  if (job == nullptr) return std::nullopt;
  std::optional<ExpectedEnd> last;
  for (const LiveJob* process : node_.processes(*job)) {
    if (!process->record.has_process() || end_of_process(process->record.number) != nullptr)
      continue;
    const auto end = expected_end_of(*process, now);
    if (!end) return std::nullopt;
    if (!last || end->at > last->at) last = end;
  }
  return last;
}

std::optional<ExpectedEnd> Listing::expected_end_of(const LiveJob& job, Moment now) const {
  if (!job.main) return std::nullopt;
  const LiveAttempt& attempt = job.attempts.at(*job.main);
  if (!attempt.placed || index(attempt.place.gpu) >= node_.gpus.size()) return std::nullopt;
  return expected_end(job, node_.gpu(attempt.place.gpu).geometry().model(), now);
}

QueueView Listing::queue() const {
  QueueView view;
  std::size_t before = 0;
  for (const JobNumber number : queue_of(node_)) {
    view.before[number] = before;
    const LiveJob& job = node_.jobs.at(number);
    if (!job.place && !job.rejected) ++before;
  }
  for (const GpuId gpu : node_.all_gpus()) view.free.push_back(free_places(gpu));
  return view;
}

bool Listing::usable(GpuId id) const {
  return gpus_.takes_work(id) && !node_.gpu(id).lost && !brain_.rests(id);
}

PlacementSet Listing::free_places(GpuId id, bool without_held) const {
  const ManagedGpu& gpu = node_.gpu(id);
  const PlanHold held = node_.held_of(id);
  if (!usable(id) || held.all || node_.occupied(id, std::nullopt)) return {};
  PlacementSet taken = gpu.immovable() | held.places;
  for (const auto& [placement, instance] : gpu.instances) {
    if (without_held && !instance.held.empty()) taken.erase(placement);
    if (node_.occupied(id, placement)) taken.insert(placement);
  }
  return gpu.geometry().free(taken);
}

bool Listing::has_room(const Request& request, const QueueView& queue) const {
  for (const GpuId id : node_.all_gpus()) {
    const PlacementSet free = queue.free[index(id)];
    if (free.empty()) continue;
    if (resolve(request, {node_.gpu(id).geometry()}).candidates.front().meets(free)) return true;
  }
  return false;
}

std::optional<WaitReason> Listing::reason_outside(const LiveJob& job,
                                                  const QueueView& queue) const {
  using enum WaitReason;
  if (!book_.writes()) return store;
  if (!brain_.trouble().empty()) return scheduler;
  if (!job.awaits.empty()) return dependency;
  if (node_.paused) return paused;
  if (job.not_before) return retry;
  if (clock_.steady() < node_.shortage.until) return host;
  if (job.place) return starting;
  if (!brain_.active()) return scheduler;
  if (job.rejected) return impossible;
  if (!queue.before.contains(job.record.number)) return retry;
  return std::nullopt;
}

WaitReason Listing::reason_inside(const LiveJob& job, const Brain::Outlook& outlook,
                                  const QueueView& queue) const {
  using enum WaitReason;
  if (outlook.array_is_full) return array;
  if (!outlook.user_limit.empty()) return user_limit;
  if (job.record.several()) return room;
  if (outlook.waits_for_better) return better_place;
  if (!outlook.host.empty()) return host;
  return has_room(job.record.request, queue) ? turn : room;
}

std::optional<WaitReason> Listing::wait_reason(JobNumber number, const QueueView& queue) const {
  const LiveJob* job = node_.find(number);
  if (job == nullptr) return std::nullopt;
  const JobState state = job->record.state;
  if (state != JobState::queued && state != JobState::starting) return std::nullopt;
  if (const auto outside = reason_outside(*job, queue)) return outside;
  return reason_inside(*job, brain_.outlook(*job), queue);
}

std::string Listing::outside_in_words(WaitReason outside, const LiveJob& job) const {
  const JobRecord& record = job.record;
  switch (outside) {
    case WaitReason::store:
      return book_.trouble();
    case WaitReason::scheduler:
      return !brain_.trouble().empty()
                 ? brain_.trouble()
                 : fmt::format("the scheduler starts again when the GPUs have answered: {}",
                               brain_.rebuild_reason());
    case WaitReason::dependency:
      return awaited(job);
    case WaitReason::paused:
      return "the daemon is paused";
    case WaitReason::host:
      return fmt::format("the host is short of something: nothing starts for {}",
                         human(node_.shortage.until - clock_.steady()));
    case WaitReason::starting:
      return fmt::format("it is about to start on {}{}", node_.in_words(*job.place),
                         record.several() ? fmt::format(" and {} more", record.places() - 1) : "");
    case WaitReason::impossible:
      return *job.rejected + held_instances(record.request) + closed_gpus(nullptr);
    default:
      return record.reason;
  }
}

std::string Listing::why_waits(JobNumber number, const QueueView& queue) const {
  const LiveJob* job = node_.find(number);
  if (job == nullptr) return {};
  const JobRecord& record = job->record;
  if (record.state != JobState::queued && record.state != JobState::starting) return {};
  if (const auto outside = reason_outside(*job, queue)) return outside_in_words(*outside, *job);
  const Brain::Outlook outlook = brain_.outlook(*job);
  const WaitReason reason = reason_inside(*job, outlook, queue);
  // What decides alone: other GPUs would not help.
  if (reason == WaitReason::array) return full_share(record.spec);
  if (reason == WaitReason::user_limit) return outlook.user_limit;
  if (reason == WaitReason::host)
    return fmt::format("the host has too little left: {}", outlook.host);
  std::string why =
      record.several() ? fmt::format("it waits until {} are free at a time", text(record.request))
      : reason == WaitReason::better_place
          ? "there is room for it, but a better place is expected to be free "
            "soon enough to end it earlier"
      : reason == WaitReason::turn
          ? fmt::format("there is room for it, but {} has not started it yet", brain_.scheduler())
          : "no GPU has room for it now";
  if (outlook.kept)
    why += fmt::format("; a place on {} is kept for it, {}", node_.in_words(outlook.kept->gpu),
                       outlook.in ? fmt::format("expected to be free in {}", human(*outlook.in))
                                  : "and it is not known when that is free");
  const std::size_t before = queue.before.at(number);
  if (!outlook.order.empty()) {
    why += fmt::format("; the queue goes by {}", outlook.order);
  } else if (before > 0) {
    why += fmt::format("; {} job{} before it", before, before == 1 ? " waits" : "s wait");
  }
  if (reason == WaitReason::better_place) return why;
  if (reason == WaitReason::turn) return why + reserved_gpus(record, &queue);
  return why + held_instances(record.request) + closed_gpus(&record.request) +
         reserved_gpus(record, nullptr);
}

/// Whether the job could ever have a place on the GPU.
bool Listing::could_serve(GpuId id, const Request& request) const {
  return request.places > 1 ||
         !resolve(request, {node_.gpu(id).geometry()}).candidates.front().empty();
}

/// "it waits until job 12 has finished"; of several jobs, how many have not ended.
std::string Listing::awaited(const LiveJob& job) const {
  std::vector<std::string> parts;
  for (const Dependency& each : job.awaits) {
    std::string text = in_words(each);
    if (!each.one()) {
      std::size_t left = 0;
      for (auto at = node_.jobs.lower_bound(each.first);
           at != node_.jobs.end() && at->first <= each.last; ++at)
        left += at->second.record.leader == 0 && !is_final(at->second.record.state) ? 1U : 0U;
      text += fmt::format(" ({} {} not ended)", left, left == 1 ? "has" : "have");
    }
    parts.push_back(std::move(text));
  }
  return fmt::format("it waits until {}", fmt::join(parts, ", and "));
}

/// "20 of array 12 run already"; those that go before it may not have begun.
std::string Listing::full_share(const JobSpec& spec) const {
  const bool of_array = has_share(spec.task);
  if (!of_array && !spec.at_once) return {};
  const JobsAtOnce share =
      of_array ? JobsAtOnce{spec.task->job, spec.task->last, spec.task->at_once} : *spec.at_once;
  const std::string jobs = of_array ? fmt::format("array {}", share.first)
                                    : fmt::format("jobs {} to {}", share.first, share.last);
  std::int64_t running = 0;
  for (auto at = node_.jobs.lower_bound(share.first);
       at != node_.jobs.end() && at->first <= share.last; ++at) {
    const JobRecord& job = at->second.record;
    // Arrays of a request may have shares of their own.
    const bool counts = job.leader == 0 && has_share(job.spec.task) == of_array;
    running += counts && node_.runs(at->second) ? 1 : 0;
  }
  if (running >= share.most)
    return fmt::format("{} of {} run already, as many as may at a time", running, jobs);
  return fmt::format("{} of {} may run at a time, and as many go before it", share.most, jobs);
}

std::string Listing::why_size(JobNumber number) const {
  const LiveJob* job = node_.find(number);
  if (job == nullptr) return {};
  std::string why = size_from_siblings(job->record);
  if (const std::string chosen = job->place ? brain_.outlook(*job).size : ""; !chosen.empty())
    why += fmt::format("{}{}", why.empty() ? "" : "; ", chosen);
  return why;
}

/// "; 1g.5gb@0 of GPU 0 cannot be destroyed yet, ...", where that is in the job's way
std::string Listing::held_instances(const Request& request) const {
  std::string all;
  for (const GpuId id : node_.all_gpus()) {
    const ManagedGpu& gpu = node_.gpu(id);
    std::map<std::string, PlacementSet> held;  // by why they stay
    for (const auto& [placement, instance] : gpu.instances)
      if (!instance.held.empty() && !node_.occupied(id, placement))
        held[instance.held].insert(placement);
    if (held.empty()) continue;
    const PlacementSet wanted = resolve(request, {gpu.geometry()}).candidates.front();
    if (wanted.meets(free_places(id)) || !wanted.meets(free_places(id, true))) continue;
    for (const auto& [why, places] : held) all += "; " + stays_in_words(id, places, why);
  }
  return all;
}

/// "1g.5gb@0 of GPU 0 cannot be destroyed yet, and is tried again: still in use ... by nvitop"
std::string Listing::stays_in_words(GpuId id, PlacementSet places, const std::string& why) const {
  return fmt::format("{} of {} cannot be destroyed yet, and {} tried again: {}",
                     layout_text(node_.gpu(id).geometry(), places), node_.in_words(id),
                     places.size() == 1 ? "is" : "are", why);
}

std::vector<GpuReservation> Listing::reservations() const {
  const Instant now = clock_.wall();
  return reservations_of(settings_.reservations, node_, now, now + unknown_before_reservation);
}

/// "; GPU 0 is reserved for ann", where the job could run if it were not; with `queue` only of
/// those that have room for it.
std::string Listing::reserved_gpus(const JobRecord& job, const QueueView* queue) const {
  const Instant now = clock_.wall();
  std::string all;
  for (const GpuReservation& each : reservations()) {
    const bool own = !each.name.empty() && each.name == job.owner.user;
    const bool in_the_way = could_serve(each.gpu, job.request) &&
                            (queue == nullptr || !queue->free[index(each.gpu)].empty());
    if (own || !in_the_way) continue;
    all += fmt::format("; {} is reserved{}{}", node_.in_words(each.gpu),
                       each.name.empty() ? "" : fmt::format(" for {}", each.name),
                       each.from <= now ? "" : fmt::format(" in {}", human(each.from - now)));
  }
  return all;
}

/// "; GPU 1 is drained", where the request could be met there.
std::string Listing::closed_gpus(const Request* request) const {
  std::string closed;
  for (const GpuId id : node_.all_gpus()) {
    if (request != nullptr && !could_serve(id, *request)) continue;
    const ManagedGpu& gpu = node_.gpu(id);
    if (const PlanHold held = node_.held_of(id); held.any()) {
      closed += fmt::format("; {} is {}held by plan {}", node_.in_words(id),
                            held.all ? "" : "in part ", node_.plan->number);
      if (held.all) continue;
    }
    if (usable(id)) {
      if (!gpu.walls.empty())
        closed += fmt::format("; {} has instances that are not ours", node_.in_words(id));
      continue;
    }
    closed += fmt::format("; {} {}", node_.in_words(id),
                          gpu.lost                      ? "is lost"
                          : gpu.drained                 ? "is drained"
                          : gpu.drained_by() != nullptr ? "is drained for its health"
                          : gpu.hung                    ? "does not answer"
                                                        : "cannot be changed now");
  }
  return closed;
}

std::vector<GpuStatus> Listing::gpus() const {
  std::vector<GpuStatus> all;
  for (const GpuId id : node_.all_gpus()) {
    const ManagedGpu& gpu = node_.gpu(id);
    std::vector<std::string> troubles = unhealthy(id);
    if (!gpu.trouble.empty()) troubles.insert(troubles.begin(), gpu.trouble);
    all.push_back({gpu.identity,
                   gpu.observation,
                   gpu.drained || gpu.drained_by() != nullptr,
                   gpu.lost,
                   fmt::format("{}", fmt::join(troubles, "; ")),
                   {},
                   gpu.meter.unnoted.devices});
  }
  for (const auto& [device, instance] : node_.instances)
    if (const auto at = node_.gpu_of(instance.gpu); at && instance.energy_mj)
      all[index(*at)].energies[device] += *instance.energy_mj;
  for (const auto& [place, keys] : node_.occupants)
    for (const JobKey& key : keys)
      if (const LiveJob* job = node_.find(key.job)) {
        const LiveAttempt& attempt = job->attempts.at(key.attempt);
        all[index(place.gpu)].jobs.push_back(
            {attempt.record.device, {job->record.job(), key.attempt}, attempt.activity});
      }
  return all;
}

JobEnergy Listing::unwritten_energy(JobNumber job) const {
  JobEnergy all = book_.unwritten_energy(job);
  for (const ManagedGpu& gpu : node_.gpus)
    if (const auto used = gpu.meter.unnoted.jobs.find(job); used != gpu.meter.unnoted.jobs.end())
      all.add(used->second);
  return all;
}

std::vector<UsageRow> Listing::unwritten_usage() const {
  std::vector<UsageRow> rows;
  for (const auto& [key, row] : book_.unwritten_usage()) rows.push_back(row);
  for (const ManagedGpu& gpu : node_.gpus)
    for (const auto& [key, row] : gpu.meter.unnoted.rows) rows.push_back(row);
  return rows;
}

/// "a disk is full, or has no inodes left, and 3 jobs wait for that; free ..."
std::vector<std::string> Listing::shortages() const {
  std::map<int, std::int64_t> jobs;  // by error number
  for (const auto& [number, code] : node_.shortage.waits) {
    const LiveJob* job = node_.find(number);
    if (job != nullptr && !is_final(job->record.state)) ++jobs[code];
  }
  std::vector<std::string> all;
  for (const auto& [code, count] : jobs)
    if (const Shortage* shortage = shortage_of(code))
      all.push_back(fmt::format("{}, and {} job{} for that; {}", shortage->what, count,
                                count == 1 ? " waits" : "s wait", shortage->remedy));
  return all;
}

/// What KILL has not ended. Its instance stays taken; the rest of the GPU goes on.
std::vector<std::string> Listing::not_gone() const {
  std::vector<std::string> all;
  for (const auto& [number, job] : node_.jobs)
    for (const auto& [count, attempt] : job.attempts) {
      if (!attempt.gone_by || attempt.over || clock_.steady() < *attempt.gone_by) continue;
      all.push_back(fmt::format(
          "{} was killed and is still there: its processes hang in the system, or its supervisor "
          "does; {} stays taken until they have ended (see ps -e -o pid,stat,wchan:30,args)",
          NodeState::in_words(job.record), node_.place_in_words(attempt)));
    }
  return all;
}

/// Attempts that are about to be stopped for it, so that somebody can do something before.
std::vector<std::string> Listing::large_folders() const {
  const std::int64_t most = most_of_attempt(settings_, node_.disk.rooms);
  std::vector<std::string> all;
  for (const auto& [key, bytes] : node_.disk.runs) {
    const LiveJob* job = node_.find(key.job);
    if (job == nullptr || !job->attempts.contains(key.attempt) || bytes <= most / 2) continue;
    all.push_back(
        fmt::format("the folder of {} takes {} MiB, and the job is stopped when it takes "
                    "more than {} (job_files_mib)",
                    NodeState::in_words(job->record), bytes >> 20, most >> 20));
  }
  return all;
}

/// Why the GPU takes no new jobs, and which instances of it are given to nobody.
std::vector<std::string> Listing::unhealthy(GpuId id) const {
  const ManagedGpu& gpu = node_.gpu(id);
  std::vector<std::string> all;
  for (const GpuCondition& each : gpu.conditions) {
    const std::string words = cleave::in_words(each, gpu.identity->index, clock_.wall());
    if (drains(each)) all.push_back(fmt::format("drained: {}", words));
    if (each.device.empty()) continue;
    const auto instance = node_.instance_of(each.device);
    all.push_back(fmt::format(
        "{} is quarantined: {}",
        instance ? node_.in_words(JobPlace{id, instance->second}) : each.device, words));
  }
  const auto taken = [&](const JobPlace& place, const Vacancy& vacancy, const char* what) {
    if (vacancy.set_aside)
      all.push_back(fmt::format(
          "{} {}: {}; it is used again when that has ended (see ps -o "
          "pid,user,args -p {})",
          node_.in_words(place), what, strangers_text(vacancy), pids_text(vacancy.strangers)));
  };
  taken({id, std::nullopt}, gpu.vacancy, "takes no job");
  for (const auto& [placement, instance] : gpu.instances) {
    taken({id, placement}, instance.vacancy, "is quarantined");
    if (!instance.held.empty())
      all.push_back(stays_in_words(id, PlacementSet::of(placement), instance.held));
  }
  return all;
}

std::vector<std::string> Listing::troubles() const {
  std::vector<std::string> all;
  if (!book_.writes())
    all.push_back(book_.trouble());
  else
    all = disk_troubles(node_.disk.rooms, settings_.disk_marks);
  std::ranges::move(large_folders(), std::back_inserter(all));
  if (!brain_.trouble().empty()) all.push_back(brain_.trouble());
  std::ranges::move(shortages(), std::back_inserter(all));
  std::ranges::move(not_gone(), std::back_inserter(all));
  const MigRules mig{settings_.may_switch_mig, brain_.wants_whole_gpus()};
  for (const GpuId id : node_.all_gpus()) {
    const ManagedGpu& gpu = node_.gpu(id);
    if (gpu.lost) all.push_back(fmt::format("{} is lost", node_.in_words(id)));
    if (gpu.observation && !gpu.lost && !mig_fits(gpu, mig))
      all.push_back(
          fmt::format("{}: MIG mode is {}; switch it with `cleave mig`, or set may_switch_mig",
                      node_.in_words(id), gpu.observation->mig ? "on" : "off"));
    if (!gpu.trouble.empty()) all.push_back(fmt::format("{}: {}", node_.in_words(id), gpu.trouble));
    for (const std::string& each : unhealthy(id))
      all.push_back(fmt::format("{}: {}", node_.in_words(id), each));
  }
  return all;
}

}  // namespace cleave
