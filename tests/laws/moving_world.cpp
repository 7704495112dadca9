#include "moving_world.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "placement/gang_room.hpp"

namespace cleave::laws {

namespace {

std::uint32_t slices_at(const Placement& placement) {
  return ((std::uint32_t{1} << placement.profile->memory.value) - 1) << placement.start;
}

}  // namespace

MovingWorld::MovingWorld(const FleetFile& file, RequestTable& requests, const JobFacts* facts,
                         Forecaster* forecaster, std::uint64_t seed)
    : file_(file),
      requests_(requests),
      facts_(facts),
      forecaster_(forecaster),
      random_(seed),
      gpus_(file.gpus.size()) {
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    for (const InstanceEntry& entry : file.gpus[i].instances) {
      const bool wall = !entry.owned || (!entry.workload && !entry.movable);
      const Owner owner = wall ? Owner::wall : entry.workload ? Owner::fleet_work : Owner::ours;
      gpus_[i].instances.push_back({entry.placement, owner, {}});
    }
}

void MovingWorld::violation(const std::string& what) {
  if (violations_.size() < 5)
    violations_.push_back(fmt::format("event {}, {}: {}", counts_.events, spec_->text, what));
}

const Geometry& MovingWorld::geometry(GpuId gpu) const {
  return file_.geometries[file_.gpus[index(gpu)].geometry];
}

MovingWorld::Standing* MovingWorld::find(GpuId gpu, PlacementId placement) {
  auto& instances = gpu_at(gpu).instances;
  const auto found = std::ranges::find(instances, placement, &Standing::placement);
  return found == instances.end() ? nullptr : &*found;
}

std::optional<MiB> MovingWorld::usable(const Account& job) const {
  const Geometry& own = geometry(job.gpu);
  return job.placement ? own[*job.placement].profile->usable : own.model().largest().usable;
}

// The engine, rebuilt.

bool MovingWorld::rebuild(const SchedulerSpec& spec) {
  if (!violations_.empty()) return true;  // an impossible state
  FleetFile there = file_;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    there.gpus[i].instances.clear();
    for (const Standing& instance : gpus_[i].instances) {
      InstanceEntry entry;
      entry.placement = instance.placement;
      entry.owned = instance.owner != Owner::wall;
      if (instance.owner == Owner::fleet_work) entry.workload = "w";
      there.gpus[i].instances.push_back(std::move(entry));
    }
  }
  auto fleet = std::make_unique<Fleet>(there);
  auto engine =
      Engine::make(spec, {*fleet, requests_, true, facts_}, requests_, forecaster_, &refusals_);
  if (!engine) {
    if (must_rebuild_) violation("there is no other engine: " + engine.error().text());
    return false;
  }
  engine_.emplace(std::move(*engine));
  fleet_ = std::move(fleet);
  spec_ = spec;
  wakes_.clear();
  must_rebuild_ = false;
  tell_what_there_is();
  return true;
}

/// In any order, except that waiting jobs come last and by their turns. Failures meanwhile are
/// reported at the end.
void MovingWorld::tell_what_there_is() {
  std::vector<Event> events;
  if (paused_) events.emplace_back(Paused{});
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i].lost) events.emplace_back(GpuLost{static_cast<GpuId>(i)});
    if (gpus_[i].drained) events.emplace_back(GpuDrained{static_cast<GpuId>(i)});
  }
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    Account& job = jobs_[i];
    const auto id = static_cast<JobId>(i);
    if (job.state == State::running) {
      events.emplace_back(Adopted{id, job.request, job.gpu, job.placement});
      ++counts_.adopted;
      if (!job.placement) ++counts_.adopted_whole;
    } else if (job.state != State::ended) {
      job.state = State::waiting;
      job.its_turn = true;
      waiting.push_back(i);
    }
  }
  for (std::size_t i = events.size(); i > 1; --i)
    std::swap(events[i - 1], events[random_.below(i)]);
  std::ranges::sort(waiting, [&](std::size_t a, std::size_t b) {
    return comes_before(static_cast<JobId>(a), static_cast<JobId>(b));
  });
  for (const std::size_t i : waiting)
    events.emplace_back(Submitted{static_cast<JobId>(i), jobs_[i].request});
  rebuilding_ = true;
  for (const Event& event : events) {
    if (must_rebuild_) break;
    tell(event);
  }
  rebuilding_ = false;
  if (must_rebuild_) rebuild(SchedulerSpec(*spec_));
}

void MovingWorld::tell(const Event& event) {
  ++counts_.events;
  engine_->on(event, now_, commands_);
  carry_out_all();
}

void MovingWorld::settle() {
  engine_->settle(now_, commands_);
  carry_out_all();
}

