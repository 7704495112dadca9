#include "law_checker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <stdexcept>

#include "base/format.hpp"

namespace cleave::laws {

namespace {

using Kind = RunEvent::Kind;
constexpr std::size_t most_violations = 5;

std::uint32_t slices_of(const Placement& placement) {
  return ((std::uint32_t{1} << placement.profile->memory.value) - 1) << placement.start;
}

}  // namespace

LawChecker::LawChecker(const FleetFile& fleet, const Workload& workload, const LawOptions& options)
    : fleet_(fleet),
      workload_(workload),
      options_(options),
      gpus_(fleet.gpus.size()),
      jobs_(workload.jobs.size()) {
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    jobs_[i].seats.resize(workload.requests[workload.jobs[i].request].places);
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    for (const InstanceEntry& entry : fleet.gpus[i].instances) {
      Instance instance;
      instance.placement = entry.placement;
      instance.owner = !entry.owned || (!entry.workload && !entry.movable) ? Owner::wall
                       : entry.workload                                    ? Owner::fleet_work
                                                                           : Owner::ours;
      instance.slices = slices_of(geometry(static_cast<GpuId>(i))[entry.placement]);
      gpus_[i].instances.push_back(instance);
    }
}

void LawChecker::violation(const std::string& what) {
  if (violations_.size() < most_violations) violations_.push_back(what);
}

void LawChecker::violation(const RunEvent& event, const std::string& what) {
  std::string text =
      fmt::format("{} ns: {}", event.at.time_since_epoch().count(), name(event.kind));
  if (event.job) text += fmt::format(" job {}", index(*event.job));
  if (event.rank) text += fmt::format(" rank {}", *event.rank);
  if (event.gpu) text += fmt::format(" GPU {}", index(*event.gpu));
  if (event.gpu && event.placement && index(*event.gpu) < gpus_.size()) {
    const Placement& where = geometry(*event.gpu)[*event.placement];
    text += fmt::format(" {}@{}", where.profile->name, where.start);
  }
  violation(fmt::format("{}: {}", text, what));
}

const Geometry& LawChecker::geometry(GpuId gpu) const {
  return fleet_.geometries[fleet_.gpus[index(gpu)].geometry];
}

LawChecker::Instance* LawChecker::find(GpuId gpu, PlacementId placement) {
  auto& instances = gpus_[index(gpu)].instances;
  const auto found = std::ranges::find(instances, placement, &Instance::placement);
  return found == instances.end() ? nullptr : &*found;
}

std::optional<MiB> LawChecker::usable(GpuId gpu, std::optional<PlacementId> placement) const {
  return placement ? geometry(gpu)[*placement].profile->usable
                   : geometry(gpu).model().largest().usable;
}

/// If speeds are listed or the same everywhere; nullopt if they are computed otherwise.
std::optional<double> LawChecker::speed(JobId job, GpuId gpu,
                                        std::optional<PlacementId> placement) const {
  const SpeedModel& model = workload_.speeds[workload_.jobs[index(job)].speed];
  if (model.flat) return 1;
  if (!model.table || !placement) return std::nullopt;
  const auto listed = model.table->find(geometry(gpu)[*placement].profile->name);
  return listed == model.table->end() ? 0 : listed->second;
}

void LawChecker::on(const RunEvent& event) {
  if (violations_.size() >= most_violations) return;
  if (last_ && event.at < *last_) violation(event, "time falls");
  if (last_ && event.at > *last_ && !torn_.empty())
    violation(event, fmt::format("job {} has some of its processes only", index(*torn_.begin())));
  last_ = event.at;
  if (++events_ > 10'000 + 1'000 * jobs_.size()) throw std::runtime_error("the run does not end");
  if (event.counts()) ++counts_[static_cast<std::size_t>(event.kind)];
  if (event.job && index(*event.job) >= jobs_.size()) return violation(event, "no such job");
  if (event.job && event.gpu) {
    const std::size_t processes = jobs_[index(*event.job)].seats.size();
    if (event.rank.has_value() != (processes > 1) || event.rank.value_or(0) >= processes)
      return violation(event, "no such process");
  }
  if (event.gpu && index(*event.gpu) >= gpus_.size()) return violation(event, "no such GPU");
  if (evictions_due_ > 0 && event.kind != Kind::evicted)
    violation(event, "jobs are still on a lost GPU");
  if (event.gpu && event.kind != Kind::evicted && event.kind != Kind::gpu_returned &&
      gpus_[index(*event.gpu)].absent)
    return violation(event, "the GPU is absent");
  if (options_.overtakes) check_longest_wait(event);
  switch (event.kind) {
    case Kind::submitted:
      return submitted(event);
    case Kind::rejected:
      return rejected(event);
    case Kind::destroyed:
      return destroyed(event);
    case Kind::created:
      return created(event);
    case Kind::started:
      return started(event);
    case Kind::finished:
      return finished(event);
    case Kind::failed:
      return failed(event);
    case Kind::ran_out:
      return ran_out(event);
    case Kind::stopped:
    case Kind::restarted_early:
      return stopped(event);
    case Kind::checkpointed:
      return checkpointed(event);
    case Kind::migrated:
      return migrated(event);
    case Kind::gpu_lost:
      return gpu_lost(event);
    case Kind::gpu_returned:
      return gpu_returned(event);
    case Kind::evicted:
      return evicted(event);
    case Kind::warned:
      return warned(event);
  }
}

// Jobs come.

void LawChecker::submitted(const RunEvent& event) {
  const std::size_t job = index(*event.job);
  if (job != submitted_) violation(event, "jobs are not submitted in their order, once each");
  if (event.at != workload_.jobs[job].arrival)
    violation(event, "it is not submitted when it arrives");
  submitted_ = job + 1;
  jobs_[job].state = JobState::waiting;
  in_turn_.insert(turn(*event.job));
}

void LawChecker::rejected(const RunEvent& event) {
  JobAccount& account = jobs_[index(*event.job)];
  if (account.state != JobState::waiting) return violation(event, "it does not wait");
  account.state = JobState::rejected;
  in_turn_.erase(turn(*event.job));
}

// Instances.

void LawChecker::destroyed(const RunEvent& event) {
  const Instance* instance = find(*event.gpu, *event.placement);
  if (instance == nullptr) return violation(event, "there is no such instance");
  if (instance->owner != Owner::ours)
    return violation(event, "the instance is not ours to destroy");
  if (!instance->jobs.empty()) return violation(event, "the instance is in use");
  Gpu& gpu = gpus_[index(*event.gpu)];
  for (std::size_t i = 0; i < most_slices; ++i)
    if ((instance->slices >> i & 1U) != 0)
      gpu.slices_used_until[i] = std::max(gpu.slices_used_until[i], instance->used_until);
  gpu.instances.erase(gpu.instances.begin() + (instance - gpu.instances.data()));
}

/// The rules of the hardware, from the facts of the model.
void LawChecker::check_rules(const RunEvent& event, const Gpu& gpu) {
  const GpuModel& model = geometry(*event.gpu).model();
  const Placement& placement = geometry(*event.gpu)[*event.placement];
  const Profile& profile = *placement.profile;
  if (!profile.starts.contains(placement.start))
    violation(event, "the profile may not start there");
  if (gpu.whole) violation(event, "a job has the whole GPU");
  int compute = profile.compute.value, of_profile = 1;
  bool media = profile.attribute == Attribute::media;
  for (const Instance& other : gpu.instances) {
    const Profile& beside = *geometry(*event.gpu)[other.placement].profile;
    if ((other.slices & slices_of(placement)) != 0) violation(event, "its memory slices are taken");
    if (media && beside.attribute == Attribute::media)
      violation(event, "a second instance with media");
    compute += beside.compute.value;
    of_profile += &beside == &profile ? 1 : 0;
  }
  if (compute > model.compute.value) violation(event, "more compute slices than there are");
  if (of_profile > profile.max_instances)
    violation(event, "more instances of the profile than there may be");
}

void LawChecker::created(const RunEvent& event) {
  Gpu& gpu = gpus_[index(*event.gpu)];
  check_rules(event, gpu);
  Instance instance;
  instance.placement = *event.placement;
  instance.slices = slices_of(geometry(*event.gpu)[*event.placement]);
  if (!event.until || *event.until < event.at)
    return violation(event, "it is usable before it is made");
  instance.usable_from = *event.until;
  for (std::size_t i = 0; i < most_slices; ++i)
    if ((instance.slices >> i & 1U) != 0 && gpu.slices_used_until[i] > *event.until)
      violation(event, "a process still uses its slices when it is usable");
  gpu.instances.push_back(instance);
}

// Jobs run.

std::pair<std::int64_t, std::size_t> LawChecker::turn(JobId job) const {
  const JobDetails* details = workload_.details_of(workload_.jobs[index(job)]);
  return {details == nullptr ? 0 : -details->priority, index(job)};
}

void LawChecker::check_order(const RunEvent& event) {
  if (options_.alike_by_priority) check_alike(event);
  if (options_.fcfs && !in_turn_.empty() && *in_turn_.begin() < turn(*event.job))
    violation(event, fmt::format("it overtakes job {}, which waits", in_turn_.begin()->second));
}

/// Before the event is booked.
void LawChecker::check_longest_wait(const RunEvent& event) {
  if (in_turn_.empty()) return longest_.reset();
  if (!longest_ || longest_->turn != *in_turn_.begin())
    longest_ = {.turn = *in_turn_.begin(), .since = event.at};
  const bool moved = event.kind == Kind::gpu_lost || event.kind == Kind::gpu_returned ||
                     event.kind == Kind::stopped;
  if (moved || std::ranges::any_of(gpus_, &Gpu::absent)) {
    longest_->since = event.at;
    longest_->left.reset();
  }
  const bool borne = longest_->overtaken >= *options_.overtakes;
  if (borne && !longest_->left && event.at > longest_->since) {
    longest_->left.emplace();
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (jobs_[i].state == JobState::running) longest_->left->insert(static_cast<JobId>(i));
  }
  if (event.kind == Kind::started) {
    const auto turn_of = turn(*event.job);
    if (turn_of == longest_->turn || !in_turn_.contains(turn_of)) return;
    if (longest_->left && longest_->left->empty())
      violation(event, fmt::format("job {} has waited for all that were before it",
                                   longest_->turn.second));
    if (++longest_->overtaken == *options_.overtakes) longest_->since = event.at;
  } else if (event.job && longest_->left && event.kind != Kind::migrated) {
    longest_->left->erase(*event.job);
  }
}

/// By looking at all that wait.
void LawChecker::check_alike(const RunEvent& event) {
  for (const auto& [priority, job] : in_turn_) {
    if (priority >= turn(*event.job).first) return;
    if (alike(static_cast<JobId>(job), *event.job))
      violation(event, fmt::format(
                           "it overtakes job {}, which is like it and has a higher priority", job));
  }
}

/// Both ask for the same, have not run out of memory, and say nothing else that could tell them
/// apart.
bool LawChecker::alike(JobId a, JobId b) const {
  const Job &one = workload_.jobs[index(a)], &other = workload_.jobs[index(b)];
  if (one.request != other.request || jobs_[index(a)].more_than || jobs_[index(b)].more_than)
    return false;
  if (options_.by_speed && one.speed != other.speed) return false;
  const JobDetails none, *details = workload_.details_of(one),
                         *others = workload_.details_of(other);
  if (details == nullptr) details = &none;
  if (others == nullptr) others = &none;
  if (details->cpus != others->cpus || details->host_memory != others->host_memory) return false;
  return !details->deadline && !others->deadline && details->application == others->application &&
         details->batch == others->batch && !details->growth && !others->growth;
}

/// By looking at all that run.
void LawChecker::check_user(const RunEvent& event) {
  if (!options_.user_jobs && !options_.user_slices) return;
  const auto owner = [&](JobId job) {
    const JobDetails* details = workload_.details_of(workload_.jobs[index(job)]);
    return details == nullptr ? std::pair<std::optional<std::string>, std::optional<std::string>>()
                              : std::pair(details->account, details->user);
  };
  std::set<JobId> jobs;
  std::int64_t slices = 0;
  const auto add = [&](JobId job, std::int64_t held) {
    if (owner(job) != owner(*event.job)) return;
    jobs.insert(job);
    slices += held;
  };
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const Geometry& rules = geometry(static_cast<GpuId>(i));
    if (gpus_[i].whole) add(*gpus_[i].whole, rules.model().compute.value);
    for (const Instance& each : gpus_[i].instances)
      for (const JobId job : each.jobs) add(job, rules[each.placement].profile->compute.value);
  }
  if (options_.user_jobs && std::ssize(jobs) > *options_.user_jobs)
    violation(event, fmt::format("its user has {} jobs then", jobs.size()));
  if (options_.user_slices && slices > *options_.user_slices)
    violation(event, fmt::format("its user holds {} compute slices then", slices));
}

