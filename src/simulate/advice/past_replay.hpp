#pragma once
// The past of a daemon run again: how it went as it was seen, and how far a simulation of the same
// jobs under the scheduler that ran is from that.

#include <optional>
#include <string_view>
#include <vector>

#include "model/run_summary.hpp"
#include "simulate/advice/past_jobs.hpp"

namespace cleave {

/// The jobs from a moment on: one such as 2024-01-31T12:00:00Z, or a time such as 7d before the
/// last that is known of them. Jobs that were submitted earlier are left out.
[[nodiscard]] Result<std::vector<PastJob>> since(std::vector<PastJob> jobs, std::string_view text);

/// As it was seen.
struct SeenFigures {
  Duration makespan{};  // from the first submission to the last end
  Distribution wait, turnaround;
};
[[nodiscard]] SeenFigures seen_figures(const PastWorkload& past);

/// Of the jobs that the simulation finished: 0.1 is a tenth too much. Nothing where what was seen
/// is zero.
struct ReplayErrors {
  std::size_t jobs = 0;
  std::optional<double> makespan, wait, turnaround;  // of the means
  std::optional<double> job_median, job_p90;         // of |turnaround / seen - 1|, over the jobs
};
/// `makespan` and `outcomes` are those of the run, by job.
[[nodiscard]] ReplayErrors replay_errors(const PastWorkload& past, Duration makespan,
                                         const std::vector<JobOutcome>& outcomes);

}  // namespace cleave
