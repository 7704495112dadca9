#pragma once
// Jobs that Slurm holds because of counts, in node mode.
//
// Slurm tests a job against all that its nodes have, taken or not. Where none of the nodes on which
// it may run has as many instances as it asks for, it is not one that waits to Slurm: its priority
// becomes 0 ("BadConstraints"), and no scheduler looks at it again until somebody changes the job
// or the configuration. The template nodes keep jobs from that which may run anywhere; not those
// that name nodes, or features that it has not. Counts follow the layout, so that one moment's is
// no reason: such a job waits on with the priority that it had, is promised room as others are,
// and is released when its nodes are told to have enough.

#include <map>
#include <string_view>
#include <vector>

#include "slurm/node_view.hpp"

namespace cleave {

/// What is known of jobs that Slurm may come to hold.
struct HeldMemory {
  /// The last release of a job, and how many there were.
  struct Release {
    Instant last;
    int times = 0;
  };
  std::map<std::int64_t, std::int64_t> priority;  // of jobs that wait, when last seen above 0
  std::map<std::int64_t, Release> released;       // of jobs that wait
};

/// Whether counts may be why Slurm holds it: neither its user nor an administrator does.
[[nodiscard]] bool held_by_counts(const SlurmJob& job);

/// Jobs so held of which the nodes have enough by now, each at most every ten seconds. Where there
/// are other reasons Slurm holds it once more, and after five times within a minute of each other
/// it is Slurm's matter alone. The caller notes in the memory which it released.
[[nodiscard]] std::vector<std::int64_t> jobs_to_release(const SlurmSight& sight,
                                                        const std::string& template_nodes,
                                                        const HeldMemory& memory, Instant now);

/// They wait as the others do: with the priority that they had, or before all others where that is
/// not known, until it is. Forgets jobs that wait no more, and releases that lasted a minute.
void let_held_wait(std::vector<SlurmJob>& jobs, HeldMemory& memory, Instant now);

}  // namespace cleave