void LawChecker::check_memory(const RunEvent& event) {
  const JobAccount& account = jobs_[index(*event.job)];
  const auto has = usable(*event.gpu, event.placement);
  if (account.more_than && (!has || *has <= *account.more_than))
    violation(event, "it failed on as much memory before");
}

void LawChecker::check_reserved(const RunEvent& event) {
  const JobDetails* details = workload_.details_of(workload_.jobs[index(*event.job)]);
  for (const GpuReservation& each : options_.reservations) {
    if (each.gpu != *event.gpu || event.at < each.from || event.at >= each.until) continue;
    const bool its_own = details != nullptr && !each.name.empty() &&
                         (details->user == each.name || details->account == each.name);
    if (!its_own) violation(event, fmt::format("the GPU is reserved for '{}'", each.name));
  }
}

const Request& LawChecker::request_of(const RunEvent& event) const {
  return workload_.requests[workload_.jobs[index(*event.job)].request];
}

void LawChecker::started(const RunEvent& event) {
  JobAccount& account = jobs_[index(*event.job)];
  if (!may_start(event)) return;
  if (!event.until || *event.until < event.at)
    return violation(event, "it begins before it is started");
  account.here == 0 ? begins(event) : begins_with_others(event);
  check_memory(event);
  Gpu& gpu = gpus_[index(*event.gpu)];
  event.placement ? started_on_instance(event) : started_on_whole_gpu(event, gpu);
  if (event.placement && std::holds_alternative<WholeGpu>(request_of(event).wanted))
    violation(event, "it asks for a whole GPU");
  check_user(event);
  check_reserved(event);
  account.seats[event.rank.value_or(0)] = {true, *event.gpu, event.placement};
  const auto known = speed(*event.job, *event.gpu, event.placement);
  account.speed_known = account.speed_known && known && !options_.sharing;
  account.speed = std::min(account.speed, known.value_or(0));
  if (++account.here < account.seats.size()) {
    torn_.insert(*event.job);
  } else {
    torn_.erase(*event.job);
    check_together(event);
  }
}

