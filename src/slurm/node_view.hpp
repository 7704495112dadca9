#pragma once
// A node as the controller sees it in one round: what Slurm says of it, what its daemon says of its
// GPUs, and which jobs Slurm has started there.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/state_graph.hpp"
#include "slurm/place_mark.hpp"
#include "slurm/slurm_records.hpp"

namespace cleave {

/// An instance that a job of Slurm's has, as the node's daemon says.
struct SlurmClaim {
  std::string key;      // "slurm:1234", "slurm:1234.5"
  std::size_t gpu = 0;  // by its place in NodeReport::gpus
  PlacementId placement = 0;

  /// The job's number; nullopt: the claim is not a job's.
  [[nodiscard]] std::optional<std::int64_t> job() const;
};

/// A GPU as its node's daemon says. Idle instances of Cleave's are free room.
struct ReportedGpu {
  std::shared_ptr<const StateGraph> graph;
  std::int64_t index = 0;  // as the daemon numbers it
  PlacementSet walls;      // what is not a claim and stays: others' instances, Cleave's own jobs
  bool serves = true;      // not lost, drained or quarantined
  PlacementSet idle = {};  // instances of Cleave's that nobody has
};

/// What a node's daemon says.
struct NodeReport {
  std::string node;
  std::vector<ReportedGpu> gpus;
  std::vector<SlurmClaim> claims;
};

/// Both sides of a node, put together.
struct NodeView {
  const SlurmNode* slurm = nullptr;
  const NodeReport* report = nullptr;      // null: its daemon does not answer
  std::vector<const SlurmJob*> started;    // that Slurm has there and that want instances
  std::vector<const SlurmJob*> unclaimed;  // of these, those without an instance yet
  GresCounts claimed;                      // instances that claims hold
  GresCounts coming;                       // instances of the unclaimed

  [[nodiscard]] const std::string& name() const { return slurm->name; }
  /// What jobs have, as Slurm must count it: what it is told to have beyond that, it gives away.
  /// After a restart of slurmctld, and after `scontrol reconfigure`, Slurm counts of each profile
  /// one at most as given to the jobs that run, until they end. A job that ends has given its
  /// instances back before Slurm takes it off.
  [[nodiscard]] GresCounts counted() const;
  /// The state of the GPU by its place in the report, as the next instance meets it.
  [[nodiscard]] StateId occupied(std::size_t gpu) const;
};

/// What a round looks at. What views refer to must outlive them.
struct SlurmSight {
  std::vector<SlurmNode> nodes;
  std::vector<SlurmJob> jobs;
  std::vector<NodeReport> reports;
  std::optional<Instant> begun;  // when slurmctld did
};

/// By node, in the order in which Slurm lists them.
[[nodiscard]] std::vector<NodeView> views_of(const SlurmSight& sight);

/// Slurm lets a job that was put back in the queue wait for two minutes, where its user's own time
/// to begin had come before. Whether it may begin earlier than that, or is to rest for now:
///
/// In the first five seconds its node takes no credential of the job that is not newer than the
/// order to end it, and Slurm calls the job failed then.
///
/// For the two minutes slurmd remembers that the job was there. A new credential clears that away
/// only where nothing was cleared within two seconds; otherwise slurmd takes the job's prolog for
/// done and runs none, and the task prolog has the job put back. So one that was put back more than
/// twice takes the two minutes, after which that cannot be.
[[nodiscard]] bool restarts_at_once(const SlurmJob& job, Instant now);
[[nodiscard]] bool rests(const SlurmJob& job, Instant now);

/// Nodes of its user's choice, and not those that it was released to.
[[nodiscard]] NodeWish wish_of(const SlurmJob& job);
/// Whether one of its partitions has the node.
[[nodiscard]] bool share_a_partition(const SlurmJob& job, const SlurmNode& node);
/// Whether nothing that is known of it keeps it from the node; the nodes that it names aside.
[[nodiscard]] bool may_be_on(const SlurmJob& job, const NodeWish& wish, const SlurmNode& node);

/// Whether it waits for other jobs or for its partition: room for it would be nobody's meanwhile.
[[nodiscard]] bool waits_for_others(const SlurmJob& job);

/// Jobs that wait for instances, as Slurm orders them: by priority, then by number. Held ones are
/// not among them, nor those that wait for others.
[[nodiscard]] std::vector<const SlurmJob*> waiting_in_order(const std::vector<SlurmJob>& jobs);

}  // namespace cleave
