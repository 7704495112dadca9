// What squeue prints, with a mark that no user knows; lists of nodes and GRES within it.

#include "fuzz.hpp"
#include "slurm/node_view.hpp"

namespace cleave::fuzz::slurm_jobs_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto read = parse_squeue(text, "5a1f");
  if (!read) return error_of(read);
  for (const SlurmJob& job : read->jobs) {
    require(job.number > 0 && job.nodes >= 1, "a job has a number and a node");
    for (const auto& [profile, count] : job.asks) require(count >= 0, "counts are not negative");
    require(parse_gres(gres_text(job.asks)) == job.asks, "what is written is read");
  }
  SlurmSight sight;
  sight.jobs = read->jobs;
  require(waiting_in_order(sight.jobs).size() <= sight.jobs.size(), "no job is made up");
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::slurm_jobs_target

CLEAVE_FUZZ_TARGET(slurm_jobs, judged)