bool LawChecker::may_start(const RunEvent& event) {
  const JobAccount& account = jobs_[index(*event.job)];
  const bool waits = account.here == 0 && account.state == JobState::waiting;
  const bool rest_waits = account.here > 0 && account.here < account.seats.size() &&
                          !account.seats[event.rank.value_or(0)].taken;
  if (waits || rest_waits) return true;
  violation(event, account.here > 0 ? "it runs already" : "it does not wait");
  return false;
}

void LawChecker::begins_with_others(const RunEvent& event) {
  const JobAccount& account = jobs_[index(*event.job)];
  if (account.started != event.at || account.begin != *event.until || account.leaves)
    violation(event, "it does not begin with the others of its job");
}

void LawChecker::check_together(const RunEvent& event) {
  const std::vector<Seat>& seats = jobs_[index(*event.job)].seats;
  const Together together = request_of(event).together;
  std::set<GpuId> gpus;
  std::set<std::string_view> nodes;
  for (const Seat& seat : seats) {
    gpus.insert(seat.gpu);
    nodes.insert(node_of(fleet_.gpus[index(seat.gpu)].name));
  }
  if (together == Together::gpu && gpus.size() > 1) violation(event, "it is not on one GPU");
  if (together == Together::node && nodes.size() > 1) violation(event, "it is not on one node");
  if (together == Together::spread && gpus.size() < seats.size())
    violation(event, "two of its processes are on one GPU");
}

