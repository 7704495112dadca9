#include "control/loop/step_taker.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "control/node/reserved_gpus.hpp"
#include "control/node/vacancy.hpp"

namespace cleave {

namespace {

bool starts_one_of_several(const NodeState& node, const GpuStep& step) {
  const LiveJob* job = step.job == 0 ? nullptr : node.find(step.job);
  return job != nullptr && job->record.several();
}

}  // namespace

void StepTaker::take() {
  if (!brain_.active()) return;
  for (const GpuId gpu : node_.all_gpus()) take(gpu);
}

void StepTaker::take(GpuId id) {
  std::deque<GpuStep>& steps = node_.gpu(id).steps;
  for (std::size_t i = 0; i < steps.size() && !brain_.rebuilding();) {
    if (!is_paused(steps[i].kind) && renew_first(id, i)) continue;
    if (is_paused(steps[i].kind) || !is_ready(node_, id, i) || !prepare_mig(id, steps[i].kind) ||
        !seen_free_first(id, steps[i])) {
      ++i;
      continue;
    }
    if (starts_one_of_several(node_, steps[i])) {
      i = take_together(steps[i].job) ? 0 : i + 1;
      continue;
    }
    if (steps[i].kind == GpuStep::Kind::hand_over) {
      hand_over(id, steps[i]);
      continue;
    }
    const GpuStep step = steps[i];
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
    take(id, step);
  }
}

bool StepTaker::renew_first(GpuId id, std::size_t i) {
  if (settings_.reuse_across_users || !crosses_users(node_, id, i)) return false;
  std::deque<GpuStep>& steps = node_.gpu(id).steps;
  const PlacementId placement = steps[i].placement;
  const auto at = steps.begin() + static_cast<std::ptrdiff_t>(i);
  const GpuStep made = {GpuStep::Kind::create, placement, 0, true};
  steps.insert(steps.insert(at, made), {GpuStep::Kind::destroy, placement, 0});
  return true;
}

/// None is taken while another cannot be, so that a job never runs in part; and all know by then
/// which devices they have.
bool StepTaker::take_together(JobNumber process) {
  std::vector<PlacedStep> starts;
  const std::vector<LiveJob*> processes = node_.processes(*node_.find(process));
  for (const LiveJob* each : processes)
    for (const GpuId gpu : node_.all_gpus()) {
      const std::deque<GpuStep>& steps = node_.gpu(gpu).steps;
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i].job == each->record.number && is_ready(node_, gpu, i) &&
            (settings_.reuse_across_users || !crosses_users(node_, gpu, i)) &&
            mig_for(node_.gpu(gpu), steps[i].kind, false) == MigAnswer::right &&
            seen_free_first(gpu, steps[i]))
          starts.push_back({gpu, steps[i]});
    }
  if (starts.size() < processes.size() || !host_has_room(node_, starts)) return false;
  for (const LiveJob* each : processes) lifecycle_.drop_steps(each->record.number);
  launcher_.start(starts);
  return true;
}

bool StepTaker::is_paused(GpuStep::Kind step) const {
  const bool starts = step != GpuStep::Kind::create && step != GpuStep::Kind::destroy;
  return starts && clock_.steady() < node_.shortage.until;
}

bool StepTaker::prepare_mig(GpuId gpu, GpuStep::Kind step) {
  const MigAnswer answer = mig_for(node_.gpu(gpu), step, settings_.may_switch_mig);
  if (answer == MigAnswer::switch_first)
    gpus_.ask(gpu, SwitchMig{step != GpuStep::Kind::start_whole}, std::nullopt);
  return answer == MigAnswer::right;
}

bool StepTaker::seen_free_first(GpuId id, const GpuStep& step) {
  if (step.kind == GpuStep::Kind::create || step.kind == GpuStep::Kind::destroy) return true;
  // Those that it was to share with may have left since, or not be there yet.
  if (step.kind == GpuStep::Kind::share && node_.occupied(id, step.placement)) return true;
  ManagedGpu& gpu = node_.gpu(id);
  const Vacancy& vacancy = step.kind == GpuStep::Kind::start_whole
                               ? gpu.vacancy
                               : gpu.instances.at(step.placement).vacancy;
  if (is_free(vacancy, clock_.steady(), starts_one_of_several(node_, step))) return true;
  const bool asked = !gpu.asked.empty() && gpu.asked.rbegin()->first > vacancy.since;
  if (!asked && is_worth_a_look(vacancy, clock_.steady())) gpus_.look_at_once(id);
  return false;
}

