#include "simulate/processes.hpp"

#include <algorithm>

namespace cleave {

namespace {

bool asks_for_several(const Workload& workload) {
  return std::ranges::any_of(workload.requests,
                             [](const Request& request) { return request.places > 1; });
}

}  // namespace

std::size_t count_processes(const Workload& workload) {
  if (!asks_for_several(workload)) return workload.jobs.size();
  std::size_t count = 0;
  for (const Job& job : workload.jobs) count += places_of(workload, job);
  return count;
}

Processes::Processes(const Workload& workload) : jobs_(workload.jobs.size()) {
  if (!asks_for_several(workload)) return;
  leaders_.reserve(count_processes(workload) - jobs_);
  others_from_.reserve(jobs_ + 1);
  for (std::size_t i = 0; i < jobs_; ++i) {
    others_from_.push_back(static_cast<std::uint32_t>(jobs_ + leaders_.size()));
    leaders_.insert(leaders_.end(), places_of(workload, workload.jobs[i]) - 1,
                    static_cast<JobId>(i));
  }
  others_from_.push_back(static_cast<std::uint32_t>(size()));
}

Gang Processes::gang(JobId process) const {
  const JobId leader = job_of(process);
  if (!any_gang()) return {leader, leader, 1};
  const std::uint32_t from = others_from_[index(leader)], to = others_from_[index(leader) + 1];
  return {leader, static_cast<JobId>(from), to - from + 1};
}

std::uint32_t Processes::rank(JobId process) const {
  if (index(process) < jobs_) return 0;
  return static_cast<std::uint32_t>(index(process)) - others_from_[index(job_of(process))] + 1;
}

}  // namespace cleave