void MovingWorld::wait(Duration time) {
  settle();
  now_ += time;
  while (!wakes_.empty() && *wakes_.begin() <= now_) {
    wakes_.erase(wakes_.begin());
    tell(Woken{});
    settle();
  }
}

std::optional<Duration> MovingWorld::next_wake() const {
  if (wakes_.empty()) return std::nullopt;
  return std::max(Duration{}, *wakes_.begin() - now_);
}

// Its commands.

void MovingWorld::carry_out_all() {
  while (!commands_.empty()) {
    const std::vector<Command> answer = std::exchange(commands_, {});
    abandoned_ = false;
    for (const Command& command : answer) {
      if (!abandoned_) std::visit([&](const auto& what) { carry_out(what); }, command);
    }
    must_rebuild_ = must_rebuild_ || abandoned_;
    if (must_rebuild_) {
      for (const CreateFailed& failed : std::exchange(refused_, {}))
        refusals_.refused(failed.gpu, now_);
      if (!rebuilding_) rebuild(SchedulerSpec(*spec_));
      return;
    }
    for (Account& job : jobs_)
      if (job.state == State::refused) job.state = State::waiting;
    for (const CreateFailed& failed : std::exchange(refused_, {})) {
      ++counts_.events;
      engine_->on(failed, now_, commands_);
    }
  }
}

void MovingWorld::takes_work(GpuId gpu, const char* what) {
  if (gpu_at(gpu).lost) violation(fmt::format("{} on GPU {}, which is lost", what, index(gpu)));
  if (gpu_at(gpu).drained)
    violation(fmt::format("{} on GPU {}, which is drained", what, index(gpu)));
  if (paused_) violation(fmt::format("{} on GPU {}, though all are paused", what, index(gpu)));
}

void MovingWorld::carry_out(const DestroyInstance& what) {
  takes_work(what.gpu, "destroys");
  const Standing* instance = find(what.gpu, what.placement);
  const auto is_it = [&](const CreateFailed& each) {
    return each.gpu == what.gpu && each.placement == what.placement;
  };
  if (instance == nullptr && std::erase_if(refused_, is_it) > 0) return;
  if (instance == nullptr) return violation("destroys what is not there");
  if (instance->owner != Owner::ours) return violation("destroys what is not ours");
  if (!instance->jobs.empty()) return violation("destroys what is held");
  if (gpu_at(what.gpu).whole) return violation("destroys on a GPU that a job has whole");
  std::erase_if(gpu_at(what.gpu).instances,
                [&](const Standing& each) { return each.placement == what.placement; });
}

void MovingWorld::check_rules(GpuId gpu, PlacementId placement) {
  const GpuModel& model = geometry(gpu).model();
  const Placement& where = geometry(gpu)[placement];
  const Profile& profile = *where.profile;
  if (gpu_at(gpu).whole) violation("creates on a GPU that a job has whole");
  int compute = profile.compute.value, of_profile = 1;
  for (const Standing& other : gpu_at(gpu).instances) {
    const Placement& beside = geometry(gpu)[other.placement];
    if ((slices_at(where) & slices_at(beside)) != 0) violation("creates on slices that are taken");
    if (profile.attribute == Attribute::media && beside.profile->attribute == Attribute::media)
      violation("creates a second instance with media");
    compute += beside.profile->compute.value;
    of_profile += beside.profile == &profile ? 1 : 0;
  }
  if (compute > model.compute.value) violation("creates with more compute than there is");
  if (of_profile > profile.max_instances) violation("creates more of a profile than there may be");
}

void MovingWorld::carry_out(const CreateInstance& what) {
  takes_work(what.gpu, "creates");
  check_rules(what.gpu, what.placement);
  if (random_.uniform() < refusal_) {
    ++counts_.refused;
    refused_.push_back({what.gpu, what.placement});
    return;
  }
  gpu_at(what.gpu).instances.push_back({what.placement, Owner::ours, {}});
}

bool MovingWorld::comes_before(JobId job, JobId other) const {
  return rank_of(facts_, job) < rank_of(facts_, other);
}

std::optional<MovingWorld::Place> MovingWorld::place_of(JobId job) const {
  const Account& known = jobs_[index(job)];
  if (known.state != State::running) return std::nullopt;
  return Place{known.gpu, known.placement};
}

bool MovingWorld::meet(const Place& a, const Place& b) const {
  if (a.gpu != b.gpu) return false;
  if (!a.placement || !b.placement || a.placement == b.placement) return true;
  return geometry(a.gpu)[*a.placement].conflicts.contains(*b.placement);
}

int MovingWorld::memory_slices(const Place& place) const {
  const Geometry& rules = geometry(place.gpu);
  return place.placement ? rules[*place.placement].profile->memory.value
                         : rules.model().memory_slices.value;
}

