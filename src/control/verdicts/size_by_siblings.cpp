#include "control/verdicts/size_by_siblings.hpp"

#include <algorithm>
#include <variant>

#include "base/format.hpp"

namespace cleave {

namespace {

/// Whether its user left the size to us, and its array may say it.
bool is_open(const JobRecord& job) {
  return job.spec.task && std::holds_alternative<Unknown>(job.spec.request.wanted);
}

bool asks_for_less(const Request& request, MiB size) {
  const auto* by_size = std::get_if<BySize>(&request.wanted);
  return by_size == nullptr || by_size->memory < size;
}

}  // namespace

std::vector<JobNumber> to_be_sized(const NodeState& node, const LiveJob& ended, MiB size) {
  std::vector<JobNumber> all;
  const auto& task = ended.record.spec.task;
  if (!task || !is_open(ended.record)) return all;
  for (auto at = node.jobs.lower_bound(task->job); at != node.jobs.end() && at->first <= task->last;
       ++at) {
    const LiveJob& job = at->second;
    const JobRecord& record = job.record;
    if (record.leader != 0 || record.state != JobState::queued || record.attempts > 0 ||
        job.place || !is_open(record) || !asks_for_less(record.request, size))
      continue;
    all.push_back(at->first);
  }
  return all;
}

std::string size_from_siblings(const JobRecord& job) {
  const auto* by_size = std::get_if<BySize>(&job.request.wanted);
  if (!is_open(job) || by_size == nullptr) return {};
  return fmt::format("{} MiB, as jobs of array {} that have ended held, and a twentieth more",
                     by_size->memory.value, job.spec.task->job);
}

}  // namespace cleave
