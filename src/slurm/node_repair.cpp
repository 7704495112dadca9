#include "slurm/node_repair.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace cleave {

namespace {

using std::chrono::seconds;

/// From a job's start on, in which a registration says nothing of it; Slurm's own 20 s, and what
/// clocks of whole seconds and a busy node make of them.
constexpr seconds too_early{25}, judged_after{30};
/// The same from slurmctld's beginning on; no job is about to begin then.
constexpr seconds counted_after{22};
/// How long after that a node is asked every now and then: one of these may have been too early.
constexpr seconds chance{60};

/// Whether slurmd began so close to the job's start that it may have been killed within it.
bool began_at(const std::optional<Instant>& slurmd, Instant starts) {
  return slurmd && *slurmd >= starts - seconds(2) && *slurmd < starts + too_early;
}

/// slurmctld may have been killed within any part of a job that began before it did.
bool began_before(const std::optional<Instant>& slurmctld, Instant starts) {
  return slurmctld && *slurmctld >= starts - seconds(2);
}

bool may_be_nowhere(const SlurmJob& job, const SlurmNode& node, const SlurmSight& sight,
                    Instant now) {
  if (job.state != SlurmJobState::running || sum_of(job.asks) == 0 || !job.starts) return false;
  const bool within = began_before(sight.begun, *job.starts);
  Instant from = *job.starts + judged_after;
  if (within) from = std::max(from, *sight.begun + counted_after);
  if (now < from || now > from + chance) return false;
  return within || began_at(node.begun, *job.starts);
}

}  // namespace

bool drained_for_a_forgotten_job(const SlurmNode& node) {
  return node.state.contains("DRAIN") && node.reason == "Duplicate jobid";
}

std::vector<std::string> nodes_to_register(const SlurmSight& sight, Instant now) {
  std::vector<std::string> names;
  for (const SlurmNode& node : sight.nodes) {
    if (node.has.empty()) continue;
    if (drained_for_a_forgotten_job(node)) names.push_back(node.name);
    if (!node.takes_jobs) continue;  // an administrator's drain stays
    if (std::ranges::any_of(sight.jobs, [&](const SlurmJob& job) {
          const auto nodes = nodes_of_list(job.runs_on);
          return !nodes.empty() && nodes.front() == node.name &&  // which has the script
                 may_be_nowhere(job, node, sight, now);
        }))
      names.push_back(node.name);
  }
  return names;
}

std::vector<ClaimLeft> claims_left(const SlurmSight& sight) {
  std::set<std::pair<std::string, std::int64_t>> there;
  for (const SlurmJob& job : sight.jobs)
    if (job.state == SlurmJobState::running || job.state == SlurmJobState::ending)
      for (const std::string& node : nodes_of_list(job.runs_on)) there.emplace(node, job.number);
  std::vector<ClaimLeft> left;
  for (const NodeReport& report : sight.reports)
    for (const SlurmClaim& claim : report.claims)
      if (const auto job = claim.job(); job && !there.contains({report.node, *job}))
        left.push_back({report.node, claim.key});
  return left;
}

}  // namespace cleave
