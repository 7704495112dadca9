// What the executor answers, and how the world follows what a GPU shows.

#include <algorithm>

#include "base/format.hpp"
#include "control/inside.hpp"

namespace cleave {

namespace {

constexpr Duration first_rest = std::chrono::seconds(1), longest_rest = std::chrono::minutes(5);

std::optional<MiB> total_of(const std::optional<MemoryUse>& memory) {
  if (!memory) return std::nullopt;
  return MiB{static_cast<std::int64_t>(memory->total_bytes >> 20)};
}

}  // namespace

void Control::Inside::hear_gpus() {
  for (const GpuNews& news : executor_->poll()) hear(news);
  look_at_gpus();
}

void Control::Inside::hear(const GpuNews& news) {
  ManagedGpu& at = managed(news.gpu);
  const auto asked = at.asked.find(news.number);
  if (asked == at.asked.end()) return;
  const AskedOperation operation = std::move(asked->second);
  at.asked.erase(asked);
  at.heard_at = steady();
  for (const std::string& remark : news.remarks) event_of_gpu(news.gpu, "gpu-settled", remark);
  if (at.hung && at.asked.empty()) set_hung(news.gpu, false);
  if (news.observation && news.observation->lost) {
    lose_gpu(news.gpu);
  } else {
    const auto placement = operation.placement;
    if (std::holds_alternative<CreateOnGpu>(operation.operation)) {
      if (news.done) {
        made(news.gpu, *placement, news);
      } else {
        not_made(news.gpu, placement, news.done.error());
      }
    } else if (std::holds_alternative<DestroyOnGpu>(operation.operation)) {
      if (news.done) {
        destroyed(news.gpu, *placement);
      } else {
        not_destroyed(news.gpu, *placement, news.done.error());
      }
    } else if (const auto* mig = std::get_if<SwitchMig>(&operation.operation);
               mig != nullptr && !news.done) {
      if (!mig->on) not_made(news.gpu, std::nullopt, news.done.error());
      mig_refused(news.gpu, *mig, news.done.error());
    } else if (std::holds_alternative<LookAtGpu>(operation.operation)) {
      set_trouble(news.gpu, news.done ? std::string() : news.done.error().text());
    }
    if (news.observation) take_sight(news.gpu, *news.observation);
  }
  if (news.observation) at.shown = news.number;
}

void Control::Inside::look_at_gpus() {
  for (const GpuId gpu : all_gpus()) {
    ManagedGpu& at = managed(gpu);
    if (!at.hung && at.answer_due(settings_.gpu_patience) <= steady()) set_hung(gpu, true);
    // What cannot be written would not be asked either.
    if (steady() < at.next_look || !at.asked.empty() || !store_trouble_.empty()) continue;
    at.next_look = steady() + settings_.look_every;
    ask(gpu, LookAtGpu{}, std::nullopt);
  }
}

void Control::Inside::set_hung(GpuId gpu, bool hung) {
  ManagedGpu& at = managed(gpu);
  at.hung = hung;
  at.trouble = hung ? "its driver does not answer" : "";
  event_of_gpu(gpu, hung ? "gpu-hangs" : "gpu-answers",
               fmt::format("{}: the driver {}", gpu_in_words(gpu),
                           hung ? "does not answer; nothing new begins there" : "answers again"));
  begin_anew(hung ? "a driver does not answer" : "a driver answers again");
}

void Control::Inside::set_trouble(GpuId gpu, const std::string& trouble) {
  ManagedGpu& at = managed(gpu);
  if (at.trouble == trouble) return;
  at.trouble = trouble;
  event_of_gpu(
      gpu, trouble.empty() ? "gpu-well" : "gpu-trouble",
      fmt::format("{}: {}", gpu_in_words(gpu), trouble.empty() ? "all is well again" : trouble));
  begin_anew(trouble.empty() ? "a GPU is well again"
                             : "a GPU is in trouble");  // one that cannot be changed takes no work
}

void Control::Inside::made(GpuId gpu, PlacementId placement, const GpuNews& news) {
  ManagedGpu& at = managed(gpu);
  ManagedInstance& slot = at.slots[placement];
  slot.state = ManagedInstance::State::ready;
  slot.device = news.made;
  slot.idle_since = steady();
  if (news.observation)
    for (const ObservedInstance& seen : news.observation->instances)
      if (seen.device == news.made) slot.capacity = total_of(seen.memory);
  const Placement& where = at.geometry()[placement];
  if (!slot.capacity) slot.capacity = where.profile->usable;
  at.rest = {};
  InstanceRecord instance{
      news.made, at.identity->uuid, std::string(where.profile->name), where.start, wall(), {}};
  note(instance);
  instances_[instance.device] = instance;
  event_of_gpu(gpu, "instance-created",
               fmt::format("{} was made", place_in_words({gpu, placement})));
}

/// Without a placement, MIG could not be switched off.
void Control::Inside::not_made(GpuId gpu, std::optional<PlacementId> placement, const Error& why) {
  ManagedGpu& at = managed(gpu);
  event_of_gpu(
      gpu, "instance-refused",
      fmt::format("{} could not be made: {}", place_in_words({gpu, placement}), why.text()));
  if (placement) at.slots.erase(*placement);
  // A later command to destroy it again has nothing to do any more.
  bool destroyed_later = false;
  std::erase_if(at.steps, [&](const GpuStep& step) {
    if (!placement || step.kind != GpuStep::Kind::destroy || step.placement != *placement)
      return false;
    destroyed_later = true;
    return true;
  });
  std::vector<JobNumber> turned_away;
  std::erase_if(at.steps, [&](const GpuStep& step) {
    const bool there = placement
                           ? step.kind != GpuStep::Kind::start_whole && step.placement == *placement
                           : step.kind == GpuStep::Kind::start_whole;
    if (!there || step.job == 0) return false;
    turned_away.push_back(step.job);
    return true;
  });
  for (const JobNumber number : turned_away)
    if (LiveJob* job = find(number)) {
      job->place.reset();
      job->record.state = job->attempts.empty() ? JobState::queued : JobState::stopping;
      note(*job);
    }
  if (destroyed_later && turned_away.empty()) return;
  if (destroyed_later) return begin_anew("an instance was not made");
  tell(CreateFailed{gpu, placement});
}

void Control::Inside::mig_refused(GpuId gpu, const SwitchMig& mig, const Error& why) {
  event_of_gpu(gpu, "mig-refused",
               fmt::format("{}: MIG mode was not switched {}: {}", gpu_in_words(gpu),
                           mig.on ? "on" : "off", why.text()));
  rest(gpu);
}

void Control::Inside::slot_gone(GpuId gpu, PlacementId placement) {
  ManagedGpu& at = managed(gpu);
  const auto slot = at.slots.find(placement);
  if (slot == at.slots.end()) return;
  if (const auto known = instances_.find(slot->second.device); known != instances_.end()) {
    known->second.gone = wall();
    note(known->second);
    instances_.erase(known);
  }
  at.slots.erase(slot);
}

void Control::Inside::destroyed(GpuId gpu, PlacementId placement) {
  managed(gpu).rest = {};
  event_of_gpu(gpu, "instance-destroyed",
               fmt::format("{} was destroyed", place_in_words({gpu, placement})));
  slot_gone(gpu, placement);
}

void Control::Inside::not_destroyed(GpuId gpu, PlacementId placement, const Error& why) {
  ManagedGpu& at = managed(gpu);
  event_of_gpu(
      gpu, "instance-stays",
      fmt::format("{} could not be destroyed: {}", place_in_words({gpu, placement}), why.text()));
  if (const auto slot = at.slots.find(placement); slot != at.slots.end()) {
    slot->second.state = ManagedInstance::State::ready;
    slot->second.idle_since = steady();
  }
  rest(gpu);
}

/// It takes no work for a while, longer each time.
void Control::Inside::rest(GpuId gpu) {
  ManagedGpu& at = managed(gpu);
  at.rest = at.rest == Duration{} ? first_rest : std::min(2 * at.rest, longest_rest);
  at.rests_until = steady() + at.rest;
  begin_anew("a GPU refused");
}

void Control::Inside::take_sight(GpuId gpu, const GpuObservation& observation) {
  ManagedGpu& at = managed(gpu);
  const bool first = !at.observation.has_value(), was_lost = at.lost;
  const bool switched = !first && at.observation->mig != observation.mig;
  at.observation = observation;
  if (was_lost) {
    at.lost = false;
    event_of_gpu(gpu, "gpu-returned", fmt::format("{} is back", gpu_in_words(gpu)));
  }
  if (first || was_lost || switched) begin_anew("a GPU is there or has changed");
  take_instances(gpu, observation);
  if (first || was_lost) close_instances(gpu);
}

/// Those that the store has and that the GPU does not show: they went while nobody looked.
void Control::Inside::close_instances(GpuId gpu) {
  const ManagedGpu& at = managed(gpu);
  std::size_t gone = 0;
  std::erase_if(instances_, [&](const auto& each) {
    InstanceRecord instance = each.second;
    if (instance.gpu != at.identity->uuid) return false;
    const bool there = std::ranges::any_of(
        at.slots, [&](const auto& slot) { return slot.second.device == instance.device; });
    if (there) return false;
    instance.gone = wall();
    note(instance);
    ++gone;
    return true;
  });
  if (gone > 0)
    event_of_gpu(gpu, "instances-gone",
                 fmt::format("{} instance{} of {} went while nobody looked", gone,
                             gone == 1 ? "" : "s", gpu_in_words(gpu)));
}

/// What is there and what is not. Places that an operation is changing are left out: its answer
/// will tell.
void Control::Inside::take_instances(GpuId gpu, const GpuObservation& observation) {
  ManagedGpu& at = managed(gpu);
  PlacementSet walls;
  std::set<std::string> shown;
  for (const ObservedInstance& seen : observation.instances) {
    shown.insert(seen.device);
    if (!seen.placement) continue;
    if (seen.owner != Ownership::ours || seen.device.empty()) {
      const auto slot = at.slots.find(*seen.placement);
      if (slot == at.slots.end() || slot->second.state == ManagedInstance::State::ready)
        walls.insert(*seen.placement);
      continue;
    }
    const auto [slot, fresh] = at.slots.try_emplace(*seen.placement);
    if (fresh) {  // made before this loop began, or by an operation that was thought to have failed
      slot->second.device = seen.device;
      slot->second.idle_since = steady();
      const Placement& where = at.geometry()[*seen.placement];
      instances_.try_emplace(seen.device, InstanceRecord{seen.device,
                                                         at.identity->uuid,
                                                         std::string(where.profile->name),
                                                         where.start,
                                                         wall(),
                                                         {}});
      note(instances_[seen.device]);
      begin_anew("an instance of ours was found");
    }
    if (slot->second.device == seen.device) {
      see_memory({gpu, *seen.placement}, seen.memory);
      slot->second.capacity = total_of(seen.memory);
      if (!slot->second.capacity)
        slot->second.capacity = at.geometry()[*seen.placement].profile->usable;
    }
  }
  std::vector<PlacementId> vanished;
  for (const auto& [placement, slot] : at.slots)
    if (slot.state == ManagedInstance::State::ready && !shown.contains(slot.device))
      vanished.push_back(placement);
  for (const PlacementId placement : vanished) lose_slot(gpu, placement);
  if (walls != at.walls) {
    at.walls = walls;
    begin_anew("instances of others have changed");
  }
}

/// What the driver counts is what allocators hold: it is kept for later runs and never restarts a
/// job.
void Control::Inside::see_memory(const JobPlace& place, const std::optional<MemoryUse>& memory) {
  const auto occupants = occupants_.find(place);
  if (!memory || occupants == occupants_.end() || occupants->second.size() != 1) return;
  const JobKey key = *occupants->second.begin();
  LiveJob* job = find(key.job);
  if (job == nullptr || !job->attempts.contains(key.attempt)) return;
  LiveAttempt& attempt = job->attempts.at(key.attempt);
  const MiB used = mib_that_hold(memory->used_bytes);
  attempt.seen = std::max(attempt.seen.value_or(MiB{}), used);
}

/// Somebody else destroyed an instance of ours.
void Control::Inside::lose_slot(GpuId gpu, PlacementId placement) {
  const std::string words = place_in_words({gpu, placement});
  event_of_gpu(gpu, "instance-vanished",
               fmt::format("{} is gone, and nobody here destroyed it", words));
  slot_gone(gpu, placement);
  lose_attempts({gpu, placement}, fmt::format("its instance {} vanished", words));
  begin_anew("an instance vanished");
}

void Control::Inside::lose_attempts(const JobPlace& place, const std::string& why) {
  const auto occupants = occupants_.find(place);
  if (occupants == occupants_.end()) return;
  const std::set<JobKey> keys = occupants->second;
  for (const JobKey& key : keys)
    if (LiveJob* job = find(key.job)) stop_attempt(*job, key.attempt, AttemptEnd::lost, why);
}

void Control::Inside::lose_gpu(GpuId gpu) {
  ManagedGpu& at = managed(gpu);
  if (at.lost) return;
  at.lost = true;
  at.observation = GpuObservation{};
  at.observation->lost = true;
  event_of_gpu(gpu, "gpu-lost",
               fmt::format("{} is lost, with all that was on it", gpu_in_words(gpu)));
  std::vector<PlacementId> slots;
  for (const auto& [placement, slot] : at.slots) slots.push_back(placement);
  const std::string why = fmt::format("{} was lost", gpu_in_words(gpu));
  for (const PlacementId placement : slots) {
    slot_gone(gpu, placement);
    lose_attempts({gpu, placement}, why);
  }
  lose_attempts({gpu, std::nullopt}, why);
  at.walls = {};
  begin_anew("a GPU was lost");
}

}  // namespace cleave