void LawChecker::begins(const RunEvent& event) {
  JobAccount& account = jobs_[index(*event.job)];
  in_turn_.erase(turn(*event.job));
  if (!account.begun) check_order(event);
  account.begun = true;
  account.state = JobState::running;
  account.started = event.at;
  account.leaves.reset();
  account.begin = *event.until;
  account.counts_from = account.begin + options_.process_start;
  if (account.resumed && account.begin < account.saved)
    violation(event, "its checkpoint is not yet written");
  if (account.resumed) account.counts_from += options_.checkpoint / 2;
  account.resumed = false;
  account.ran_out_last = account.warned = false;
  account.speed = std::numeric_limits<double>::infinity();
}

void LawChecker::started_on_instance(const RunEvent& event) {
  Instance* instance = find(*event.gpu, *event.placement);
  if (instance == nullptr) return violation(event, "there is no such instance");
  if (instance->owner != Owner::ours) return violation(event, "the instance is not ours");
  if (!instance->jobs.empty() && !options_.sharing)
    return violation(event, "the instance has a job");
  jobs_[index(*event.job)].begins_beside_others = !instance->jobs.empty();
  if (*event.until < instance->usable_from)
    violation(event, "it begins before the instance is made");
  if (*event.until < instance->used_until) violation(event, "a process still uses the instance");
  instance->jobs.push_back(*event.job);
}

