#pragma once
// What the simulator tells the engine of arrays: which job is a task of which, from the workload.

#include <map>
#include <string_view>
#include <vector>

#include "engine/array_gate.hpp"
#include "model/job.hpp"
#include "simulate/processes.hpp"

namespace cleave {

/// The arrays of a workload, which must outlive this.
class KnownArrays final : public ArrayFacts {
 public:
  KnownArrays(const Workload& workload, const Processes& processes)
      : workload_(&workload), processes_(&processes) {
    std::map<std::string_view, std::uint64_t> numbers;
    for (const JobDetails& details : workload.details) {
      const StartTerms& start = details.start;
      if (start.task_of.empty() || start.at_once == 0) continue;
      shares_.resize(workload.details.size());
      const auto number = numbers.try_emplace(start.task_of, numbers.size() + 1).first->second;
      shares_[static_cast<std::size_t>(&details - workload.details.data())] = {number,
                                                                               start.at_once};
    }
  }

  /// Whether any has a limit.
  [[nodiscard]] bool any() const { return !shares_.empty(); }
  [[nodiscard]] ArrayShare array(JobId process) const override {
    const Job& job = workload_->jobs[index(processes_->job_of(process))];
    return shares_.empty() || job.details == Job::none ? ArrayShare{} : shares_[job.details];
  }

 private:
  const Workload* workload_;
  const Processes* processes_;
  std::vector<ArrayShare> shares_;  // by Workload::details; empty: none has a limit
};

}  // namespace cleave
