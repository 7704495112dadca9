#pragma once
// Jobs whose end Slurm has forgotten. slurmctld saves its state up to five seconds late. Where it
// is killed meanwhile, a job that ended in these seconds runs again in its books, and when its node
// registers the next time Slurm puts it back in the queue, so that it would run twice. Slurm's
// accounting was told of the end at once, and knows it.

#include "slurm/node_view.hpp"

namespace cleave {

/// Running jobs with instances that began before slurmctld did, while that is not long ago.
[[nodiscard]] std::vector<const SlurmJob*> may_have_ended(const SlurmSight& sight, Instant now);

/// The end of a run, as the accounting has it.
struct AccountedEnd {
  std::int64_t job = 0;
  Instant started;
  std::int64_t status = 0;  // as `waitpid` has it
};

/// The word behind `sacct -a -X -D -P -n -o`, for what parse_ends reads; times as
/// SLURM_TIME_FORMAT=%s has them.
inline constexpr std::string_view sacct_end_columns = "JobIDRaw,Start,End,ExitCode,State";
/// Runs by which their job has ended, and not those after which it waits again ("REQUEUED",
/// "NODE_FAIL"): that a killed slurmctld has forgotten, too. Lines that cannot be read are passed
/// over.
[[nodiscard]] std::vector<AccountedEnd> parse_ends(std::string_view text);

/// Of these jobs, those whose present run has ended.
[[nodiscard]] std::vector<AccountedEnd> lost_ends(const std::vector<const SlurmJob*>& jobs,
                                                  const std::vector<AccountedEnd>& ends);

}  // namespace cleave