void LawChecker::started_on_whole_gpu(const RunEvent& event, Gpu& gpu) {
  if (gpu.whole) return violation(event, "the GPU has a job");
  if (!gpu.instances.empty()) return violation(event, "the GPU has instances");
  for (const Instant& until : gpu.slices_used_until)
    if (until > *event.until) violation(event, "a process still uses the GPU");
  gpu.whole = event.job;
}

/// Nothing changes; it is said once, of more than there is.
void LawChecker::warned(const RunEvent& event) {
  JobAccount* account = running(event);
  if (account == nullptr) return;
  if (std::exchange(account->warned, true)) violation(event, "it was warned of before");
  for (const GpuEntry& gpu : fleet_.gpus)
    for (const Profile* profile : fleet_.geometries[gpu.geometry].profile_list())
      if (profile->usable && *event.memory <= *profile->usable)
        return violation(event, "a GPU has as much memory");
}

LawChecker::JobAccount* LawChecker::running(const RunEvent& event) {
  JobAccount& account = jobs_[index(*event.job)];
  if (account.state != JobState::running) {
    violation(event, "it does not run");
    return nullptr;
  }
  const Seat& seat = account.seats[event.rank.value_or(0)];
  if (!seat.taken || event.gpu != seat.gpu || event.placement != seat.placement) {
    violation(event, "it does not run there");
    return nullptr;
  }
  return &account;
}

void LawChecker::progress(JobAccount& account) {
  if (*last_ <= account.counts_from) return;
  const auto index_of = static_cast<std::size_t>(&account - jobs_.data());
  const auto work = static_cast<double>(workload_.jobs[index_of].duration.count());
  if (work > 0)
    account.done +=
        static_cast<double>((*last_ - account.counts_from).count()) * account.speed / work;
  account.counts_from = *last_;
}

bool LawChecker::leave(const RunEvent& event, Instant until) {
  JobAccount& account = jobs_[index(*event.job)];
  progress(account);
  if (!account.leaves) account.had = usable(*event.gpu, event.placement);
  if (account.leaves.value_or(event.kind) != event.kind)
    violation(event, "it does not leave as the others of its job did");
  account.leaves = event.kind;
  if (!event.placement) {
    gpus_[index(*event.gpu)].whole.reset();
  } else if (Instance* instance = find(*event.gpu, *event.placement)) {
    instance->jobs.erase(std::ranges::find(instance->jobs, *event.job));
    instance->used_until = std::max(instance->used_until, until);
  }
  account.seats[event.rank.value_or(0)].taken = false;
  if (--account.here > 0) {
    torn_.insert(*event.job);
    return false;
  }
  torn_.erase(*event.job);
  if (*last_ > account.begin) account.execution += *last_ - account.begin;
  account.end = *last_;
  return true;
}

void LawChecker::wait_again(JobId id, bool work_is_kept) {
  JobAccount& account = jobs_[index(id)];
  account.state = JobState::waiting;
  if (work_is_kept) return;
  account.resumed = false;
  // The time of a lease passes once; those of these tests leave no checkpoint.
  if (workload_.kind_of(workload_.jobs[index(id)]) == JobKind::lease) return;
  account.done = 0;
  account.speed_known = true;
}

/// The work done was the work there was, and it fitted where it was done.
void LawChecker::check_work_done(const RunEvent& event) {
  const Job& job = workload_.jobs[index(*event.job)];
  const JobAccount& account = jobs_[index(*event.job)];
  const JobDetails* details = workload_.details_of(job);
  if (kind_of(details) == JobKind::service) return;  // it has no work that ends
  double whole = 1;
  if (kind_of(details) == JobKind::lease) {
    whole = in_seconds(held_for(*details->lease, job.duration)) / in_seconds(job.duration);
  } else if (details != nullptr && details->fails_after) {
    if (event.kind == Kind::finished && *details->fails_after <= 1)
      violation(event, "its process had to fail");
    whole = std::min(1.0, *details->fails_after);
  } else if (event.kind == Kind::failed) {
    return;  // drawn from the seed
  }
  const auto work = static_cast<double>(job.duration.count());
  const double off = (account.done - whole) * work;
  if (account.speed_known && std::abs(off) > 1000 + 1e-6 * work)
    violation(event, fmt::format("it has done {:.9f} of its work", account.done));
}

