#include "simulate/advice/past_replay.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock_text.hpp"
#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/text.hpp"
#include "simulate/comparison.hpp"

namespace cleave {

namespace {

/// The last moment that anything is known of.
Instant last_known(const std::vector<PastJob>& jobs) {
  Instant last{};
  for (const PastJob& job : jobs)
    for (const auto& moment : {job.submitted, job.started, job.ended})
      if (moment) last = std::max(last, *moment);
  return last;
}

std::optional<double> over(Duration predicted, Duration seen) {
  if (seen <= Duration::zero()) return std::nullopt;
  return in_seconds(predicted) / in_seconds(seen) - 1;
}

}  // namespace

Result<std::vector<PastJob>> since(std::vector<PastJob> jobs, std::string_view text) {
  Instant from{};
  if (const auto clock = parse_clock(text)) {
    const auto moment = duration_from_seconds(clock->seconds);
    if (!moment) return fail_at("--since", moment.error());
    from = Instant{} + *moment;
  } else if (const auto before = parse_human(text)) {
    from = last_known(jobs) - *before;
  } else {
    return fail(ErrorKind::bad_usage, "--since", fmt::format("'{}' is not a time", shown(text)),
                "write 7d or 12h before the last job's end, or a time such as "
                "2024-01-31T12:00:00Z");
  }
  std::erase_if(jobs, [&](const PastJob& job) { return !job.submitted || *job.submitted < from; });
  if (jobs.empty())
    return fail(ErrorKind::bad_input, "--since", "no job of the history was submitted since then",
                "name an earlier time");
  return jobs;
}

SeenFigures seen_figures(const PastWorkload& past) {
  SeenFigures seen;
  std::vector<Duration> wait, turnaround;
  for (std::size_t i = 0; i < past.seen.size(); ++i) {
    const SeenRun& run = past.seen[i];
    wait.push_back(run.wait);
    turnaround.push_back(run.turnaround);
    seen.makespan =
        std::max(seen.makespan, past.workload.jobs[i].arrival.time_since_epoch() + run.turnaround);
  }
  seen.wait = Distribution::of(wait);
  seen.turnaround = Distribution::of(turnaround);
  return seen;
}

ReplayErrors replay_errors(const PastWorkload& past, Duration makespan,
                           const std::vector<JobOutcome>& outcomes) {
  ReplayErrors errors;
  Duration wait{}, turnaround{}, seen_wait{}, seen_turnaround{};
  std::vector<double> by_job;
  for (std::size_t i = 0; i < past.seen.size(); ++i) {
    if (outcomes[i].end != JobOutcome::End::finished) continue;
    ++errors.jobs;
    wait += outcomes[i].wait;
    turnaround += outcomes[i].turnaround;
    seen_wait += past.seen[i].wait;
    seen_turnaround += past.seen[i].turnaround;
    if (const auto error = over(outcomes[i].turnaround, past.seen[i].turnaround))
      by_job.push_back(std::abs(*error));
  }
  errors.wait = over(wait, seen_wait);
  errors.turnaround = over(turnaround, seen_turnaround);
  if (errors.jobs == past.seen.size())
    errors.makespan = over(makespan, seen_figures(past).makespan);
  std::ranges::sort(by_job);
  if (!by_job.empty()) {
    errors.job_median = quantile_of(by_job, 0.5);
    errors.job_p90 = quantile_of(by_job, 0.9);
  }
  return errors;
}

}  // namespace cleave
