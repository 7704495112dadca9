#pragma once
// The jobs that wait for GPUs of one model, in order, and the first of them as the search for a
// batch sees them: *Dyna-P*, 3.2.1, "the number of jobs considered for scheduling at a time".
//
// A job gets its plan when it comes into the window, so that plans are made for few jobs however
// many wait.

#include <functional>
#include <map>

#include "engine/schedulers/batch_search.hpp"

namespace cleave {

/// A queue of which the search sees the first `most` jobs.
class JobWindow {
 public:
  /// What the job is to have; asked for when it comes into the window and when plans are made
  /// again.
  using Plan = std::function<QueuedJob(JobId)>;

  /// `kinds` and `widest` as in BatchQueue; `most` is at least 1.
  JobWindow(int kinds, int widest, std::size_t most, Plan plan);

  void insert(QueueRank rank, JobId job);
  void erase(QueueRank rank);
  /// The plan of this job is made again, if it is in the window.
  void plan_again(QueueRank rank);
  /// The plans of all jobs in the window are.
  void plan_all_again();

  [[nodiscard]] const BatchQueue& queue() const { return queue_; }
  /// The first job's, null without jobs.
  [[nodiscard]] const QueuedJob* first() const {
    return inside_.empty() ? nullptr : &inside_.begin()->second;
  }

 private:
  using Inside = std::map<QueueRank, QueuedJob>;
  void enter(QueueRank rank, JobId job);
  void replace(QueuedJob& job);

  std::size_t most_;
  Plan plan_;
  BatchQueue queue_;
  Inside inside_;
  std::map<QueueRank, JobId> outside_;  // all after those inside
};

}  // namespace cleave
