#pragma once
// Cluster mode: Cleave's engine decides which job starts when, on which node, GPU and start; Slurm
// starts it.
//
// A job that wants instances comes with a gate: it is not to begin before the year 2100. A hold
// would do as well, but Slurm gives a held job no priority, so that fair share, QOS and age would
// have to be worked out again; a job behind the gate has its priority, and Slurm's scheduler passes
// it over. A round looks at everything anew and keeps nothing, so that another controller can go
// on at any moment:
//
//   - jobs that have an instance, and jobs that were released to one, are adopted by an engine;
//   - jobs behind the gate are submitted to it, by Slurm's priority;
//   - those that it starts are released: the counts of their nodes rise by what they take, their
//     places stand in the comment (slurm/place_mark.hpp), and the gate opens.
//
// What adaptive decides here is what an engine that lives on would, but for jobs that waited for
// long: instances of one profile cost the same, so that neither how long jobs have run before nor
// how fast they come can change which place is best, and the order is Slurm's.
//
// The engine of a round has seen no other, so what a scheduler keeps for a job that others have
// passed for long is lost. So where the first job has waited for longer than `overtaken` while one
// behind it began, the round is decided by `keeping`, which keeps that job a place by time limits.
//
// Counts are exact: what jobs have and what was released, nothing else. So nothing that was not
// released can start, and the law of counts (slurm/count_law.hpp) holds by the places themselves.
//
// A job goes behind the gate again where it was released and did not start in time, where its place
// is gone, or where it waits without gate and place; one that was put back in the queue rests
// before (slurm/node_view.hpp). slurmctld that begins again knows the counts
// of the files only; a released job finds none on its node then, and Slurm holds it
// ("BadConstraints").
//
// A job of one node with instances of one profile is the engine's. Jobs over several nodes, with
// several profiles, or that may not run on every node are placed before it, by priority, where they
// fit at once; nothing is kept for them. Why Slurm does not start a job where it was released is
// not known: memory, a feature, a reservation. It goes to other nodes then, until it has been tried
// on all.
//
// Slurm's tools do not change the nodes of an element of an array. Its node is the one whose count
// rises; where another job of the same takes that, it finds its instance by its profile.

#include <string>
#include <string_view>
#include <vector>

#include "model/default_scheduler.hpp"
#include "slurm/node_counts.hpp"
#include "slurm/place_mark.hpp"

namespace cleave {

/// Before this no gated job begins: 2100-01-01T00:00:00Z.
inline constexpr Instant slurm_gate{std::chrono::seconds{4102444800}};

/// How cluster mode decides.
struct ClusterRules {
  std::string scheduler{default_scheduler};
  std::string keeping = "online:backfill=easy";
  Duration overtaken = std::chrono::minutes{5};
  std::string template_nodes = "cleave-template[1-4]";
  Duration patience = std::chrono::seconds{60};  // until a released job must have started
};

/// A job that may start now.
struct ReleasedJob {
  std::int64_t job = 0;
  std::string shown;    // as Slurm's tools take it; elements of an array share their numbers
  std::string nodes;    // as Slurm writes lists
  std::string comment;  // with the mark
};

/// A job that goes behind the gate again.
struct GatedJob {
  std::int64_t job = 0;
  std::string shown;
  std::string comment;  // with the nodes that its user had asked for (slurm/place_mark.hpp)
  std::string why;
  bool held = false;   // by Slurm, which gave it priority 0
  bool rests = false;  // its time to begin stays, and it goes behind the gate then
};

/// What one round comes to, to be done in this order.
struct ClusterRound {
  std::vector<GatedJob> gated;
  std::vector<NodeUpdate> updates;
  std::vector<ReleasedJob> released;
  std::size_t waiting = 0;  // behind the gate, afterwards
};

/// Fails where the scheduler is not one that can decide here.
[[nodiscard]] Result<ClusterRound> cluster_round(const std::vector<NodeView>& views,
                                                 const std::vector<SlurmJob>& jobs, Instant now,
                                                 const ClusterRules& rules);

}  // namespace cleave
