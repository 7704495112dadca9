#include "slurm/held_jobs.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace cleave {

namespace {

constexpr Duration release_pause = std::chrono::seconds(10);
constexpr Duration lasting = std::chrono::minutes(1);  // of a release: counts were the reason
constexpr int most_releases = 5;

bool has_enough(const SlurmNode& node, const SlurmJob& job) {
  return std::ranges::all_of(
      job.asks, [&](const auto& ask) { return count_of(node.has, ask.first) >= ask.second; });
}

/// All nodes that it names, and as many as it needs.
bool nodes_have_enough(const SlurmJob& job, const SlurmSight& sight, const std::string& but) {
  std::set<std::string> enough;
  for (const SlurmNode& node : sight.nodes)
    if (!names(but, node.name) && has_enough(node, job)) enough.insert(node.name);
  return std::cmp_greater_equal(enough.size(), job.nodes) &&
         std::ranges::all_of(nodes_of_list(job.wanted_nodes),
                             [&](const std::string& name) { return enough.contains(name); });
}

}  // namespace

bool held_by_counts(const SlurmJob& job) {
  return job.state == SlurmJobState::pending && job.priority == 0 &&
         job.reason == "BadConstraints" && sum_of(job.asks) > 0;
}

std::vector<std::int64_t> jobs_to_release(const SlurmSight& sight,
                                          const std::string& template_nodes,
                                          const HeldMemory& memory, Instant now) {
  std::vector<std::int64_t> jobs;
  for (const SlurmJob& job : sight.jobs) {
    if (!held_by_counts(job)) continue;
    const auto before = memory.released.find(job.number);
    const bool may =
        before == memory.released.end() ||
        (before->second.times < most_releases && now - before->second.last >= release_pause);
    if (may && nodes_have_enough(job, sight, template_nodes)) jobs.push_back(job.number);
  }
  return jobs;
}

void let_held_wait(std::vector<SlurmJob>& jobs, HeldMemory& memory, Instant now) {
  constexpr auto unknown = std::numeric_limits<std::int64_t>::max();
  HeldMemory still;
  for (SlurmJob& job : jobs) {
    if (job.state != SlurmJobState::pending) continue;
    const auto released = memory.released.find(job.number);
    if (released != memory.released.end() &&
        (job.priority == 0 || now - released->second.last < lasting))
      still.released.insert(*released);
    const auto before = memory.priority.find(job.number);
    const bool ours = held_by_counts(job) &&
                      (released == memory.released.end() || released->second.times < most_releases);
    if (ours) job.priority = before == memory.priority.end() ? unknown : before->second;
    if (job.priority > 0 && job.priority < unknown) still.priority[job.number] = job.priority;
  }
  memory = std::move(still);
}

}  // namespace cleave
