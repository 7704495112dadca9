#pragma once
// What deaths of slurmctld and slurmd leave behind on nodes, and Slurm alone does not mend.
//
// slurmctld that is killed before it has saved that it started a job starts it once more. The node
// says that it has the job already, and Slurm drains it, "Duplicate jobid"; it ends the first run
// by itself, and nothing is wrong with the node.
//
// A job whose start did not reach its node, because slurmctld or slurmd was killed then, runs in
// Slurm's books and nowhere else; so may one that ended in the seconds before slurmctld was killed.
// Slurm finds that out when the node registers, but only of jobs that began 20 s before
// (BatchStartTimeout and ten more); by its source, where slurmctld begins again it counts these
// from its own beginning. Nodes register when they or slurmctld begin, and otherwise once in many
// minutes. So such a job stands until its time limit.
//
// A job whose start slurmctld forgot, and that ended before anybody noticed, has no epilog: its
// claim is left.

#include <compare>

#include "slurm/node_view.hpp"

namespace cleave {

/// Whether Slurm drained it for a job that it had forgotten.
[[nodiscard]] bool drained_for_a_forgotten_job(const SlurmNode& node);

/// Names of nodes that are to register once more: those, and those with a job that may never have
/// been launched. Jobs that run take no harm.
[[nodiscard]] std::vector<std::string> nodes_to_register(const SlurmSight& sight, Instant now);

/// A claim of a job that Slurm does not have on the node.
struct ClaimLeft {
  std::string node, key;
  friend auto operator<=>(const ClaimLeft&, const ClaimLeft&) = default;
};

/// As it looks at this moment: one that has only just been made may be among them.
[[nodiscard]] std::vector<ClaimLeft> claims_left(const SlurmSight& sight);

}  // namespace cleave
