#pragma once
// What a completion-time model is worth on jobs that it has not seen: the jobs are dealt into
// folds, whole groups of them where there are groups, and each fold is predicted by a model of the
// others.

#include <vector>

#include "forecast/time/completion_time.hpp"

namespace cleave {

struct HeldOutTime {
  std::size_t row = 0, fold = 0;
  double measured = 0, trees = 0, nearest = 0,
         linear = 0;      // seconds; linear 0 where it cannot be told
  bool in_range = false;  // of the jobs that the model was made of
  double distance = 0;    // from the nearest of them
};

class HeldOutTimes {
 public:
  /// Every job once.
  [[nodiscard]] static Result<std::vector<HeldOutTime>> of(const MeasuredJobs& jobs,
                                                           const CompletionTimeOptions& options);
  /// Fold of every row: from 0 on, as many as options.folds says or as there are groups. Drawn by
  /// the seed.
  [[nodiscard]] static std::vector<std::size_t> deal(const MeasuredJobs& jobs, int folds,
                                                     std::uint64_t seed);
  /// Sets interval, reach and figures. Refuses where too few jobs could be answered to say
  /// anything.
  [[nodiscard]] static Result<void> settle(const MeasuredJobs& jobs, std::vector<HeldOutTime> times,
                                           const CompletionTimeOptions& options,
                                           CompletionTime& model);

 private:
  /// How large errors are where, and how many of those the interval takes in.
  [[nodiscard]] static Result<void> settle_interval(const MeasuredJobs& jobs,
                                                    const std::vector<HeldOutTime>& answered,
                                                    CompletionTime& model);
};

}  // namespace cleave
