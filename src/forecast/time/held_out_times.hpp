#pragma once
// How accurate a completion-time model is on unseen jobs: the jobs are divided into folds, keeping
// groups together, and each fold is predicted by a model of the others.

#include <vector>

#include "forecast/time/completion_time.hpp"

namespace cleave {

/// The prediction of one job by a model that did not see it.
struct HeldOutTime {
  std::size_t row = 0, fold = 0;
  double measured = 0, trees = 0, nearest = 0,
         linear = 0;      // seconds; linear 0 where it cannot be told
  bool in_range = false;  // of the jobs that the model was made from
  double distance = 0;    // from the nearest of them
};

/// The predictions of every job.
class HeldOutTimes {
 public:
  /// Every job once.
  [[nodiscard]] static Result<std::vector<HeldOutTime>> of(const MeasuredJobs& jobs,
                                                           const CompletionTimeOptions& options);
  /// The fold of every row: as many folds as options.folds says or as there are groups. Drawn from
  /// the seed.
  [[nodiscard]] static std::vector<std::size_t> deal(const MeasuredJobs& jobs, int folds,
                                                     std::uint64_t seed);
  /// Sets interval, reach and figures. Refuses if too few jobs could be answered.
  [[nodiscard]] static Result<void> settle(const MeasuredJobs& jobs, std::vector<HeldOutTime> times,
                                           const CompletionTimeOptions& options,
                                           CompletionTime& model);

 private:
  /// How the size of errors varies, and how many of those the interval covers.
  [[nodiscard]] static Result<void> settle_interval(const MeasuredJobs& jobs,
                                                    const std::vector<HeldOutTime>& answered,
                                                    CompletionTime& model);
};

}  // namespace cleave
