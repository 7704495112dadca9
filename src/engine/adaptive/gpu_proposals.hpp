#pragma once
// What could be done with a GPU where jobs may be stopped or moved: the best plan for those that
// run there and a few that wait, held against what is.

#include <optional>
#include <span>
#include <vector>

#include "engine/adaptive/books.hpp"
#include "engine/adaptive/gpu_plan.hpp"
#include "engine/adaptive/place_finder.hpp"

namespace cleave {

inline constexpr std::size_t most_gpus_looked_at = 16;

/// A GPU as it could be.
struct GpuProposal {
  GpuId gpu{};
  std::vector<JobId> jobs;  // those that run there and may be disturbed, and newcomers
  std::vector<PlanJob> as;  // by job
  GpuPlan plan;
  double gain = 0, present = 0;  // what the plan is worth more than what is, and that
  double horizon = 1;            // over this number of seconds
  bool hosted = true;            // the host of its node has room for the plan
};

/// Makes proposals; changes nothing.
class GpuProposals {
 public:
  /// Both must outlive it.
  GpuProposals(Books& books, const PlaceFinder& finder);

  /// With these newcomers, and without the job `but`.
  [[nodiscard]] GpuProposal propose(GpuId gpu, std::span<const JobId> newcomers,
                                    std::optional<JobId> but = std::nullopt);
  /// Of GPUs on which nothing runs, those that are in the same state are asked once.
  [[nodiscard]] std::vector<GpuProposal> propose_all(std::span<const GpuId> gpus,
                                                     std::span<const JobId> wanted);
  /// Whether it gains enough. What disturbs no job need not gain much.
  [[nodiscard]] static bool worth_it(const GpuProposal& it);
  /// Those of the places of the GPU on which it starts, where jobs may be stopped.
  [[nodiscard]] PlacementSet may_start_on(JobId job, GpuId gpu, PlacementSet places) const;
  /// The job that gains most by going to one of the GPUs with least work, if one gains enough.
  [[nodiscard]] std::optional<GpuProposal> best_move();

 private:
  [[nodiscard]] bool fits_host(const GpuProposal& it) const;
  [[nodiscard]] bool host_takes_beside(const GpuProposal& it, JobId more, const PlanJob& as) const;
  [[nodiscard]] double share_of_rate(std::optional<double> rate) const;
  [[nodiscard]] PlanJob as_running(JobId job, GpuId gpu, std::int64_t base);
  [[nodiscard]] PlanJob as_newcomer(JobId job, GpuId gpu, std::int64_t base);
  [[nodiscard]] WorkWorth weighed(JobId job, std::int64_t base) const;
  [[nodiscard]] double stay_worth(JobId job, double horizon) const;

  Books& books_;
  const PlaceFinder& finder_;
  std::vector<GpuPlanner> planners_;  // by GPU model
  std::vector<double> rent_;
};

}  // namespace cleave
