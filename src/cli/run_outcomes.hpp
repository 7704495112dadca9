#pragma once
// What `cleave simulate` says of single jobs: what became of each, a line of JSON each, and what
// the jobs of each user drew.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "model/job.hpp"
#include "model/run_summary.hpp"

namespace cleave::cli {

/// Jobs of one user, and what they drew.
struct UserEnergy {
  std::optional<std::string> user;  // empty: of jobs that name none
  std::size_t jobs = 0;
  double energy_j = 0;
};

/// By name, those without one last; nothing where power was left out or no job names a user.
std::vector<UserEnergy> energy_by_user(const Workload& workload,
                                       const std::vector<JobOutcome>& outcomes);
/// As in the answer to --json.
Json to_json(const std::vector<UserEnergy>& by_user);

/// A line for each job, in the order of the workload.
void write_outcomes(std::ostream& out, const Workload& workload,
                    const std::vector<JobOutcome>& outcomes);

}  // namespace cleave::cli