/// What it holds at most is there.
void LawChecker::check_fits(const RunEvent& event) {
  if (options_.sharing || !event.placement) return;
  const Job& job = workload_.jobs[index(*event.job)];
  const JobDetails* details = workload_.details_of(job);
  const auto has = usable(*event.gpu, event.placement);
  if (!has) return;
  const auto* size = std::get_if<BySize>(&workload_.requests[job.request].wanted);
  if (details != nullptr && details->growth) {
    const MemoryGrowth& growth = *details->growth;
    const MiB last =
        growth.base + growth.context.value_or(MiB{0}) + growth.iterations * growth.per_iteration;
    if (growth.noise.value == 0 && last > *has) violation(event, "its memory does not fit there");
  } else if (size != nullptr && size->memory > *has) {
    violation(event, "its memory does not fit there");
  }
}

void LawChecker::finished(const RunEvent& event) {
  JobAccount* account = running(event);
  if (account == nullptr) return;
  const JobKind kind = workload_.kind_of(workload_.jobs[index(*event.job)]);
  // A service ends whatever its replicas do, and a lease needs little at the end if it is idle.
  if (event.at < account->begin && kind != JobKind::service)
    violation(event, "it ends before it begins");
  if (kind == JobKind::batch) check_fits(event);
  if (!leave(event, event.at)) return;
  check_work_done(event);
  account->state = JobState::finished;
  if (kind != JobKind::service) last_end_ = event.at;
}

void LawChecker::failed(const RunEvent& event) {
  JobAccount& account = jobs_[index(*event.job)];
  if (!event.gpu) {
    if (account.state != JobState::waiting || !account.ran_out_last)
      return violation(event, "it has not run out of memory");
    in_turn_.erase(turn(*event.job));
    account.state = JobState::failed;
    return;
  }
  if (running(event) == nullptr) return;
  if (event.at < account.begin) violation(event, "it ends before it begins");
  if (!leave(event, event.at)) return;
  check_work_done(event);
  account.state = JobState::failed;
  ++failed_running_;
  if (workload_.kind_of(workload_.jobs[index(*event.job)]) != JobKind::service)
    last_end_ = event.at;
}

void LawChecker::ran_out(const RunEvent& event) {
  JobAccount* account = running(event);
  if (account == nullptr) return;
  if (event.at < account->begin) violation(event, "it ends before it begins");
  in_turn_.insert(turn(*event.job));
  if (!leave(event, event.at)) return;
  if (account->had && !account->begins_beside_others)
    account->more_than = std::max(*account->had, account->more_than.value_or(*account->had));
  wait_again(*event.job, false);
  account->ran_out_last = true;
  if (workload_.kind_of(workload_.jobs[index(*event.job)]) != JobKind::service)
    last_end_ = event.at;
}

void LawChecker::check_made_room(const RunEvent& event, JobAccount& account) {
  if (!options_.most_evictions || event.kind == Kind::restarted_early || !event.counts()) return;
  if (workload_.kind_of(workload_.jobs[index(*event.job)]) != JobKind::batch)
    violation(event, "a service or lease makes room");
  if (++account.made_room > *options_.most_evictions)
    violation(event, fmt::format("it makes room {} times", account.made_room));
}

void LawChecker::check_disruptions(const RunEvent& event, JobAccount& account) {
  if (!options_.most_disruptions ||
      workload_.kind_of(workload_.jobs[index(*event.job)]) != JobKind::batch)
    return;
  std::erase_if(account.disruptions,
                [&](Instant at) { return at + std::chrono::hours(1) <= event.at; });
  account.disruptions.push_back(event.at);
  if (account.disruptions.size() > *options_.most_disruptions)
    violation(event,
              fmt::format("it is disrupted {} times within an hour", account.disruptions.size()));
}

void LawChecker::check_may_be_saved(const RunEvent& event) {
  if (!options_.most_disruptions) return;
  const JobDetails* details = workload_.details_of(workload_.jobs[index(*event.job)]);
  if (kind_of(details) != JobKind::batch) violation(event, "a service or lease makes room");
  if (details != nullptr && !details->restartable.value_or(true))
    violation(event, "it may not be stopped");
}

void LawChecker::stopped(const RunEvent& event) {
  JobAccount* account = running(event);
  if (account == nullptr) return;
  check_made_room(event, *account);
  const JobDetails* details = workload_.details_of(workload_.jobs[index(*event.job)]);
  if (details != nullptr && !details->restartable.value_or(true))
    violation(event, "it may not be restarted");
  if (event.kind == Kind::restarted_early) in_turn_.insert(turn(*event.job));
  if (!leave(event, event.at)) return;
  if (event.kind == Kind::restarted_early && account->had && !account->begins_beside_others)
    account->more_than = std::max(*account->had, account->more_than.value_or(*account->had));
  wait_again(*event.job, false);
}

