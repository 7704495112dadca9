#pragma once
// Room by moving: which requeueable jobs would be put back in the queue so that a waiting job fits,
// and where they would go on. Nothing is moved without being asked for.
//
// Slurm moves no job: one that is put back starts again from its beginning, or from its own
// checkpoint. So only jobs that Slurm may requeue are taken, with one instance each, as few as
// possible, then those that have run least; and only where each has another place at once.

#include "slurm/node_view.hpp"

namespace cleave {

/// A job that would be put back.
struct CompactMove {
  std::int64_t job = 0;
  std::string shown, from, to;  // "n1/0 1g.5gb@2"
  Duration lost{};              // that it has run
  friend bool operator==(const CompactMove&, const CompactMove&) = default;
};

/// What would be done for one job.
struct CompactPlan {
  std::int64_t job = 0;
  std::string shown, place;  // "n1/0 4g.20gb@0"
  std::vector<CompactMove> moves;
};

/// The plan for this job; nullopt where no `most` moves on one GPU make room for it. For jobs of
/// one instance.
[[nodiscard]] std::optional<CompactPlan> compact_for(const std::vector<NodeView>& views,
                                                     const SlurmJob& job, std::size_t most,
                                                     Instant now);

/// Plans for waiting jobs in Slurm's order, of at most `most` moves together, none of which needs
/// what another takes.
[[nodiscard]] std::vector<CompactPlan> plan_compact(const std::vector<NodeView>& views,
                                                    const std::vector<const SlurmJob*>& waiting,
                                                    std::size_t most, Instant now);

/// Why a job waits, as Cleave sees it.
struct SlurmWhy {
  std::string reason, remedy;
};
[[nodiscard]] SlurmWhy why_waits(const std::vector<NodeView>& views, const SlurmJob& job,
                                 Instant now);

}  // namespace cleave
