// What users want: checked, written with the next round, and only then part of the world.

#include <algorithm>
#include <iterator>

#include "base/format.hpp"
#include "control/inside.hpp"
#include "engine/scheduler.hpp"

namespace cleave {

void Control::Inside::want(StoreBatch batch, std::function<void()> enter) {
  wanted_.push_back({++last_request_, std::move(batch), std::move(enter), {}});
}

/// All that was wanted since the last round goes into one synced write, with what is still to be
/// written.
void Control::Inside::write_wanted() {
  if (wanted_.empty()) return;
  const std::vector<Wanted> wanted = std::exchange(wanted_, {});
  StoreBatch batch = gathered();
  std::int64_t number = last_event_ + static_cast<std::int64_t>(batch.events.size());
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const Wanted& each : wanted) {
    append(batch.jobs, each.batch.jobs);
    append(batch.commands, each.batch.commands);
    append(batch.settings, each.batch.settings);
    for (EventRecord event : each.batch.events) {
      event.number = ++number;
      batch.events.push_back(std::move(event));
    }
  }
  const auto written = store_->write(batch, Durability::synced);
  if (!written) {
    store_refused(written.error());
    return answer_unwritten(wanted, written.error());
  }
  wrote(batch);
  for (const Wanted& each : wanted) each.enter();
  answer(wanted, {});
}

/// Nothing of it happens; but what runs is stopped all the same, since it may be what fills the
/// disk. That it was asked for is written when that is possible again.
void Control::Inside::answer_unwritten(std::span<const Wanted> wanted, const Error& why) {
  for (const Wanted& each : wanted) {
    const LiveJob* job = each.cancels ? find(*each.cancels) : nullptr;
    const bool runs = job != nullptr && !is_final(job->record.state) && !job->attempts.empty();
    if (runs) {
      std::vector<JobKey> keys;
      for (const auto& [attempt, live] : job->attempts) keys.push_back(live.record.key);
      each.enter();
      for (const JobKey& key : keys) stop_now(key);
    }
    answers_.push_back({each.number, runs ? Result<void>() : std::unexpected(why)});
  }
}

void Control::Inside::answer(std::span<const Wanted> wanted, const Result<void>& done) {
  for (const Wanted& each : wanted) answers_.push_back({each.number, done});
}

/// Why no GPU here will ever have an instance for it; empty where one can.
const std::string& Control::Inside::why_never(const Request& request) {
  static const std::string unknown;
  if (gpus_.empty()) return unknown;
  constexpr std::size_t most = 4096;
  if (nevers_.size() > most) nevers_.clear();
  const auto [known, fresh] = nevers_.try_emplace(request);
  if (fresh) known->second = resolve(request, fleet_now().geometries).impossible;
  return known->second;
}

Result<JobNumber> Control::Inside::submit(const NewJob& job, Moment now) {
  see_clock(now);
  if (jobs_.size() + wanted_.size() >= settings_.most_waiting)
    return fail(ErrorKind::infeasible, "the queue",
                fmt::format("{} jobs are there already", jobs_.size() + wanted_.size()),
                "wait until some have ended, or raise most_waiting");
  const auto spec = parse_scheduler(scheduler_);
  if (spec && spec->row->interrupts && !job.spec.restartable)
    return fail(ErrorKind::infeasible, "restartable",
                fmt::format("the scheduler {} stops jobs and starts them again", spec->row->name),
                "submit with --restartable, or let an operator choose another scheduler");
  if (const std::string& never = why_never(job.spec.request); !never.empty())
    return fail(ErrorKind::infeasible, "the request", never,
                "`cleave top --once` shows the GPUs, `cleave gpu MODEL` the profiles of one");
  JobRecord record;
  record.number = ++last_job_;
  record.owner = job.owner;
  record.spec = job.spec;
  size_by_earlier_runs(record.spec, record.owner.uid);
  record.request = record.spec.request;
  record.submitted = wall();
  StoreBatch batch;
  batch.commands.emplace_back(record.number, job.command);
  batch.events.push_back(event_record(
      "job-submitted",
      fmt::format("job {} was submitted and asks for {}", record.number, record.spec.asked),
      &record, {}));
  const JobNumber number = record.number;
  batch.jobs.push_back(record);
  want(std::move(batch),
       [this, entering = std::move(record)]() mutable { enter_job(std::move(entering)); });
  return number;
}

void Control::Inside::size_by_earlier_runs(JobSpec& spec, std::uint32_t uid) const {
  if (!spec.application || !std::holds_alternative<Unknown>(spec.request.wanted)) return;
  const auto known = needs_.find(need_key(uid, *spec.application));
  if (known == needs_.end()) return;
  spec.request.wanted = BySize{known->second, {}};
  spec.asked =
      fmt::format("{} MiB, which {} needed before", known->second.value, *spec.application);
}

