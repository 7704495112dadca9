#include "control/loop/gpu_listener.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "physics/reconfiguration.hpp"

namespace cleave {

namespace {

std::optional<MiB> total_of(const std::optional<MemoryUse>& memory) {
  if (!memory) return std::nullopt;
  return whole_mib(memory->total_bytes);
}

void count_change(ChangeTally& tally, const GpuNews& news) {
  if (!news.done) {
    ++tally.refused;
    return;
  }
  ++tally.done;
  if (news.took > Duration{}) tally.took.add(news.took);
}

}  // namespace

void GpuListener::event(GpuId gpu, std::string kind, std::string text) {
  book_.event(std::move(kind), std::move(text), nullptr, node_.gpu(gpu).identity->uuid);
}

bool GpuListener::takes_work(GpuId gpu) const {
  return cleave::takes_work(node_.gpu(gpu), {settings_.may_switch_mig, brain_.wants_whole_gpus()});
}

void GpuListener::hear() {
  for (const GpuNews& news : executor_.poll()) hear(news);
  look_at_gpus();
}

void GpuListener::hear(const GpuNews& news) {
  ManagedGpu& gpu = node_.gpu(news.gpu);
  const auto waiting = gpu.asked.find(news.number);
  if (waiting == gpu.asked.end()) return;
  const AskedOperation asked = std::move(waiting->second);
  gpu.asked.erase(waiting);
  gpu.heard_at = clock_.steady();
  for (const std::string& remark : news.remarks) event(news.gpu, "gpu-settled", remark);
  if (gpu.hung && gpu.asked.empty()) set_hung(news.gpu, false);
  health_.hear(news.gpu, news);
  if (news.observation && news.observation->lost) {
    lose_gpu(news.gpu);
  } else {
    hear_answer(news, asked);
    if (news.observation) observe(news.gpu, *news.observation, news.number);
    if (news.observation) use_.read(news.gpu);
  }
  if (news.observation) gpu.shown = news.number;
}

void GpuListener::hear_answer(const GpuNews& news, const AskedOperation& asked) {
  const GpuId gpu = news.gpu;
  if (std::holds_alternative<CreateOnGpu>(asked.operation)) {
    count_change(node_.tally.created, news);
    if (news.done) return made(gpu, *asked.placement, news);
    return not_made(gpu, asked.placement, news.done.error());
  }
  if (std::holds_alternative<DestroyOnGpu>(asked.operation)) {
    count_change(node_.tally.destroyed, news);
    if (news.done) return destroyed(gpu, *asked.placement, news.took);
    return not_destroyed(gpu, *asked.placement, news.done.error());
  }
  if (const auto* look = std::get_if<LookAtGpu>(&asked.operation)) {
    hear_counts(news, *look);
    return set_trouble(gpu, news.done ? std::string() : news.done.error().text());
  }
  if (news.done) return;
  const SwitchMig& mig = std::get<SwitchMig>(asked.operation);
  if (!mig.on) not_made(gpu, std::nullopt, news.done.error());
  mig_refused(gpu, mig, news.done.error());
}

void GpuListener::ask(GpuId gpu, GpuOperation operation, std::optional<PlacementId> placement) {
  const std::uint64_t number = ++node_.last_operation;
  node_.gpu(gpu).asked[number] = {operation, placement, Duration::max()};
  book_.later([this, numbered = NumberedOperation{number, gpu, std::move(operation)}] {
    auto& asked = node_.gpu(numbered.gpu).asked;
    if (const auto waiting = asked.find(numbered.number); waiting != asked.end())
      waiting->second.since = clock_.steady();
    executor_.ask(numbered);
  });
}

void GpuListener::look_at_once(GpuId id) {
  ManagedGpu& gpu = node_.gpu(id);
  // Operations are done in the order of their numbers.
  const auto unsent = [](const auto& each) { return each.second.since == Duration::max(); };
  if (!gpu.observation || std::ranges::any_of(gpu.asked, unsent))
    return ask(id, LookAtGpu{}, std::nullopt);
  const std::uint64_t number = ++node_.last_operation;
  gpu.asked[number] = {LookAtGpu{}, std::nullopt, clock_.steady()};
  executor_.ask({number, id, LookAtGpu{}});
}

void GpuListener::look_where_left() {
  for (const GpuId id : node_.all_gpus()) {
    const ManagedGpu& gpu = node_.gpu(id);
    if (!gpu.hung && !gpu.lost && gpu.was_left_unseen()) look_at_once(id);
  }
}

void GpuListener::look_at_gpus() {
  for (const GpuId id : node_.all_gpus()) {
    ManagedGpu& gpu = node_.gpu(id);
    if (!gpu.hung && gpu.answer_due(settings_.gpu_patience) <= clock_.steady()) set_hung(id, true);
    // What cannot be written would not be asked either.
    if (clock_.steady() < gpu.next_look || !gpu.asked.empty() || !book_.writes()) continue;
    gpu.next_look = clock_.steady() + settings_.look_every;
    ask(id, look_and_count(id), std::nullopt);
  }
}

LiveAttempt* GpuListener::counted_attempt(const JobPlace& place) {
  const auto occupants = node_.occupants.find(place);
  if (occupants == node_.occupants.end() || occupants->second.size() != 1) return nullptr;
  const JobKey key = *occupants->second.begin();
  LiveJob* job = node_.find(key.job);
  if (job == nullptr || job->record.several()) return nullptr;
  const JobSpec& spec = job->record.spec;
  const bool may_be_idle = spec.lease && spec.lease->idle_after;
  if (!spec.application && !may_be_idle) return nullptr;
  const auto found = job->attempts.find(key.attempt);
  if (found == job->attempts.end()) return nullptr;
  LiveAttempt& attempt = found->second;
  const bool runs = attempt.record.began && !attempt.record.end;
  return runs && (may_be_idle || (attempt.watched && !attempt.shared)) ? &attempt : nullptr;
}

LiveAttempt* GpuListener::first_attempt(const JobPlace& place) {
  const auto occupants = node_.occupants.find(place);
  if (occupants == node_.occupants.end() || occupants->second.empty()) return nullptr;
  const JobKey key = *occupants->second.begin();
  LiveJob* job = node_.find(key.job);
  if (job == nullptr) return nullptr;
  const auto found = job->attempts.find(key.attempt);
  const bool runs = found != job->attempts.end() && found->second.record.began;
  return runs ? &found->second : nullptr;
}

/// A look that also counts how busy each place with a job is: its energy goes by that, leases may
/// be idle, and attempts may teach of their applications.
LookAtGpu GpuListener::look_and_count(GpuId id) {
  LookAtGpu look;
  const Duration now = clock_.steady();
  for (auto at = node_.occupants.lower_bound({id, std::nullopt});
       at != node_.occupants.end() && at->first.gpu == id; ++at) {
    LiveAttempt* attempt = first_attempt(at->first);
    if (attempt == nullptr || !attempt->busy.is_due(now)) continue;
    const std::string& device = attempt->record.device;
    look.counts.push_back(
        {attempt->place.placement ? device : std::string(), attempt->busy.next()});
    attempt->busy.ask(node_.last_operation + 1, now);
  }
  return look;
}

/// Of an attempt that the driver did not count, the count begins anew.
void GpuListener::hear_counts(const GpuNews& news, const LookAtGpu& asked) {
  for (const LookAtGpu::Count& each : asked.counts) {
    JobPlace place{news.gpu, std::nullopt};
    if (!each.device.empty()) {
      const auto where = node_.instance_of(each.device);
      if (!where) continue;
      place.placement = where->second;
    }
    LiveAttempt* attempt = first_attempt(place);
    if (attempt == nullptr || !attempt->busy.is_in(news.number)) continue;
    const auto counted = std::ranges::find(news.counted, each.device, &CountedDevice::device);
    const bool told = counted != news.counted.end();
    if (!told) {
      attempt->busy.interrupt();
      hear_of_activity(place, std::nullopt);
    } else {
      attempt->busy.hear(counted->shares, clock_.steady());
      if (counted->shares) hear_of_activity(place, counted->shares->sm_activity);
      if (counted->shares && counted->shares->sm_activity) node_.gpu(news.gpu).counts_work = true;
    }
    if (attempt != counted_attempt(place)) continue;
    if (told) {
      hear_of_work(*attempt, counted->shares);
    } else {
      attempt->idle.interrupt();
    }
    node_.counted_leases.insert(attempt->record.key.job);
  }
}

/// All there have it in common.
void GpuListener::hear_of_activity(const JobPlace& place, std::optional<double> share) {
  for (const JobKey& key : node_.occupants.at(place))
    if (LiveJob* job = node_.find(key.job))
      if (const auto found = job->attempts.find(key.attempt); found != job->attempts.end())
        found->second.activity = share;
}

/// What has no share of the processors does no work on them, whatever it holds.
void GpuListener::hear_of_work(LiveAttempt& attempt, const std::optional<BusyShares>& shares) {
  if (shares && !shares->sm_activity) return attempt.idle.interrupt();
  attempt.idle.hear(shares ? shares->sm_activity : std::nullopt, clock_.steady());
}

void GpuListener::set_hung(GpuId gpu, bool hung) {
  node_.gpu(gpu).hung = hung;
  node_.gpu(gpu).trouble = hung ? "its driver does not answer" : "";
  event(gpu, hung ? "gpu-hangs" : "gpu-answers",
        fmt::format("{}: the driver {}", node_.in_words(gpu),
                    hung ? "does not answer; nothing new is started there" : "answers again"));
  lifecycle_.rebuild(hung ? "a driver does not answer" : "a driver answers again");
}

/// A GPU that cannot be changed takes no work.
void GpuListener::set_trouble(GpuId gpu, const std::string& trouble) {
  if (node_.gpu(gpu).trouble == trouble) return;
  node_.gpu(gpu).trouble = trouble;
  event(gpu, trouble.empty() ? "gpu-well" : "gpu-trouble",
        fmt::format("{}: {}", node_.in_words(gpu),
                    trouble.empty() ? "works normally again" : trouble));
  lifecycle_.rebuild(trouble.empty() ? "a GPU is well again" : "a GPU is in trouble");
}

void GpuListener::made(GpuId id, PlacementId placement, const GpuNews& news) {
  ManagedGpu& gpu = node_.gpu(id);
  ManagedInstance& instance = gpu.instances[placement];
  instance.state = ManagedInstance::State::ready;
  instance.device = news.made;
  instance.idle_since = clock_.steady();
  instance.fresh = true;
  instance.renewed = false;
  instance.vacancy.seen_free = clock_.steady();
  book_.note_setting(user_key(news.made), no_user);
  if (news.observation)
    for (const ObservedInstance& seen : news.observation->instances) {
      if (seen.device != news.made) continue;
      instance.capacity = total_of(seen.memory);
      instance.numbers = seen.numbers;
    }
  node_.change_times.hear(InstanceChange::create,
                          create_time(gpu.geometry(), PlacementSet::of(placement)), news.took);
  const Placement& where = gpu.geometry()[placement];
  if (!instance.capacity) instance.capacity = where.profile->usable;
  brain_.made(id);
  InstanceRecord record{news.made,   gpu.identity->uuid, std::string(where.profile->name),
                        where.start, clock_.wall(),      {}};
  book_.note(record);
  node_.instances[record.device] = record;
  event(id, "instance-created",
        fmt::format("{} was made", node_.in_words(JobPlace{id, placement})));
}

/// Without a placement, MIG could not be switched off. Jobs that were to start there wait again.
void GpuListener::not_made(GpuId id, std::optional<PlacementId> placement, const Error& why) {
  ManagedGpu& gpu = node_.gpu(id);
  event(
      id, "instance-refused",
      fmt::format("{} could not be made: {}", node_.in_words(JobPlace{id, placement}), why.text()));
  const bool renewed = placement && gpu.instances[*placement].renewed;
  if (placement) gpu.instances.erase(*placement);
  if (placement && gpu.claimed.contains(*placement)) {
    gpu.claim_refusals[*placement] = why.text();
    brain_.refused(id);
    return lifecycle_.rebuild("a GPU refused");
  }
  // A later command to destroy it again has nothing to do any more.
  const bool destroyed_later =
      placement && std::erase_if(gpu.steps, [&](const GpuStep& step) {
                     return step.kind == GpuStep::Kind::destroy && step.placement == *placement;
                   }) > 0;
  std::vector<JobNumber> turned_away;
  std::erase_if(gpu.steps, [&](const GpuStep& step) {
    const bool whole = step.kind == GpuStep::Kind::start_whole;
    const bool there = placement ? !whole && step.placement == *placement : whole;
    if (!there || step.job == 0) return false;
    turned_away.push_back(step.job);
    return true;
  });
  bool runs_elsewhere = false;
  for (const JobNumber number : turned_away)
    if (LiveJob* job = node_.find(number)) {
      job->place.reset();
      if (job->main && !job->attempts.at(*job->main).record.end) {
        runs_elsewhere = true;
        continue;
      }
      job->record.state = node_.runs(*job) ? JobState::stopping : JobState::queued;
      book_.note(*job);
    }
  if (node_.held_of(id).has(placement)) {
    tell_plan(id, placement,
              fmt::format("{} could not be made: {}", node_.in_words(JobPlace{id, placement}),
                          why.text()));
    brain_.refused(id);
    return lifecycle_.rebuild("a GPU refused");
  }
  if (runs_elsewhere) {
    // It was to move here, and stays: the engine would have it wait, and its place free.
    brain_.refused(id);
    return lifecycle_.rebuild("a job could not be moved");
  }
  if (renewed) {
    // The engine asked for no instance there: it took the one that was.
    brain_.refused(id);
    return lifecycle_.rebuild("an instance was not made anew");
  }
  if (destroyed_later && turned_away.empty()) return;
  if (destroyed_later) return lifecycle_.rebuild("an instance was not made");
  brain_.tell(CreateFailed{id, placement});
}

/// It asked for the change, since nobody else does there.
void GpuListener::tell_plan(GpuId id, std::optional<PlacementId> placement,
                            const std::string& why) {
  if (node_.held_of(id).has(placement)) node_.plan_refusals.push_back(why);
}

void GpuListener::mig_refused(GpuId gpu, const SwitchMig& mig, const Error& why) {
  event(gpu, "mig-refused",
        fmt::format("{}: MIG mode was not switched {}: {}", node_.in_words(gpu),
                    mig.on ? "on" : "off", why.text()));
  tell_plan(gpu, std::nullopt, fmt::format("{}: MIG mode was not switched", node_.in_words(gpu)));
  brain_.refused(gpu);
  lifecycle_.rebuild("a GPU refused");
}

void GpuListener::instance_gone(GpuId id, PlacementId placement) {
  ManagedGpu& gpu = node_.gpu(id);
  const auto instance = gpu.instances.find(placement);
  if (instance == gpu.instances.end()) return;
  if (const auto known = node_.instances.find(instance->second.device);
      known != node_.instances.end()) {
    known->second.gone = clock_.wall();
    book_.note(known->second);
    node_.instances.erase(known);
  }
  const std::string device = std::move(instance->second.device);
  if (instance->second.vacancy.set_aside) lifecycle_.rebuild("an instance is quarantined no more");
  if (!instance->second.held.empty()) lifecycle_.rebuild("an instance that was held is gone");
  gpu.instances.erase(instance);
  if (device.empty()) return;
  book_.note_setting(user_key(device), "");
  node_.users.erase(device);
  health_.gone(id, device);
}

void GpuListener::destroyed(GpuId gpu, PlacementId placement, Duration took) {
  node_.change_times.hear(InstanceChange::destroy,
                          destroy_time(node_.gpu(gpu).geometry(), PlacementSet::of(placement)),
                          took);
  event(gpu, "instance-destroyed",
        fmt::format("{} was destroyed", node_.in_words(JobPlace{gpu, placement})));
  const auto instance = node_.gpu(gpu).instances.find(placement);
  const bool was_held =
      instance != node_.gpu(gpu).instances.end() && !instance->second.held.empty();
  instance_gone(gpu, placement);
  if (was_held) try_held_at_once();
}

/// The program that held one instance has let it go, and perhaps others too.
void GpuListener::try_held_at_once() {
  for (ManagedGpu& gpu : node_.gpus)
    for (auto& [placement, instance] : gpu.instances)
      if (!instance.held.empty()) instance.next_try = clock_.steady();
}

void GpuListener::not_destroyed(GpuId id, PlacementId placement, const Error& why) {
  ManagedGpu& gpu = node_.gpu(id);
  if (const auto instance = gpu.instances.find(placement);
      instance != gpu.instances.end() && gpu.quarantines(instance->second))
    return still_quarantined(id, placement, why);
  if (const auto instance = gpu.instances.find(placement); instance != gpu.instances.end()) {
    if (instance->second.tries == 0)
      event(id, "instance-stays",
            fmt::format("{} could not be destroyed, which is tried again: {}",
                        node_.in_words(JobPlace{id, placement}), why.text()));
    instance->second.idle_since = clock_.steady();
    hold(instance->second, why);
  }
  tell_plan(id, placement,
            fmt::format("{} could not be destroyed: {}", node_.in_words(JobPlace{id, placement}),
                        why.text()));
  lifecycle_.rebuild("an instance stays");
}

/// In the way of others until it is gone, or a job is to have it.
void GpuListener::hold(ManagedInstance& instance, const Error& why) {
  instance.state = ManagedInstance::State::ready;
  instance.held = why.text();
  try_again(instance);
  instance.next_use = instance.next_try;
}

void GpuListener::try_again(ManagedInstance& instance) {
  const Duration delay = restart_delay(++instance.tries);
  // A program that has it open may end at any time, and asking again costs next to nothing.
  instance.next_try =
      clock_.steady() + (instance.held.empty() ? delay : std::min(delay, longest_held_delay));
  node_.timers.emplace(instance.next_try, JobKey{});  // of no job: the loop wakes, and tries
}

/// It is tried again, less and less often. The rest of the GPU goes on.
void GpuListener::still_quarantined(GpuId id, PlacementId placement, const Error& why) {
  ManagedInstance& instance = node_.gpu(id).instances.at(placement);
  instance.state = ManagedInstance::State::ready;
  if (!instance.held.empty()) instance.held = why.text();  // by another program, perhaps
  try_again(instance);
  if (instance.tries == 1)
    event(id, "instance-stays",
          fmt::format("{} is quarantined and could not be destroyed, which is tried again: {}",
                      node_.in_words(JobPlace{id, placement}), why.text()));
}

void GpuListener::observe(GpuId id, const GpuObservation& observation, std::uint64_t number) {
  ManagedGpu& gpu = node_.gpu(id);
  const bool first = !gpu.observation.has_value(), was_lost = gpu.lost;
  const bool switched = !first && gpu.observation->mig != observation.mig;
  gpu.observation = observation;
  gpu.lost = false;
  if (was_lost) event(id, "gpu-returned", fmt::format("{} is back", node_.in_words(id)));
  if (was_lost) health_.returned(id);
  if (first || was_lost || switched) lifecycle_.rebuild("a GPU has appeared or changed");
  observe_instances(id, observation, number);
  observe_processes({id, std::nullopt}, observation.processes, number);
  if (first || was_lost) close_instances(id);
}

/// Instances that the store has and that the GPU does not show: they disappeared while Cleave was
/// not looking.
void GpuListener::close_instances(GpuId id) {
  const ManagedGpu& gpu = node_.gpu(id);
  const std::size_t gone = std::erase_if(node_.instances, [&](const auto& each) {
    InstanceRecord instance = each.second;
    if (instance.gpu != gpu.identity->uuid) return false;
    const bool there = std::ranges::any_of(
        gpu.instances, [&](const auto& known) { return known.second.device == instance.device; });
    if (there) return false;
    instance.gone = clock_.wall();
    book_.note(instance);
    return true;
  });
  if (gone > 0)
    event(id, "instances-gone",
          fmt::format("{} instance{} of {} disappeared while Cleave was not looking", gone,
                      gone == 1 ? "" : "s", node_.in_words(id)));
}

void GpuListener::observe_instances(GpuId id, const GpuObservation& observation,
                                    std::uint64_t number) {
  ManagedGpu& gpu = node_.gpu(id);
  const InstanceChanges changes = changes_of(gpu, observation);
  for (const ObservedInstance& seen : observation.instances) {
    if (!seen.placement || seen.owner != Ownership::ours || seen.device.empty()) continue;
    if (std::ranges::find(changes.found, *seen.placement) != changes.found.end())
      found(id, *seen.placement, seen.device);
    ManagedInstance& instance = gpu.instances.at(*seen.placement);
    if (instance.device != seen.device) continue;
    observe_memory(id, seen);
    instance.numbers = seen.numbers;
    instance.capacity = total_of(seen.memory);
    if (!instance.capacity) instance.capacity = gpu.geometry()[*seen.placement].profile->usable;
    observe_processes({id, seen.placement}, seen.processes, number);
  }
  for (const PlacementId placement : changes.vanished) lose_instance(id, placement);
  if (changes.walls == gpu.walls) return;
  gpu.walls = changes.walls;
  lifecycle_.rebuild("instances of others have changed");
}

void GpuListener::observe_processes(const JobPlace& place,
                                    const std::vector<LiveProcess>& processes,
                                    std::uint64_t number) {
  if (node_.occupied(place.gpu, place.placement)) return;
  ManagedGpu& gpu = node_.gpu(place.gpu);
  ManagedInstance* instance = place.placement ? &gpu.instances.at(*place.placement) : nullptr;
  Vacancy& vacancy = instance != nullptr ? instance->vacancy : gpu.vacancy;
  const bool first = vacancy.strangers.empty();
  const VacancyChange change = cleave::hear(vacancy, number, processes, clock_.steady());
  if (first && !vacancy.strangers.empty())  // the loop wakes, and looks again
    node_.timers.emplace(clock_.steady() + stranger_stays, JobKey{});
  if (change == VacancyChange::nothing) return;
  const std::string words = node_.in_words(place);
  if (change == VacancyChange::free_again) {
    if (instance != nullptr) {  // whose memory is left there is not known
      instance->user.reset();
      instance->fresh = false;
      book_.note_setting(user_key(instance->device), "");
      node_.users.erase(instance->device);
    }
    event(place.gpu, "strangers-gone", fmt::format("{} has no process any more", words));
    return lifecycle_.rebuild("a place is free again");
  }
  event(place.gpu, instance != nullptr ? "instance-quarantined" : "gpu-taken",
        fmt::format("{} is given to no job: {}", words, strangers_text(vacancy)));
  lifecycle_.rebuild("somebody is where no job is");
}

/// Made before this loop began, or by an operation that was thought to have failed.
void GpuListener::found(GpuId id, PlacementId placement, const std::string& device) {
  ManagedGpu& gpu = node_.gpu(id);
  ManagedInstance& instance = gpu.instances[placement];
  instance.device = device;
  instance.idle_since = clock_.steady();
  if (const auto user = node_.users.find(device); user != node_.users.end()) {
    instance.user = user->second;
    instance.fresh = !user->second;
  }
  const Placement& where = gpu.geometry()[placement];
  const auto [known, fresh] =
      node_.instances.try_emplace(device, InstanceRecord{device,
                                                         gpu.identity->uuid,
                                                         std::string(where.profile->name),
                                                         where.start,
                                                         clock_.wall(),
                                                         {}});
  book_.note(known->second);
  lifecycle_.rebuild("an instance of ours was found");
}

/// What the driver counts is what allocators hold: it is kept for later runs and never restarts a
/// job.
void GpuListener::observe_memory(GpuId gpu, const ObservedInstance& seen) {
  const auto occupants = node_.occupants.find({gpu, seen.placement});
  if (!seen.memory || occupants == node_.occupants.end() || occupants->second.size() != 1) return;
  const JobKey key = *occupants->second.begin();
  LiveJob* job = node_.find(key.job);
  if (job == nullptr || !job->attempts.contains(key.attempt)) return;
  LiveAttempt& attempt = job->attempts.at(key.attempt);
  const MiB used = mib_that_hold(seen.memory->used_bytes);
  attempt.seen = std::max(attempt.seen.value_or(MiB{}), used);
}

/// Somebody else destroyed an instance of ours.
void GpuListener::lose_instance(GpuId gpu, PlacementId placement) {
  const std::string words = node_.in_words(JobPlace{gpu, placement});
  event(gpu, "instance-vanished", fmt::format("{} is gone, and Cleave did not destroy it", words));
  instance_gone(gpu, placement);
  lose_attempts({gpu, placement}, fmt::format("its instance {} vanished", words));
  lifecycle_.rebuild("an instance vanished");
}

void GpuListener::lose_attempts(const JobPlace& place, const std::string& why) {
  const auto occupants = node_.occupants.find(place);
  if (occupants == node_.occupants.end()) return;
  const std::set<JobKey> keys = occupants->second;
  for (const JobKey& key : keys)
    if (LiveJob* job = node_.find(key.job))
      lifecycle_.stop_attempt(*job, key.attempt, AttemptEnd::lost, why);
}

void GpuListener::lose_gpu(GpuId id) {
  ManagedGpu& gpu = node_.gpu(id);
  if (gpu.lost) return;
  gpu.lost = true;
  gpu.observation = GpuObservation{};
  gpu.observation->lost = true;
  event(id, "gpu-lost", fmt::format("{} is lost, with everything on it", node_.in_words(id)));
  std::vector<PlacementId> placements;
  for (const auto& [placement, instance] : gpu.instances) placements.push_back(placement);
  const std::string why = fmt::format("{} was lost", node_.in_words(id));
  for (const PlacementId placement : placements) {
    instance_gone(id, placement);
    lose_attempts({id, placement}, why);
  }
  lose_attempts({id, std::nullopt}, why);
  gpu.walls = {};
  lifecycle_.rebuild("a GPU was lost");
}

}  // namespace cleave
