// What the engine answers becomes steps; they are taken when what they need is there (steps.cpp).

#include <algorithm>

#include "base/format.hpp"
#include "control/inside.hpp"

namespace cleave {

void Control::Inside::tell(const Event& event) {
  if (engine_ == nullptr || anew_) return;
  engine_->on(event, engine_time(), commands_);
  unsettled_ = true;
  carry_out();
}

void Control::Inside::settle_engine() {
  while (unsettled_ && engine_ != nullptr && !anew_) {
    unsettled_ = false;
    engine_->settle(engine_time(), commands_);
    carry_out();
  }
}

/// Carrying out may tell the engine more, which appends to what is carried out here.
void Control::Inside::carry_out() {
  if (carrying_out_) return;
  carrying_out_ = true;
  for (std::size_t i = 0; i < commands_.size() && !anew_; ++i) {
    const Command command = commands_[i];
    std::visit([this](const auto& what) { carry_out(what); }, command);
  }
  commands_.clear();
  carrying_out_ = false;
}

void Control::Inside::carry_out(const DestroyInstance& what) {
  managed(what.gpu).steps.push_back({GpuStep::Kind::destroy, what.placement, 0});
}

void Control::Inside::carry_out(const CreateInstance& what) {
  managed(what.gpu).steps.push_back({GpuStep::Kind::create, what.placement, 0});
}

void Control::Inside::place(JobId id, JobPlace place, GpuStep::Kind kind) {
  LiveJob* job = find(id);
  if (job == nullptr) return;
  job->place = place;
  managed(place.gpu).steps.push_back({kind, place.placement.value_or(0), job->record.number});
  if (job->attempts.empty()) {
    job->record.state = JobState::starting;
    job->record.reason.clear();
    note(*job);
  }
}

void Control::Inside::carry_out(const StartJob& what) {
  place(what.job, {what.gpu, what.placement}, GpuStep::Kind::start);
}

void Control::Inside::carry_out(const StartShared& what) {
  place(what.job, {what.gpu, what.placement}, GpuStep::Kind::share);
}

void Control::Inside::carry_out(const StartOnWholeGpu& what) {
  place(what.job, {what.gpu, std::nullopt}, GpuStep::Kind::start_whole);
}

void Control::Inside::drop_start(JobNumber number) {
  for (ManagedGpu& at : gpus_)
    std::erase_if(at.steps, [&](const GpuStep& step) { return step.job == number; });
}

/// It leaves where it is, or does not begin there; the engine has it waiting.
void Control::Inside::unplace(JobId id, AttemptEnd end, const std::string& why) {
  LiveJob* job = find(id);
  if (job == nullptr) return;
  drop_start(job->record.number);
  job->place.reset();
  take_request(*job);
  std::vector<std::int64_t> attempts;
  for (const auto& [attempt, live] : job->attempts) attempts.push_back(attempt);
  for (const std::int64_t attempt : attempts) stop_attempt(*job, attempt, end, why);
  if (attempts.empty()) {
    job->record.state = JobState::queued;
    job->record.reason = why;
  }
  note(*job);
}

void Control::Inside::carry_out(const StopJob& what) {
  if (what.why == StopJob::Why::room)
    return unplace(what.job, AttemptEnd::made_room, "the scheduler needed its place");
  LiveJob* job = find(what.job);
  if (job == nullptr) return;
  job->record.early_restarts.push_back(wall());
  unplace(what.job, AttemptEnd::early_restart,
          "its memory would have run out; it is started again on a larger instance");
  event("job-restarted-early",
        fmt::format("job {} is stopped before its memory runs out, and asks for {} now",
                    job->record.number, text(job->record.request)),
        job);
}

void Control::Inside::carry_out(const CheckpointJob& what) {
  unplace(what.job, AttemptEnd::made_room, "the scheduler moves it");
}

void Control::Inside::carry_out(const MigrateJob& what) {
  LiveJob* job = find(what.job);
  if (job == nullptr) return;
  drop_start(job->record.number);
  job->place = JobPlace{what.gpu, what.placement};
  const bool runs = job->main && !job->attempts.at(*job->main).record.end;
  if (job->replica) stop_attempt(*job, *job->replica, AttemptEnd::moved, "it is moved elsewhere");
  managed(what.gpu).steps.push_back(
      {runs ? GpuStep::Kind::replica : GpuStep::Kind::start, what.placement, job->record.number});
}

void Control::Inside::carry_out(const RejectJob& what) {
  LiveJob* job = find(what.job);
  if (job == nullptr) return;
  job->id.reset();  // the engine has forgotten it already
  job->place.reset();
  // When it was submitted something here could have run it, so it waits: GPUs come back, what
  // others made goes, another scheduler may be chosen. The engine that is made then gets it again.
  job->never = fmt::format("it cannot run as things are: {}", what.reason);
  job->record.state = job->attempts.empty() ? JobState::queued : JobState::stopping;
  job->record.reason = job->never;
  note(*job);
}

void Control::Inside::carry_out(const FailJob& what) {
  LiveJob* job = find(what.job);
  if (job == nullptr) return;
  job->id.reset();
  job->place.reset();
  finish(*job, JobState::failed, "it ran out of memory, and no larger instance can be made here",
         job->last_code);
}

void Control::Inside::carry_out(const WakeAt& what) {
  wakes_.insert(steady_of(what.time));
}

void Control::Inside::wake_engine() {
  if (wakes_.empty() || *wakes_.begin() > steady()) return;
  while (!wakes_.empty() && *wakes_.begin() <= steady()) wakes_.erase(wakes_.begin());
  tell(Woken{});
}

/// What the engine has learned of its needs.
void Control::Inside::take_request(LiveJob& job) {
  if (engine_ == nullptr || !job.id) return;
  job.record.request = (*requests_)[engine_->request_of(*job.id)].request;
  note(job);
}

}  // namespace cleave
