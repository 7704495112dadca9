// What sacct prints.

#include "slurm/slurm_accounts.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::slurm_accounts_target {
namespace {

int read_input(const std::string& text) {
  const AccountedJobs read = parse_sacct(text);
  for (const AccountedJob& job : read.jobs)
    require(job.number > 0 && job.instances > 0, "a job has a number and an instance");
  return counted(!read.jobs.empty());
}

}  // namespace
}  // namespace cleave::fuzz::slurm_accounts_target

CLEAVE_FUZZ_TARGET(slurm_accounts, answered)