void LawChecker::checkpointed(const RunEvent& event) {
  JobAccount* account = running(event);
  if (account == nullptr) return;
  check_made_room(event, *account);
  check_disruptions(event, *account);
  check_may_be_saved(event);
  const bool begun = event.at > account->begin;
  const Instant written = begun ? event.at + options_.checkpoint / 2 : event.at;
  if (begun && event.until != written) violation(event, "it is not written when it should be");
  if (!leave(event, written)) return;
  account->saved = std::max(account->saved, written);
  account->resumed = begun || account->done > 0;
  wait_again(*event.job, true);
}

void LawChecker::migrated(const RunEvent& event) {
  JobAccount& account = jobs_[index(*event.job)];
  if (account.seats.size() > 1) return violation(event, "a job of several places moves");
  Seat& seat = account.seats.front();
  if (account.state != JobState::running || !seat.placement)
    return violation(event, "it does not run on an instance");
  check_disruptions(event, account);
  if (seat.gpu != *event.gpu) check_reserved(event);
  const JobDetails* details = workload_.details_of(workload_.jobs[index(*event.job)]);
  if (details != nullptr && !details->movable.value_or(true))
    violation(event, "it may not be moved");
  Instance* to = find(*event.gpu, *event.placement);
  if (to == nullptr) return violation(event, "there is no such instance");
  if (to->owner != Owner::ours) return violation(event, "the instance is not ours");
  if (!to->jobs.empty()) return violation(event, "the instance has a job");
  if (!event.until || *event.until < event.at)
    return violation(event, "it moves before it is told to");
  if (*event.until < to->usable_from) violation(event, "it begins before the instance is made");
  if (*event.until < to->used_until) violation(event, "a process still uses the instance");
  // A lease that is idle needs less than when it failed.
  if (kind_of(details) != JobKind::lease) check_memory(event);
  Instance* from = find(seat.gpu, *seat.placement);
  if (from == nullptr) return violation(event, "it does not run on an instance");
  std::erase(from->jobs, *event.job);
  from->used_until = std::max(from->used_until, *event.until);
  progress(account);
  to->jobs.push_back(*event.job);
  seat.gpu = *event.gpu;
  seat.placement = event.placement;
  const auto known = speed(*event.job, *event.gpu, event.placement);
  account.speed_known = account.speed_known && known && !options_.sharing;
  account.speed = known.value_or(0);
}

// GPUs come and go.

void LawChecker::gpu_lost(const RunEvent& event) {
  Gpu& gpu = gpus_[index(*event.gpu)];
  for (const Instance& instance : gpu.instances)
    gpu.to_evict.insert(gpu.to_evict.end(), instance.jobs.begin(), instance.jobs.end());
  if (gpu.whole) gpu.to_evict.push_back(*gpu.whole);
  evictions_due_ += gpu.to_evict.size();
  gpu.absent = true;
}

void LawChecker::evicted(const RunEvent& event) {
  Gpu& gpu = gpus_[index(*event.gpu)];
  const JobAccount* account = running(event);
  if (account == nullptr) return;
  if (const auto due = std::ranges::find(gpu.to_evict, *event.job); due != gpu.to_evict.end()) {
    gpu.to_evict.erase(due);
    --evictions_due_;
  } else if (account->here == account->seats.size()) {
    return violation(event, "no GPU of its job is lost");
  }
  in_turn_.insert(turn(*event.job));
  if (!leave(event, event.at)) return;
  wait_again(*event.job, false);
}

void LawChecker::gpu_returned(const RunEvent& event) {
  Gpu& gpu = gpus_[index(*event.gpu)];
  if (!gpu.absent) return violation(event, "it is there");
  gpu = {};
}

// The end.

template <class A, class B>
void LawChecker::same(const A& summary, const B& own, const char* what) {
  if (summary != own)
    violation(fmt::format("{}: the summary says {}, the events {}", what, summary, own));
}

