#include "simulate/awaiting_jobs.hpp"

namespace cleave {

AwaitingJobs::AwaitingJobs(const Workload& workload) : order_(start_order_of(workload)) {
  if (!counts()) return;
  const std::size_t jobs = workload.jobs.size();
  standing_.resize(jobs);
  groups_of_.resize(jobs);
  waiting_.resize(order_.groups.size());
  for (std::uint32_t group = 0; group < order_.groups.size(); ++group) {
    left_.push_back(order_.groups[group].size());
    for (const std::uint32_t job : order_.groups[group]) groups_of_[job].push_back(group);
  }
  for (std::uint32_t job = 0; job < jobs; ++job)
    for (const JobsOrder::Awaited& each : order_.awaited[job]) {
      waiting_[each.group].push_back({job, each.on});
      ++standing_[job].unmet;
    }
}

bool AwaitingJobs::comes(std::uint32_t job) {
  Standing& standing = standing_[job];
  if (standing.unmet == 0 && !standing.missed) return true;
  standing.here = true;
  if (standing.missed) free(job);
  return false;
}

void AwaitingJobs::free(std::uint32_t job) {
  if (!standing_[job].here) return;
  standing_[job].here = false;
  freed_.push_back({job, !standing_[job].missed});
}

void AwaitingJobs::ended(std::uint32_t job, bool well) {
  for (const std::uint32_t group : groups_of_[job]) {
    --left_[group];
    for (const Tie& tie : waiting_[group]) {
      Standing& standing = standing_[tie.other];
      if (tie.on != Dependency::On::any && (tie.on == Dependency::On::ok) != well)
        standing.missed = true;
      if (left_[group] == 0) --standing.unmet;
      if (standing.missed || standing.unmet == 0) free(tie.other);
    }
  }
}

}  // namespace cleave