bool MovingWorld::could_start(JobId job) const {
  const ResolvedRequest& asked = requests_[jobs_[index(job)].request];
  for (std::size_t i = 0; i < gpus_.size() && !paused_; ++i) {
    const Gpu& gpu = gpus_[i];
    if (gpu.lost || gpu.drained) continue;
    const Geometry& rules = geometry(static_cast<GpuId>(i));
    PlacementSet others;
    for (const Standing& instance : gpu.instances)
      if (instance.owner != Owner::ours) others.insert(instance.placement);
    if (asks_for_whole(asked.request)
            ? others.empty()
            : asked.candidates[file_.gpus[i].geometry].meets(rules.free(others)))
      return true;
  }
  return false;
}

void MovingWorld::begins(JobId id, GpuId gpu, std::optional<PlacementId> placement) {
  Account& job = account(id);
  if (!job.begun && keeps_order(*spec_))
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (jobs_[i].state == State::waiting && jobs_[i].its_turn &&
          comes_before(static_cast<JobId>(i), id))
        return violation(fmt::format("job {} overtakes job {}", index(id), i));
  job.begun = true;
  begun_.push_back(id);
  job.its_turn = true;
  job.state = State::running;
  job.gpu = gpu;
  job.placement = placement;
  ++running_;
  const auto has = usable(job);
  if (job.more_than && (!has || *has <= *job.more_than))
    violation("starts on as little memory as before");
}

void MovingWorld::start(JobId id, GpuId gpu, PlacementId placement, bool shared) {
  takes_work(gpu, "starts");
  if (account(id).state != State::waiting)
    return violation(fmt::format("starts job {}, which does not wait", index(id)));
  Standing* instance = find(gpu, placement);
  if (instance == nullptr) {
    const auto is_it = [&](const CreateFailed& each) {
      return each.gpu == gpu && each.placement == placement;
    };
    if (std::ranges::none_of(refused_, is_it)) violation("starts on what is not there");
    account(id).state = State::refused;
    return;
  }
  if (instance->owner != Owner::ours) violation("starts on what is not ours");
  if (!instance->jobs.empty() && !shared) violation("starts on what is held");
  instance->jobs.insert(id);
  begins(id, gpu, placement);
}

void MovingWorld::carry_out(const StartJob& what) {
  start(what.job, what.gpu, what.placement, false);
}

void MovingWorld::carry_out(const StartShared& what) {
  ++counts_.shared;
  start(what.job, what.gpu, what.placement, true);
}

void MovingWorld::carry_out(const StartOnWholeGpu& what) {
  takes_work(what.gpu, "starts");
  if (account(what.job).state != State::waiting)
    return violation("starts a job that does not wait");
  if (gpu_at(what.gpu).whole || !gpu_at(what.gpu).instances.empty())
    return violation("uses a GPU whole that has instances or a job");
  if (random_.uniform() < refusal_) {
    ++counts_.refused;
    account(what.job).state = State::refused;
    refused_.push_back({what.gpu, std::nullopt});
    return;
  }
  gpu_at(what.gpu).whole = what.job;
  begins(what.job, what.gpu, std::nullopt);
}

void MovingWorld::leave(JobId id) {
  Account& job = account(id);
  if (job.state == State::refused) {  // it was to start in this answer, but did not
    job.state = State::waiting;
    return;
  }
  if (job.state != State::running) return violation(fmt::format("job {} does not run", index(id)));
  --running_;
  job.state = State::waiting;
  if (!job.placement) {
    gpu_at(job.gpu).whole.reset();
  } else if (Standing* instance = find(job.gpu, *job.placement)) {
    instance->jobs.erase(id);
  }
}

void MovingWorld::carry_out(const StopJob& what) {
  leave(what.job);
  ++counts_.stopped;
  account(what.job).its_turn = what.why == StopJob::Why::forecast;
  account(what.job).request = engine_->request_of(what.job);
}

void MovingWorld::carry_out(const CheckpointJob& what) {
  leave(what.job);
  account(what.job).its_turn = false;
}

void MovingWorld::carry_out(const MigrateJob& what) {
  takes_work(what.gpu, "moves a job");
  Standing* instance = find(what.gpu, what.placement);
  if (instance == nullptr && !refused_.empty()) {
    ++counts_.unmoved;
    abandoned_ = true;  // it runs on where it is, not where the engine has it
    return;
  }
  if (instance == nullptr) return violation("moves a job to what is not there");
  if (!instance->jobs.empty() || instance->owner != Owner::ours)
    violation("moves a job to what is held");
  leave(what.job);
  Account& job = account(what.job);
  job.state = State::running;
  job.gpu = what.gpu;
  job.placement = what.placement;
  instance->jobs.insert(what.job);
  ++running_;
}

