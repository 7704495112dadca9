#include "control/loop/engine_rebuild.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "control/brain/fleet_of_node.hpp"
#include "control/node/reserved_gpus.hpp"

namespace cleave {

namespace {

/// An engine keeps something of every job that it ever had; with this many more than there are, it
/// is made again.
constexpr std::size_t many_jobs = 50'000;

/// One that counts runs there, or has done its work while others of its job run.
bool holds_its_place(const LiveJob* process) {
  if (!process->main) return false;
  const LiveAttempt& attempt = process->attempts.at(*process->main);
  return !attempt.record.end && attempt.placed;
}

}  // namespace

void EngineRebuild::step() {
  if (brain_.jobs_known() > many_jobs + 4 * node_.jobs.size())
    lifecycle_.rebuild("it held many jobs that have ended");
  if (!brain_.rebuilding() || !can_make_engine(node_.gpus)) return;
  place_running_attempts();
  const std::vector<PastUse> past_use(node_.past_use.begin(), node_.past_use.end());
  const auto reservations = reservations_of(settings_.reservations, node_, clock_.wall());
  if (!brain_.make(fleet_of(node_), settings_.forecaster,
                   {node_.applications.given(), past_use, reservations, has_kinds(node_),
                    settings_.user_limits}))
    return;
  tell_gpus();
  tell_running_jobs();
  tell_given_instances();
  tell_queue();
  tell_reports_again();
  brain_.carry_out();
}

/// Finds the instance of an attempt that was found at startup, if it has been observed since.
/// False: its GPU has been observed, and the instance is not there.
bool EngineRebuild::place(LiveAttempt& attempt) const {
  const auto gpu = node_.gpu_of(attempt.record.gpu);
  if (!gpu) return true;  // not managed any more: it runs to its end
  const ManagedGpu& owner = node_.gpu(*gpu);
  if (const auto instance = node_.instance_of(attempt.record.device)) {
    attempt.place = {instance->first, instance->second};
    attempt.capacity = node_.gpu(instance->first).instances.at(instance->second).capacity;
  } else if (attempt.record.device == attempt.record.gpu && owner.observation && !owner.lost) {
    attempt.place = {*gpu, std::nullopt};
  } else {
    return !owner.observation;
  }
  attempt.placed = true;
  return true;
}

void EngineRebuild::place_running_attempts() {
  for (auto& [number, job] : node_.jobs) {
    std::vector<std::int64_t> gone;
    for (auto& [attempt, live] : job.attempts) {
      if (live.placed) continue;
      if (!place(live)) gone.push_back(attempt);
      if (!live.placed) continue;
      node_.occupy(live.place, live.record.key);
      if (!live.record.end)
        book_.event("job-adopted",
                    fmt::format("{} runs on {}", NodeState::in_words(job.record),
                                node_.in_words(live.place)),
                    &job, live.record.gpu);
    }
    for (const std::int64_t attempt : gone)
      lifecycle_.stop_attempt(job, attempt, AttemptEnd::lost, "its instance is gone");
  }
}

void EngineRebuild::tell_gpus() {
  for (const GpuId id : node_.all_gpus()) {
    const ManagedGpu& gpu = node_.gpu(id);
    if (gpu.lost) {
      brain_.collect(GpuLost{id});
    } else if (!gpus_.takes_work(id) || node_.held_of(id).all ||
               !gpu.geometry().legal(gpu.walls | gpu.claimed | gpu.ready_instances())) {
      brain_.collect(GpuDrained{id});
    }
  }
  if (node_.paused) brain_.collect(Paused{});
}

void EngineRebuild::tell_running_jobs() {
  for (auto& [number, job] : node_.jobs) {
    if (!job.record.stands_alone() || is_final(job.record.state) || job.record.cancelled ||
        job.run_end)
      continue;
    const std::vector<LiveJob*> processes = node_.processes(job);
    if (!std::ranges::all_of(processes, holds_its_place)) continue;
    for (LiveJob* process : processes) process->place = process->attempts.at(*process->main).place;
    for (const Event& event : brain_.adoption_of(processes)) brain_.collect(event);
  }
}

void EngineRebuild::tell_given_instances() {
  for (auto& [number, job] : node_.jobs) {
    if (!job.given) continue;
    const JobPlace place = *job.given;
    const ManagedGpu& gpu = node_.gpu(place.gpu);
    if (!gpus_.takes_work(place.gpu) || gpu.lost || node_.paused || node_.is_held(place.gpu) ||
        !gpu.ready_instances().contains(*place.placement) ||
        !may_be_given(node_, job, place, settings_.reuse_across_users)) {
      job.given.reset();
      continue;
    }
    job.place = place;
    for (const Event& event : brain_.adoption_of(node_.processes(job))) brain_.collect(event);
    node_.gpu(place.gpu).steps.push_back({GpuStep::Kind::start, *place.placement, number});
    job.record.state = JobState::starting;
    job.record.reason.clear();
    book_.note(job);
  }
}

/// The job for which a plan made room hears first, so that nobody else takes the room.
void EngineRebuild::tell_queue() {
  std::vector<JobNumber> queue = queue_of(node_);
  std::erase_if(queue, [&](JobNumber number) { return node_.jobs.at(number).given.has_value(); });
  const auto tell = [&](JobNumber number) {
    brain_.collect(brain_.submission_of(node_.processes(node_.jobs.at(number))));
  };
  if (node_.room && std::erase(queue, node_.room->purpose->job) > 0) {
    tell(node_.room->purpose->job);
    brain_.collect_settled();
  }
  for (const JobNumber number : queue) tell(number);
}

void EngineRebuild::tell_reports_again() {
  for (auto& [number, job] : node_.jobs) {
    if (!job.main || !job.id) continue;
    LiveJob& whole = node_.whole(job);
    lifecycle_.forget_old_restarts(whole);
    if (!may_restart_early(whole.record.early_restarts, clock_.wall(),
                           settings_.early_restarts_a_day))
      continue;
    const LiveAttempt& live = job.attempts.at(*job.main);
    if (live.record.end) continue;
    for (const NumberedReport& each : live.reports.after(0)) {
      const auto answer = brain_.collect(MemoryReported{*job.id, each.report, live.capacity});
      const bool restarted = std::ranges::any_of(
          answer, [](const Command& command) { return std::holds_alternative<StopJob>(command); });
      if (restarted) break;  // the rest is of a run that is over
    }
  }
}

}  // namespace cleave
