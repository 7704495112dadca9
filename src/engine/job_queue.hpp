#pragma once
// Jobs that wait: those of higher priority first, equal ones in the order in which they were
// submitted. One that returns - out of memory, stopped, its GPU lost - takes its old place again.

#include <algorithm>
#include <deque>

#include "engine/job_facts.hpp"

namespace cleave {

/// A job that waits, and what it asks for.
struct Waiting {
  JobId job;
  RequestId request;
};

/// The queue of a scheduler that looks at its jobs one after the other.
class JobQueue {
 public:
  /// `facts`, which say what priority jobs have, may be null and must outlive the queue.
  explicit JobQueue(const JobFacts* facts) : facts_(facts) {}

  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  [[nodiscard]] const Waiting& front() const { return jobs_.front().waiting; }
  /// Whether the job, which does not wait here, would be the first.
  [[nodiscard]] bool would_lead(JobId job) const {
    return jobs_.empty() || rank_of(facts_, job) < jobs_.front().rank();
  }

  void pop_front() { jobs_.pop_front(); }
  /// Nothing where it does not wait.
  void erase(JobId job) {
    const auto found = std::ranges::lower_bound(jobs_, rank_of(facts_, job), {}, &Entry::rank);
    if (found != jobs_.end() && found->waiting.job == job) jobs_.erase(found);
  }
  void insert(Waiting waiting) {
    const Entry entry{waiting, rank_of(facts_, waiting.job).priority};
    if (jobs_.empty() || jobs_.back().rank() < entry.rank()) {
      jobs_.push_back(entry);
    } else {
      jobs_.insert(std::ranges::lower_bound(jobs_, entry.rank(), {}, &Entry::rank), entry);
    }
  }

 private:
  /// A waiting job with its priority, which is asked for once.
  struct Entry {
    Waiting waiting;
    std::int64_t priority;
    [[nodiscard]] JobRank rank() const { return {priority, waiting.job}; }
  };

  const JobFacts* facts_;
  std::deque<Entry> jobs_;
};

}  // namespace cleave