void Control::Inside::enter_job(JobRecord record) {
  const JobNumber number = record.number;
  LiveJob& job = jobs_[number];
  job.record = std::move(record);
  enter_line(job);
}

Result<void> Control::Inside::cancel(JobNumber number, const std::string& by, Moment now) {
  see_clock(now);
  const LiveJob* job = find(number);
  if (job == nullptr || is_final(job->record.state)) {
    want({}, [] {});  // it is over, or was never there: whoever asked has seen which
    return {};
  }
  StoreBatch batch;
  JobRecord record = job->record;
  record.cancelled = true;
  batch.jobs.push_back(std::move(record));
  // That it is over is another event: job-cancelled, or how it ended before it heard of this.
  batch.events.push_back(event_record("job-cancelling",
                                      fmt::format("job {} is being cancelled by {}", number, by),
                                      &job->record, {}));
  want(std::move(batch), [this, number, by] { enter_cancelled(number, by); });
  wanted_.back().cancels = number;
  return {};
}

void Control::Inside::enter_cancelled(JobNumber number, const std::string& by) {
  LiveJob* job = find(number);
  if (job == nullptr || is_final(job->record.state)) return;
  job->record.cancelled = true;
  const std::string why = fmt::format("cancelled by {}", by);
  leave_engine(*job);
  if (job->attempts.empty()) return finish(*job, JobState::cancelled, why, std::nullopt);
  std::vector<std::int64_t> attempts;
  for (const auto& [attempt, live] : job->attempts) attempts.push_back(attempt);
  for (const std::int64_t attempt : attempts)
    stop_attempt(*job, attempt, AttemptEnd::cancelled, why);
  job->record.state = JobState::stopping;
  job->record.reason = why;
  note(*job);
}

Result<void> Control::Inside::drain(GpuId gpu, bool drained, Moment now) {
  see_clock(now);
  if (index(gpu) >= gpus_.size())
    return fail(ErrorKind::bad_input, "gpu", "there is no such GPU among the managed ones");
  StoreBatch batch;
  batch.settings.emplace_back("drained " + managed(gpu).identity->uuid, drained ? "yes" : "");
  batch.events.push_back(
      event_record(drained ? "gpu-drained" : "gpu-undrained",
                   fmt::format("{} {}", gpu_in_words(gpu),
                               drained ? "is drained: what runs there runs on, nothing new begins"
                                       : "takes work again"),
                   nullptr, managed(gpu).identity->uuid));
  want(std::move(batch), [this, gpu, drained] {
    managed(gpu).drained = drained;
    if (drained) {
      tell(GpuDrained{gpu});
    } else if (!managed(gpu).hung && managed(gpu).rests_until <= steady()) {
      tell(GpuUndrained{gpu});
    }
  });
  return {};
}

void Control::Inside::pause(bool paused, Moment now) {
  see_clock(now);
  StoreBatch batch;
  batch.settings.emplace_back("paused", paused ? "yes" : "");
  batch.events.push_back(event_record(
      paused ? "paused" : "resumed",
      paused ? "no job is started until it is resumed" : "jobs start again", nullptr, {}));
  want(std::move(batch), [this, paused] {
    paused_ = paused;
    if (paused) {
      tell(Paused{});
    } else {
      tell(Resumed{});
    }
  });
}

Result<void> Control::Inside::set_scheduler(const std::string& text, Moment now) {
  see_clock(now);
  if (const auto possible = try_scheduler(text); !possible) return possible;
  StoreBatch batch;
  batch.settings.emplace_back("scheduler", text);
  batch.events.push_back(
      event_record("scheduler", fmt::format("the scheduler is {} from now on", text), nullptr, {}));
  want(std::move(batch), [this, text] {
    scheduler_ = text;
    begin_anew("another scheduler was chosen");
  });
  return {};
}

Result<std::vector<std::string>> Control::Inside::reload(const ControlSettings& settings,
                                                         Moment now) {
  see_clock(now);
  std::vector<std::string> unchanged;
  if (settings.forecaster != settings_.forecaster) {
    if (const auto possible = make_forecaster(settings.forecaster); !possible)
      return std::unexpected(possible.error());
    begin_anew("another forecaster was chosen");
  }
  if (settings.scheduler != settings_.scheduler) unchanged.emplace_back("scheduler");
  const std::string scheduler = settings_.scheduler;
  settings_ = settings;
  settings_.scheduler = scheduler;
  return unchanged;
}

}  // namespace cleave
