#include "control/loop/command_translator.hpp"

#include "base/format.hpp"

namespace cleave {

void CommandTranslator::carry_out(const Command& command) {
  std::visit([this](const auto& what) { carry_out(what); }, command);
}

LiveJob* CommandTranslator::find(JobId id) {
  LiveJob* job = node_.find(brain_.number_of(id));
  return job != nullptr && job->id == id ? job : nullptr;
}

void CommandTranslator::carry_out(const DestroyInstance& what) {
  node_.gpu(what.gpu).steps.push_back({GpuStep::Kind::destroy, what.placement, 0});
}

void CommandTranslator::carry_out(const CreateInstance& what) {
  node_.gpu(what.gpu).steps.push_back({GpuStep::Kind::create, what.placement, 0});
}

void CommandTranslator::place(JobId id, JobPlace place, GpuStep::Kind kind) {
  LiveJob* job = find(id);
  if (job == nullptr) return;
  job->place = place;
  node_.gpu(place.gpu).steps.push_back({kind, place.placement.value_or(0), job->record.number});
  if (node_.runs(*job)) return;
  job->record.state = JobState::starting;
  job->record.reason.clear();
  book_.note(*job);
}

void CommandTranslator::carry_out(const StartJob& what) {
  place(what.job, {what.gpu, what.placement}, GpuStep::Kind::start);
}

void CommandTranslator::carry_out(const StartShared& what) {
  place(what.job, {what.gpu, what.placement}, GpuStep::Kind::share);
}

void CommandTranslator::carry_out(const StartOnWholeGpu& what) {
  place(what.job, {what.gpu, std::nullopt}, GpuStep::Kind::start_whole);
}

/// The job leaves where it is, or does not begin there; the engine has it waiting.
void CommandTranslator::unplace(JobId id, AttemptEnd end, const std::string& why) {
  LiveJob* job = find(id);
  if (job == nullptr) return;
  lifecycle_.drop_steps(job->record.number);
  job->place.reset();
  lifecycle_.take_request(node_.whole(*job));
  if (!node_.runs(*job)) {
    job->record.state = JobState::queued;
    job->record.reason = why;
  }
  lifecycle_.stop_all_attempts(*job, end, why);
  book_.note(*job);
}

void CommandTranslator::carry_out(const StopJob& what) {
  if (what.why == StopJob::Why::room)
    return unplace(what.job, AttemptEnd::made_room, "the scheduler needed its place");
  if (what.why == StopJob::Why::gang)
    return unplace(what.job, AttemptEnd::gang, "another process of its job has lost its place");
  LiveJob* job = find(what.job);
  if (job == nullptr) return;
  LiveJob& whole = node_.whole(*job);
  whole.record.early_restarts.push_back(clock_.wall());
  unplace(what.job, AttemptEnd::early_restart,
          "its memory would have run out; it is started again on a larger instance");
  book_.event("job-restarted-early",
              fmt::format("{} is stopped before its memory runs out, and asks for {} now",
                          NodeState::in_words(job->record), text(whole.record.request)),
              job);
}

void CommandTranslator::carry_out(const CheckpointJob& what) {
  unplace(what.job, AttemptEnd::made_room, "the scheduler moves it");
}

void CommandTranslator::carry_out(const MigrateJob& what) {
  LiveJob* job = find(what.job);
  if (job == nullptr) return;
  lifecycle_.drop_steps(job->record.number);
  job->place = JobPlace{what.gpu, what.placement};
  if (job->replica)
    lifecycle_.stop_attempt(*job, *job->replica, AttemptEnd::moved, "it is moved elsewhere");
  node_.gpu(what.gpu).steps.push_back({step_of_move(*job), what.placement, job->record.number});
}

/// When it was submitted something here could have run it, so it waits: GPUs come back, what others
/// made goes, another scheduler may be chosen. The engine that is made then gets it again.
void CommandTranslator::carry_out(const RejectJob& what) {
  LiveJob* job = find(what.job);
  if (job == nullptr) return;
  job->rejected = fmt::format("it cannot run at present: {}", what.reason);
  for (LiveJob* process : node_.processes(*job)) {
    process->id.reset();  // the engine has forgotten it already
    process->place.reset();
    process->record.state = node_.runs(*job) ? JobState::stopping : JobState::queued;
    process->record.reason = *job->rejected;
    book_.note(*process);
  }
}

void CommandTranslator::carry_out(const FailJob& what) {
  LiveJob* job = find(what.job);
  if (job == nullptr) return;
  for (LiveJob* process : node_.processes(*job)) {
    process->id.reset();
    process->place.reset();
  }
  if (job->record.is_replica())
    return lifecycle_.start_again(
        *job, judge_replica(*job, std::nullopt,
                            "it ran out of memory, and no larger instance can be made here"));
  lifecycle_.finish(*job, JobState::failed,
                    "it ran out of memory, and no larger instance can be made here",
                    job->last_code);
}

/// Said once of an attempt: an engine that was made anew hears its reports again.
void CommandTranslator::carry_out(const WarnOfMemory& what) {
  LiveJob* job = find(what.job);
  if (job == nullptr || !job->main) return;
  AttemptRecord& attempt = job->attempts.at(*job->main).record;
  if (attempt.too_large) return;
  attempt.too_large = what.peak;
  book_.note(attempt);
  book_.event("job-memory-warning",
              fmt::format("{} is forecast to need {} MiB, more than any GPU here has; it is "
                          "left to run",
                          NodeState::in_words(job->record), what.peak.value),
              job, attempt.gpu);
}

}  // namespace cleave
