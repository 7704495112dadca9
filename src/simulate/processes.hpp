#pragma once
// The processes of a workload's jobs: as many as a job asks for places. The first has the number of
// its job, the others have numbers behind those of all jobs (Gang in engine/job_facts.hpp).

#include <cstdint>
#include <vector>

#include "engine/job_facts.hpp"
#include "model/job.hpp"

namespace cleave {

/// More processes than a workload may have, of all its jobs together; what is kept of each takes
/// about a hundred bytes.
inline constexpr std::size_t too_many_processes = 100'000'000;

/// The places that the job asks for.
inline std::uint32_t places_of(const Workload& workload, const Job& job) {
  return workload.requests[job.request].places;
}

[[nodiscard]] std::size_t count_processes(const Workload& workload);

/// The numbers of the processes of one workload, which may not grow.
class Processes {
 public:
  explicit Processes(const Workload& workload);

  [[nodiscard]] std::size_t size() const { return jobs_ + leaders_.size(); }
  /// Whether any job has several.
  [[nodiscard]] bool any_gang() const { return !leaders_.empty(); }
  /// The job of which this is a process.
  [[nodiscard]] JobId job_of(JobId process) const {
    return index(process) < jobs_ ? process : leaders_[index(process) - jobs_];
  }
  /// Whether its job has others.
  [[nodiscard]] bool in_gang(JobId process) const { return any_gang() && gang(process).size > 1; }
  [[nodiscard]] Gang gang(JobId process) const;
  /// Its place among the processes of its job.
  [[nodiscard]] std::uint32_t rank(JobId process) const;

 private:
  std::size_t jobs_;
  std::vector<JobId> leaders_;              // of the processes behind all jobs
  std::vector<std::uint32_t> others_from_;  // by job, where its others are; empty: no job has any
};

}  // namespace cleave
