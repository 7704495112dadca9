// Which steps can be taken now, and taking them. Steps of a GPU wait for one another only where
// they must: a create for the destroys in front of it, a start for its instance and for whoever is
// leaving it.

#include <algorithm>

#include "base/format.hpp"
#include "control/inside.hpp"

namespace cleave {

bool Control::Inside::occupied(GpuId gpu, std::optional<PlacementId> placement) const {
  return occupants_.contains({gpu, placement});
}

bool Control::Inside::ready(GpuId gpu, std::size_t i) const {
  const ManagedGpu& at = managed(gpu);
  const GpuStep& step = at.steps[i];
  const auto earlier =
      std::ranges::subrange(at.steps.begin(), at.steps.begin() + static_cast<std::ptrdiff_t>(i));
  const auto slot = at.slots.find(step.placement);
  const bool stands = slot != at.slots.end() && slot->second.state == ManagedInstance::State::ready;
  switch (step.kind) {
    case GpuStep::Kind::destroy:
      return stands && !occupied(gpu, step.placement) &&
             std::ranges::none_of(
                 earlier, [&](const GpuStep& other) { return other.placement == step.placement; });
    case GpuStep::Kind::create: {
      const auto in_the_way = [](const GpuStep& other) {
        return other.kind == GpuStep::Kind::destroy || other.kind == GpuStep::Kind::start_whole;
      };
      const auto goes = [](const auto& entry) {
        return entry.second.state == ManagedInstance::State::going;
      };
      return slot == at.slots.end() && !occupied(gpu, std::nullopt) &&
             std::ranges::none_of(earlier, in_the_way) && std::ranges::none_of(at.slots, goes);
    }
    case GpuStep::Kind::start_whole:
      return at.slots.empty() && i == 0 && !occupied(gpu, std::nullopt) && alone(step.job);
    case GpuStep::Kind::start:
    case GpuStep::Kind::share:
    case GpuStep::Kind::replica: {
      if (!stands || std::ranges::any_of(earlier, [&](const GpuStep& other) {
            return other.placement == step.placement && other.kind != GpuStep::Kind::share;
          }))
        return false;
      if (step.kind == GpuStep::Kind::share) return alone(step.job);
      if (occupied(gpu, step.placement)) return false;
      if (step.kind == GpuStep::Kind::start) return alone(step.job);
      const LiveJob* job = find(step.job);
      return job == nullptr || job->attempts.size() <= 1;
    }
  }
  return false;
}

/// No process of the job is left.
bool Control::Inside::alone(JobNumber number) const {
  const LiveJob* job = find(number);
  return job == nullptr || job->attempts.empty();
}

void Control::Inside::take_steps() {
  if (engine_ == nullptr || anew_) return;
  for (const GpuId gpu : all_gpus())
    if (!managed(gpu).steps.empty()) take_steps(gpu);
}

void Control::Inside::take_steps(GpuId gpu) {
  for (std::size_t i = 0; i < managed(gpu).steps.size() && !anew_;) {
    if (!ready(gpu, i) || !mig_is_right(gpu, managed(gpu).steps[i])) {
      ++i;
      continue;
    }
    const GpuStep step = managed(gpu).steps[i];
    managed(gpu).steps.erase(managed(gpu).steps.begin() + static_cast<std::ptrdiff_t>(i));
    take(gpu, step);
  }
}

/// Switches MIG mode first where a step needs it the other way.
bool Control::Inside::mig_is_right(GpuId gpu, const GpuStep& step) {
  ManagedGpu& at = managed(gpu);
  if (!at.observation || at.lost) return false;
  const bool on = step.kind != GpuStep::Kind::start_whole;
  if (at.observation->mig == on) return true;
  const bool asked = std::ranges::any_of(at.asked, [](const auto& entry) {
    return std::holds_alternative<SwitchMig>(entry.second.operation);
  });
  if (!asked && settings_.may_switch_mig) ask(gpu, SwitchMig{on}, std::nullopt);
  return false;
}

void Control::Inside::ask(GpuId gpu, GpuOperation deed, std::optional<PlacementId> placement) {
  const std::uint64_t number = ++last_operation_;
  AskedOperation& asked = managed(gpu).asked[number];
  asked.operation = deed;
  asked.placement = placement;
  later([this, operation = NumberedOperation{number, gpu, std::move(deed)}] {
    const auto waiting = managed(operation.gpu).asked.find(operation.number);
    if (waiting != managed(operation.gpu).asked.end()) waiting->second.since = steady();
    executor_->ask(operation);
  });
}

void Control::Inside::take(GpuId gpu, const GpuStep& step) {
  ManagedGpu& at = managed(gpu);
  if (step.kind == GpuStep::Kind::create) {
    at.slots[step.placement].state = ManagedInstance::State::making;
    return ask(gpu, CreateOnGpu{step.placement}, step.placement);
  }
  if (step.kind == GpuStep::Kind::destroy) {
    ManagedInstance& slot = at.slots[step.placement];
    slot.state = ManagedInstance::State::going;
    return ask(gpu, DestroyOnGpu{slot.device}, step.placement);
  }
  start(gpu, step);
}

void Control::Inside::start(GpuId gpu, const GpuStep& step) {
  LiveJob* job = find(step.job);
  if (job == nullptr) return;
  const ManagedGpu& at = managed(gpu);
  LiveAttempt attempt;
  AttemptRecord& record = attempt.record;
  record.key = {job->record.number, ++job->record.attempts};
  record.gpu = at.identity->uuid;
  record.started = wall();
  if (step.kind == GpuStep::Kind::start_whole) {
    record.device = at.identity->uuid;
    attempt.place = {gpu, std::nullopt};
  } else {
    const ManagedInstance& slot = at.slots.at(step.placement);
    const Placement& where = at.geometry()[step.placement];
    record.device = slot.device;
    record.profile = where.profile->name;
    record.start = where.start;
    attempt.place = {gpu, step.placement};
    attempt.capacity = slot.capacity;
  }
  const std::int64_t number = record.key.attempt;
  occupants_[attempt.place].insert(record.key);
  note(record);
  (step.kind == GpuStep::Kind::replica && job->main ? job->replica : job->main) = number;
  if (job->main == number) job->record.state = JobState::starting;
  note(*job);
  job->attempts.emplace(number, std::move(attempt));
  // Where it must not run twice, the power may go right after it began.
  if (!job->record.spec.restartable) sync_ = true;
  later([this, key = JobKey{step.job, number}] { launch(key.job, key.attempt); });
}

void Control::Inside::launch(JobNumber number, std::int64_t attempt) {
  LiveJob* job = find(number);
  if (job == nullptr || !job->attempts.contains(attempt)) return;
  const LiveAttempt& live = job->attempts.at(attempt);
  if (live.record.end) return not_started(number, attempt, live.record.why);
  const auto command = store_->command(number);
  if (!command) return not_started(number, attempt, command.error().text());
  if (!*command) return not_started(number, attempt, "its command is not in the store any more");
  const auto owner = look_up_owner_ ? look_up_owner_(job->record.owner) : job->record.owner;
  if (!owner && job->replica == attempt) return not_started(number, attempt, owner.error().message);
  if (!owner) {
    ProcessOutcome outcome;
    outcome.end = ProcessOutcome::End::not_started;
    outcome.reason = owner.error().message;
    return ended(*job, attempt, outcome);
  }
  Launch launch;
  launch.key = live.record.key;
  launch.uid = owner->uid;
  launch.gid = owner->gid;
  launch.groups = owner->groups;
  launch.argv = (*command)->argv;
  launch.environment = settings_.job_environment;
  launch.environment.insert(launch.environment.end(), (*command)->environment.begin(),
                            (*command)->environment.end());
  launch.working_directory = (*command)->working_directory;
  launch.visible_devices = live.record.device;
  launch.stop_grace = job->record.spec.stop_grace;
  launch.log_limit = settings_.log_limit;
  if (const auto started = runner_->start(launch); !started)
    not_started(number, attempt, started.error().text());
}

/// Instances that nobody has needed for as long as the settings say.
void Control::Inside::destroy_idle_ones() {
  if (!settings_.keep_idle || engine_ == nullptr || anew_ || furnishes_) return;
  for (const GpuId gpu : all_gpus()) {
    ManagedGpu& at = managed(gpu);
    if (!at.steps.empty() || at.hung || at.drained || paused_) continue;
    std::vector<PlacementId> idle;
    for (const auto& [placement, slot] : at.slots)
      if (slot.state == ManagedInstance::State::ready && !occupied(gpu, placement) &&
          steady() - slot.idle_since >= *settings_.keep_idle)
        idle.push_back(placement);
    for (const PlacementId placement : idle) {
      if (anew_ || !at.steps.empty()) break;
      tell(InstanceVanished{gpu, placement});
      at.steps.push_front({GpuStep::Kind::destroy, placement, 0});
    }
  }
}

}  // namespace cleave
