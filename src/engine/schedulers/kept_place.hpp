#pragma once
// The place that `dyna-p` keeps free for the job that waits longest, once enough later ones have
// started before it: so no job waits for ever, and what else is free is not held back. The paper
// promises no turn ("smaller jobs are prioritized", *Dyna-P*, 3.2.1); this is the reservation of
// backfilling schedulers, without a use of the place meanwhile, since predicted ends may be wrong.

#include <optional>

#include "engine/schedulers/dyna_p_jobs.hpp"
#include "engine/seats.hpp"

namespace cleave {

/// A place, and the waiting job that it is kept for. Jobs of higher priority may take it.
struct KeptPlace {
  JobId job{};
  std::int64_t priority = 0;
  GpuId gpu{};
  PlacementId placement = 0;
};

/// Of the placements of one GPU, all or some of which may be considered, the one in which a job
/// ends first: when those in its way have ended, by what is predicted, and its own time there has
/// passed. Where that is unknown, the one with the fewest jobs in its way. Then the lowest GPU and
/// the smallest partition.
class SoonestPlace {
 public:
  /// For this waiting job.
  SoonestPlace(const Seats& seats, const DynaPJobs& jobs, JobId job, Instant now)
      : seats_(seats), jobs_(jobs), job_(job), now_(now) {}

  /// `fixed` is what stays on the GPU whatever happens.
  void consider(GpuId gpu, StateId fixed);
  /// Empty where no GPU that was considered will have room.
  [[nodiscard]] const std::optional<KeptPlace>& best() const { return best_; }

 private:
  const Seats& seats_;
  const DynaPJobs& jobs_;
  JobId job_;
  Instant now_;
  std::optional<KeptPlace> best_;
  Instant best_end_ = Instant::max();
  std::size_t best_in_way_ = 0;
};

/// The state that others see while `kept` is kept free: what is occupied, and on all that remains
/// of the place the smallest instances that go there.
[[nodiscard]] StateId keeping_free(const StateGraph& graph, StateId occupied, PlacementId kept);

}  // namespace cleave
