#pragma once
// Arrays with a limit on the jobs that run at a time: a scheduler hears of no more than that, the
// first ones, and of the next when one of these is over. So no scheduler can start too many, and
// what waits here is in no other job's way.

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "engine/queue/job_queue.hpp"

namespace cleave {

/// Of an array of jobs: which, and how many of its jobs may run at a time.
struct ArrayShare {
  std::uint64_t array = 0;
  std::int64_t at_once = 0;  // 0: all, as of jobs that are in no array
};

/// What is known of the arrays of jobs, beside JobFacts: the engine alone heeds it.
class ArrayFacts {
 public:
  virtual ~ArrayFacts() = default;
  /// Never changes.
  [[nodiscard]] virtual ArrayShare array(JobId job) const = 0;
};

/// Keeps back what is beyond an array's share. Of a gang it knows the leader only.
class ArrayGate {
 public:
  /// `facts` may be null, where there are no arrays, and must outlive it.
  explicit ArrayGate(const ArrayFacts* facts) : facts_(facts) {}

  /// Whether the scheduler may hear of the job, which waits, now; it knows it already, or does
  /// from now on. Otherwise the job waits here with this request.
  [[nodiscard]] bool enter(JobId job, RequestId request);
  /// The job runs, however many do.
  void adopt(JobId job);
  /// The job is over, or waits no more.
  void leave(JobId job);
  /// Takes out the job that may go now; nothing where there is none. Of the array of this job.
  [[nodiscard]] std::optional<Waiting> next(JobId job);
  [[nodiscard]] bool holds(JobId job) const;
  /// No array has come so far: nothing need be asked.
  [[nodiscard]] bool idle() const { return arrays_.empty(); }

 private:
  /// One array.
  struct Array {
    std::set<JobId> known;             // to the scheduler, waiting or running
    std::map<JobId, RequestId> waits;  // here, in the order of submission
  };
  [[nodiscard]] ArrayShare share_of(JobId job) const {
    return facts_ == nullptr ? ArrayShare{} : facts_->array(job);
  }
  [[nodiscard]] static bool has_room(const Array& array, const ArrayShare& share) {
    return static_cast<std::int64_t>(array.known.size()) < share.at_once;
  }

  const ArrayFacts* facts_;
  std::map<std::uint64_t, Array> arrays_;  // that have a limit
};

}  // namespace cleave
