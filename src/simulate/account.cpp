#include "simulate/account.hpp"

#include <algorithm>
#include <cmath>

#include "simulate/processes.hpp"

namespace cleave {

void Account::ran(std::size_t job, const ProcessTime& time, const WorkShare& work) {
  books_[job].execution += time.all;
  start_s_ += in_seconds(time.start);
  restore_s_ += in_seconds(time.restore);
  if (work.kept < 1) lose_work(job, time.all - time.start - time.restore, work);
}

void Account::resident(std::size_t job, Duration time, const WorkShare& work,
                       std::optional<MiB> most) {
  const auto held = memory_->mean_held(workload_->jobs[job], work.before, work.after);
  if (held) {
    // What a process asks for that dies of it was never resident.
    const double resident = most ? std::min(*held, static_cast<double>(most->value)) : *held;
    resident_mib_seconds_ += resident * in_seconds(time);
  } else {
    resident_known_ = false;
  }
}

/// Of the time in which the job's work was done, what is in proportion to the work that is lost.
void Account::lose_work(std::size_t job, Duration progress, const WorkShare& work) {
  if (kept_.empty()) kept_.resize(books_.size());
  Duration& kept = kept_[job];
  const Duration all = kept + progress;
  const auto part = [](Duration time, double share) {
    return Duration{std::llround(static_cast<double>(time.count()) * share)};
  };
  if (work.kept >= work.after) {
    kept = all;
  } else if (work.kept > work.before) {
    kept += part(progress, (work.kept - work.before) / (work.after - work.before));
  } else {
    kept = work.before > 0 ? part(kept, work.kept / work.before) : Duration::zero();
  }
  lost_s_ += in_seconds(all - kept);
}

void Account::finished(std::size_t job, Instant now) {
  books_[job].end = JobOutcome::End::finished;
  books_[job].turnaround = now - workload_->jobs[job].arrival;
}

void Account::failed(std::size_t job) {
  books_[job].end = JobOutcome::End::failed;
}

void Account::rejected(std::size_t job, std::string_view reason) {
  books_[job].end = JobOutcome::End::rejected;
  const auto same = std::ranges::find(rejections_, reason, &ReasonCount::reason);
  if (same == rejections_.end()) {
    rejections_.push_back({std::string(reason), 1});
  } else {
    ++same->count;
  }
}

/// A deadline is missed by what ends after it, and by what never finishes.
bool Account::late(std::size_t job) const {
  const JobDetails* details = workload_->details_of(workload_->jobs[job]);
  if (details == nullptr || !details->deadline) return false;
  return books_[job].end != JobOutcome::End::finished ||
         books_[job].turnaround > *details->deadline;
}

double Account::slowdown(std::size_t job, const LeastNeeds& needs) const {
  return bounded_slowdown(books_[job].turnaround,
                          needs.shortest(workload_->jobs[job]).value_or(Duration::zero()));
}

std::vector<JobOutcome> Account::outcomes(const LeastNeeds& needs) const {
  std::vector<JobOutcome> outcomes;
  outcomes.reserve(books_.size());
  for (std::size_t i = 0; i < books_.size(); ++i) {
    const Book& book = books_[i];
    JobOutcome outcome{
        .end = book.end, .execution = book.execution, .disruptions = book.disruptions};
    if (!predicted_.empty()) outcome.predicted = predicted_[i];
    outcome.places = places_of(*workload_, workload_->jobs[i]);
    if (book.end == JobOutcome::End::finished && is_batch(i)) {
      outcome.turnaround = book.turnaround;
      outcome.wait = book.turnaround - book.execution;
      outcome.slowdown = slowdown(i, needs);
    }
    outcomes.push_back(outcome);
  }
  return outcomes;
}

void Account::write_predictions(RunSummary& summary) const {
  std::vector<double> errors;
  for (const auto& each : predicted_)
    if (each && each->seen > Duration::zero())
      errors.push_back(std::abs(in_seconds(each->predicted) / in_seconds(each->seen) - 1));
  summary.predictions = errors.size();
  if (errors.empty()) return;
  std::ranges::sort(errors);
  const auto at_least = [&](std::size_t percent) {
    return errors[(errors.size() * percent + 99) / 100 - 1];
  };
  summary.prediction_error_median = at_least(50);
  summary.prediction_error_p90 = at_least(90);
}

GpuHours Account::gpu_hours() const {
  GpuHours hours;
  hours.read = workload_->gpu_hours_read;
  for (const ReasonCount& entry : workload_->left_out) hours.left_out += entry.gpu_hours;
  for (std::size_t i = 0; i < books_.size(); ++i) {
    const double of_job = workload_->gpu_hours_of(workload_->jobs[i]);
    switch (books_[i].end) {
      case JobOutcome::End::finished:
        hours.finished += of_job;
        break;
      case JobOutcome::End::failed:
        hours.failed += of_job;
        break;
      case JobOutcome::End::rejected:
        hours.rejected += of_job;
        break;
      case JobOutcome::End::waiting:
        hours.waiting += of_job;
        break;
    }
  }
  return hours;
}

void Account::write(RunSummary& summary, std::optional<double> usable_mib, const LeastNeeds& needs,
                    Instant now) {
  summary.read = workload_->read;
  summary.left_out = workload_->left_out;
  if (workload_->gpu_hours_read > 0) summary.gpu_hours = gpu_hours();
  summary.workload = workload_->options;
  summary.notes = workload_->notes;
  summary.jobs = books_.size();
  summary.rejections = rejections_;
  std::vector<Duration> waits, turnarounds, executions;
  std::vector<double> slowdowns;
  slowdowns.reserve(books_.size());
  summary.first_wait_max = first_wait_;
  std::size_t disruptions = 0, began = 0;
  double token_s = 0;
  std::size_t with_tokens = 0;
  double several_wait_s = 0;
  std::size_t several = 0;
  for (auto* durations : {&waits, &turnarounds, &executions}) durations->reserve(books_.size());
  for (std::size_t i = 0; i < books_.size(); ++i) {
    const Book& book = books_[i];
    summary.finished += book.end == JobOutcome::End::finished ? 1 : 0;
    summary.failed += book.end == JobOutcome::End::failed ? 1 : 0;
    summary.rejected += book.end == JobOutcome::End::rejected ? 1 : 0;
    summary.waiting += book.end == JobOutcome::End::waiting ? 1 : 0;
    if (!is_batch(i)) continue;
    summary.deadline_misses += late(i) ? 1 : 0;
    began += book.began ? 1 : 0;
    disruptions += book.disruptions;
    summary.disruptions_max = std::max<std::size_t>(summary.disruptions_max, book.disruptions);
    if (book.end == JobOutcome::End::waiting && !book.began)
      summary.first_wait_max = std::max(summary.first_wait_max, now - workload_->jobs[i].arrival);
    if (book.end != JobOutcome::End::finished) continue;
    slowdowns.push_back(slowdown(i, needs));
    summary.waiting_s += in_seconds(book.turnaround - book.execution - book.set_up);
    waits.push_back(book.turnaround - book.execution);
    if (places_of(*workload_, workload_->jobs[i]) > 1) {
      several_wait_s += in_seconds(waits.back());
      ++several;
    }
    turnarounds.push_back(book.turnaround);
    executions.push_back(book.execution);
    const JobDetails* details = workload_->details_of(workload_->jobs[i]);
    if (details == nullptr || !details->output_tokens) continue;
    token_s += in_seconds(book.execution) / static_cast<double>(*details->output_tokens);
    ++with_tokens;
  }
  if (with_tokens > 0) summary.time_per_output_token_s = token_s / static_cast<double>(with_tokens);
  if (several > 0) summary.several_wait_mean_s = several_wait_s / static_cast<double>(several);
  summary.wait = Distribution::of(waits);
  summary.turnaround = Distribution::of(turnarounds);
  summary.execution = Distribution::of(executions);
  summary.slowdown = Ratios::of(slowdowns);
  if (began > 0)
    summary.disruptions_mean = static_cast<double>(disruptions) / static_cast<double>(began);
  write_predictions(summary);
  summary.creation_s = creation_s_;
  summary.process_start_s = start_s_;
  summary.checkpoint_s = checkpoint_s_;
  summary.restore_s = restore_s_;
  summary.lost_work_s = lost_s_;
  const double seconds = in_seconds(summary.makespan);
  // Services may hold memory after the end that the makespan has.
  if (resident_known_ && usable_mib && seconds > 0 && workload_->services.empty())
    summary.memory_used_utilization = resident_mib_seconds_ / (*usable_mib * seconds);
}

}  // namespace cleave