void StepTaker::take(GpuId gpu, const GpuStep& step) {
  auto& instances = node_.gpu(gpu).instances;
  if (step.kind == GpuStep::Kind::create) {
    instances[step.placement].state = ManagedInstance::State::making;
    instances[step.placement].renewed = step.renews;
    return gpus_.ask(gpu, CreateOnGpu{step.placement}, step.placement);
  }
  if (step.kind == GpuStep::Kind::destroy) {
    ManagedInstance& instance = instances[step.placement];
    instance.state = ManagedInstance::State::going;
    const bool once = step.tidies || instance.tries > 0;
    return gpus_.ask(gpu, DestroyOnGpu{instance.device, once}, step.placement);
  }
  launcher_.start(std::array{PlacedStep{gpu, step}});
}

void StepTaker::hand_over(GpuId gpu, GpuStep& step) {
  step.kind = GpuStep::Kind::start;
  LiveJob* job = node_.find(step.job);
  if (job == nullptr || !job->main) return;
  job->on_its_way = job->planned;
  // One that only may be restarted is signalled as where it makes room.
  lifecycle_.stop_attempt(
      *job, *job->main,
      moves_by_checkpoint(job->record.spec) ? AttemptEnd::moved : AttemptEnd::made_room,
      fmt::format("it is moved to {}", node_.in_words(JobPlace{gpu, step.placement})));
}

void StepTaker::destroy_quarantined_instances() {
  for (const GpuId id : node_.all_gpus()) {
    const ManagedGpu& gpu = node_.gpu(id);
    if (gpu.hung || gpu.lost || !gpu.asked.empty()) continue;
    const PlacementSet quarantined = gpu.quarantined_instances();
    for (const PlacementId placement : quarantined) destroy_quarantined_instance(id, placement);
  }
}

void StepTaker::destroy_quarantined_instance(GpuId id, PlacementId placement) {
  ManagedInstance& instance = node_.gpu(id).instances.at(placement);
  if (node_.occupied(id, placement) || clock_.steady() < instance.next_try) return;
  instance.state = ManagedInstance::State::going;
  gpus_.ask(id, DestroyOnGpu{instance.device, !instance.held.empty()}, placement);
}

void StepTaker::give_held_instances() {
  if (!brain_.active() || node_.paused || brain_.wants_whole_gpus()) return;
  const auto reserved = reservations_of(settings_.reservations, node_, clock_.wall());
  for (const GpuId id : node_.all_gpus()) {
    if (!gpus_.takes_work(id) || node_.gpu(id).lost || node_.is_held(id) ||
        std::ranges::find(reserved, id, &GpuReservation::gpu) != reserved.end())
      continue;
    for (auto& [placement, instance] : node_.gpu(id).instances)
      if (!instance.held.empty() && !instance.vacancy.set_aside &&
          node_.gpu(id).quarantined_by(instance) == nullptr &&
          instance.state == ManagedInstance::State::ready && clock_.steady() >= instance.next_use)
        give_held_instance({id, placement}, instance);
  }
}

void StepTaker::give_held_instance(const JobPlace& place, ManagedInstance& instance) {
  // A job may come at any time.
  instance.next_use = clock_.steady() + held_offer_pause;
  for (const JobNumber number :
       takers_of(node_, place, settings_.reuse_across_users, brain_.keeps_order())) {
    LiveJob& job = node_.jobs.at(number);
    if (job.given || !lacks_only_room(job)) continue;
    job.given = place;
    instance.held.clear();
    return lifecycle_.rebuild("a job is given an instance that is held");
  }
}

bool StepTaker::lacks_only_room(const LiveJob& job) const {
  const Brain::Outlook outlook = brain_.outlook(job);
  return outlook.user_limit.empty() && !outlook.waits_for_better && !outlook.array_is_full;
}

void StepTaker::destroy_idle_instances() {
  if (!settings_.keep_idle || !brain_.active() || brain_.furnishes() || node_.paused) return;
  for (const GpuId id : node_.all_gpus()) {
    ManagedGpu& gpu = node_.gpu(id);
    if (!gpu.steps.empty() || gpu.hung || gpu.drained || gpu.drained_by() != nullptr ||
        node_.is_held(id))
      continue;
    for (const PlacementId placement :
         idle_instances(node_, id, clock_.steady(), *settings_.keep_idle)) {
      if (brain_.rebuilding() || !gpu.steps.empty()) break;
      brain_.tell(InstanceVanished{id, placement});
      gpu.steps.push_front(
          {.kind = GpuStep::Kind::destroy, .placement = placement, .tidies = true});
    }
  }
}

}  // namespace cleave