void MovingWorld::carry_out(const RejectJob& what) {
  if (account(what.job).state != State::waiting) violation("turns away a job that does not wait");
  account(what.job).state = State::ended;
  ++counts_.rejected;
}

void MovingWorld::carry_out(const FailJob& what) {
  if (account(what.job).state != State::waiting) violation("fails a job that runs");
  account(what.job).state = State::ended;
  ++counts_.failed;
}

void MovingWorld::carry_out(const WarnOfMemory& what) {
  if (account(what.job).state != State::running) violation("warns of a job that does not run");
}

void MovingWorld::carry_out(const WakeAt& what) {
  wakes_.insert(what.time);
}

// What happens.

void MovingWorld::submit(RequestId request) {
  Account job;
  job.request = request;
  jobs_.push_back(job);
  tell(Submitted{static_cast<JobId>(jobs_.size() - 1), request});
}

std::vector<JobId> MovingWorld::waiting() const {
  std::vector<JobId> all;
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (jobs_[i].state == State::waiting) all.push_back(static_cast<JobId>(i));
  return all;
}

std::vector<JobId> MovingWorld::running_jobs() const {
  std::vector<JobId> all;
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (jobs_[i].state == State::running) all.push_back(static_cast<JobId>(i));
  return all;
}

std::optional<JobId> MovingWorld::any_running() {
  if (running_ == 0) return std::nullopt;
  std::size_t skip = random_.below(running_);
  for (std::size_t i = jobs_.size(); i-- > 0;)
    if (jobs_[i].state == State::running && skip-- == 0) return static_cast<JobId>(i);
  return std::nullopt;
}

/// Sometimes a job that does not wait: that changes nothing.
void MovingWorld::cancel_one() {
  if (jobs_.empty()) return;
  const auto all = waiting();
  const bool any = all.empty() || random_.uniform() < 0.2;
  const JobId job =
      any ? static_cast<JobId>(random_.below(jobs_.size())) : all[random_.below(all.size())];
  if (account(job).state == State::waiting) {
    account(job).state = State::ended;
    ++counts_.cancelled;
  }
  tell(Cancelled{job});
}

void MovingWorld::end_one() {
  const auto job = any_running();
  if (!job) return;
  leave(*job);
  account(*job).state = State::ended;
  ++counts_.ended;
  tell(Finished{*job});
}

void MovingWorld::run_out_one() {
  const auto id = any_running();
  if (!id) return;
  const auto had = account(*id).placement ? usable(account(*id)) : std::nullopt;
  leave(*id);
  account(*id).more_than = had;
  ++counts_.events;
  engine_->on(OutOfMemory{*id, had}, now_, commands_);
  account(*id).request = engine_->request_of(*id);
  carry_out_all();
}

void MovingWorld::report_one(std::int64_t iteration) {
  const auto id = any_running();
  if (!id || !account(*id).placement) return;
  const auto has = usable(account(*id));
  const MiB held{100 + static_cast<std::int64_t>(
                           random_.below(has ? static_cast<std::size_t>(has->value) : 1))};
  tell(MemoryReported{*id, {iteration, 1000, held, held}, has});
}

void MovingWorld::evict(JobId id) {
  leave(id);
  ++counts_.evicted;
}

void MovingWorld::lose(GpuId gpu) {
  if (gpu_at(gpu).lost) return;
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (jobs_[i].state == State::running && jobs_[i].gpu == gpu) evict(static_cast<JobId>(i));
  gpu_at(gpu).lost = true;
  gpu_at(gpu).instances.clear();
  gpu_at(gpu).whole.reset();
  tell(GpuLost{gpu});
}

void MovingWorld::give_back(GpuId gpu) {
  if (!std::exchange(gpu_at(gpu).lost, false)) return;
  tell(GpuReturned{gpu});
}

void MovingWorld::drain(GpuId gpu, bool drained) {
  gpu_at(gpu).drained = drained;
  drained ? tell(GpuDrained{gpu}) : tell(GpuUndrained{gpu});
}

void MovingWorld::pause(bool paused) {
  paused_ = paused;
  paused ? tell(Paused{}) : tell(Resumed{});
}

void MovingWorld::vanish_one() {
  const auto gpu = static_cast<GpuId>(random_.below(gpus_.size()));
  auto& instances = gpu_at(gpu).instances;
  if (instances.empty()) return;
  const auto at = instances.begin() + static_cast<std::ptrdiff_t>(random_.below(instances.size()));
  if (at->owner != Owner::ours) return;
  const Standing gone = std::move(*at);
  for (const JobId job : gone.jobs) evict(job);
  std::erase_if(instances, [&](const Standing& each) { return each.placement == gone.placement; });
  ++counts_.vanished;
  tell(InstanceVanished{gpu, gone.placement});
}

}  // namespace cleave::laws