void LawChecker::check_jobs(const RunSummary& summary, const std::vector<JobOutcome>& outcomes) {
  std::array<std::size_t, 6> states{};
  for (const JobAccount& account : jobs_) ++states[static_cast<std::size_t>(account.state)];
  const auto in = [&](JobState state) { return states[static_cast<std::size_t>(state)]; };
  same(summary.jobs, jobs_.size(), "jobs");
  if (in(JobState::absent) > 0)
    violation(fmt::format("{} jobs were never submitted", in(JobState::absent)));
  if (in(JobState::running) > 0)
    violation(fmt::format("{} jobs still run at the end", in(JobState::running)));
  same(summary.finished, in(JobState::finished), "finished");
  same(summary.failed, in(JobState::failed), "failed");
  same(summary.rejected, in(JobState::rejected), "rejected");
  same(summary.waiting, in(JobState::waiting), "waiting");
  const auto waits = [&](std::size_t i) {  // a service may, until it is no longer wanted
    return jobs_[i].state == JobState::waiting &&
           workload_.kind_of(workload_.jobs[i]) != JobKind::service;
  };
  const auto all = std::views::iota(std::size_t{0}, jobs_.size());
  if (const auto wait = std::ranges::count_if(all, waits); options_.must_end && wait > 0)
    violation(fmt::format("{} jobs wait for ever, the first is {}", wait,
                          *std::ranges::find_if(all, waits)));
  if (outcomes.size() != jobs_.size()) return violation("not every job has an outcome");
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    using End = JobOutcome::End;
    const JobState told = outcomes[i].end == End::finished   ? JobState::finished
                          : outcomes[i].end == End::failed   ? JobState::failed
                          : outcomes[i].end == End::rejected ? JobState::rejected
                                                             : JobState::waiting;
    if (told != jobs_[i].state) violation(fmt::format("job {}: its outcome is another", i));
  }
}

void LawChecker::check_times(const RunSummary& summary, const std::vector<JobOutcome>& outcomes) {
  Duration longest_wait{}, longest_turnaround{}, longest_execution{};
  std::size_t late = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const JobAccount& account = jobs_[i];
    const Job& job = workload_.jobs[i];
    const bool done = account.state == JobState::finished;
    const Duration turnaround = account.end - job.arrival;
    const JobDetails* details = workload_.details_of(job);
    if (kind_of(details) != JobKind::batch) continue;
    if (details != nullptr && details->deadline && (!done || turnaround > *details->deadline))
      ++late;
    if (!done) continue;
    if (outcomes[i].execution != account.execution)
      violation(fmt::format("job {}: another execution", i));
    if (outcomes[i].turnaround != turnaround)
      violation(fmt::format("job {}: another turnaround", i));
    if (outcomes[i].wait != turnaround - account.execution)
      violation(fmt::format("job {}: another wait", i));
    longest_wait = std::max(longest_wait, turnaround - account.execution);
    longest_turnaround = std::max(longest_turnaround, turnaround);
    longest_execution = std::max(longest_execution, account.execution);
  }
  same(summary.deadline_misses, late, "deadline_misses");
  same(summary.wait.max.count(), longest_wait.count(), "longest wait");
  same(summary.turnaround.max.count(), longest_turnaround.count(), "longest turnaround");
  same(summary.execution.max.count(), longest_execution.count(), "longest execution");
  const Duration makespan = last_end_ > Instant{} && !workload_.jobs.empty()
                                ? last_end_ - workload_.jobs.front().arrival
                                : Duration{};
  same(summary.makespan.count(), makespan.count(), "makespan");
}

void LawChecker::finish(const RunSummary& summary, const std::vector<JobOutcome>& outcomes) {
  if (evictions_due_ > 0) violation("jobs are still on a lost GPU");
  if (!torn_.empty()) violation("a job has some of its processes only");
  check_jobs(summary, outcomes);
  if (outcomes.size() == jobs_.size()) check_times(summary, outcomes);
  const auto count = [&](Kind kind) { return counts_[static_cast<std::size_t>(kind)]; };
  same(summary.creates, count(Kind::created), "creates");
  same(summary.destroys, count(Kind::destroyed), "destroys");
  same(summary.migrations, count(Kind::migrated), "migrations");
  same(summary.oom_restarts, count(Kind::ran_out), "oom_restarts");
  same(summary.early_restarts, count(Kind::restarted_early), "early_restarts");
  same(summary.restarts, count(Kind::stopped), "restarts");
  same(summary.checkpoints, count(Kind::checkpointed), "checkpoints");
  same(summary.gpu_losses, count(Kind::gpu_lost), "gpu_losses");
  same(summary.evictions, count(Kind::evicted), "evictions");
  same(summary.events,
       count(Kind::submitted) + count(Kind::finished) + failed_running_ + count(Kind::ran_out),
       "events");
}

}  // namespace cleave::laws
