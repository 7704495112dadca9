#pragma once
// `dyna-p`'s last resort: which GPU to empty and cut again so that waiting jobs run that no GPU can
// take as it is (*Dyna-P*, 3.2). Decides; carries nothing out.
//
// Candidates are all batches that fit on a GPU by slices and have a layout beside its running jobs
// once those start again elsewhere on it. Each is weighed by reconfigure_last.hpp; the one whose
// jobs gain most over what is lost is the answer.

#include <optional>
#include <vector>

#include "engine/schedulers/dyna_p_jobs.hpp"
#include "engine/seats.hpp"

namespace cleave {

/// A GPU to be emptied, and what it then runs.
struct Restart {
  GpuId gpu{};
  std::vector<JobId> jobs;          // first those that run there now, then the batch
  std::vector<PlacementId> places;  // of each
  std::size_t active = 0;           // how many run there now
  Duration gain{};                  // C_w - C_r
};

/// What the decision looks at.
struct LastResortView {
  const Seats& seats;
  const DynaPJobs& jobs;
  const DynaPOptions& options;
  const JobFacts* facts = nullptr;
};

/// Looks over a fleet for the best GPU to empty, at one moment and for one priority.
class LastResort {
 public:
  LastResort(const LastResortView& view, Instant now, std::int64_t priority)
      : view_(view), now_(now), priority_(priority) {}

  /// Weighs every batch of one GPU. `shapes` are those that fit its free slices by count, `fixed`
  /// is what stays on it whatever happens.
  void consider(GpuId gpu, std::span<const BatchShape> shapes, StateId fixed, int w);
  /// The best of what was considered; empty where nothing is worth it.
  [[nodiscard]] const std::optional<Restart>& best() const { return best_; }

 private:
  [[nodiscard]] std::optional<std::vector<ActiveJob>> active(const std::vector<JobId>& jobs) const;
  [[nodiscard]] bool hopeless(std::size_t kind, const std::vector<ActiveJob>& active,
                              const BatchQueue& queue, int w);
  [[nodiscard]] ReconfigureDecision weigh(std::size_t kind, const std::vector<ActiveJob>& active,
                                          const Batch& batch);
  /// How long until a GPU of the model has room for this profile, if nobody is stopped.
  [[nodiscard]] Duration until_room(std::size_t kind, int profile);
  [[nodiscard]] std::vector<Duration> first_room(std::size_t kind) const;

  LastResortView view_;
  Instant now_;
  std::int64_t priority_;
  std::map<std::size_t, std::vector<Duration>> until_room_;  // by kind: by profile
  std::optional<Restart> best_;
};

}  // namespace cleave
