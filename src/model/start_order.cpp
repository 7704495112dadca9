#include "model/start_order.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace cleave {

namespace {

constexpr std::array<std::pair<std::string_view, Dependency::On>, 3> words = {
    std::pair("ok", Dependency::On::ok),
    {"failed", Dependency::On::failed},
    {"any", Dependency::On::any}};

/// Finds what names mean; groups are made of those that are asked for.
class Groups {
 public:
  explicit Groups(const Workload& workload) {
    for (std::uint32_t job = 0; job < workload.jobs.size(); ++job) {
      // Services do not end.
      if (workload.kind_of(workload.jobs[job]) == JobKind::service) continue;
      jobs_.emplace(workload.jobs[job].id, job);
      const JobDetails* details = workload.details_of(workload.jobs[job]);
      if (details != nullptr && !details->start.task_of.empty())
        tasks_[details->start.task_of].push_back(job);
    }
  }

  /// A job goes before an array of its name.
  std::optional<std::uint32_t> find(std::string_view name) {
    if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
    if (const auto job = jobs_.find(name); job != jobs_.end()) return add(name, {job->second});
    if (const auto tasks = tasks_.find(name); tasks != tasks_.end())
      return add(name, tasks->second);
    return std::nullopt;
  }

  [[nodiscard]] std::vector<std::vector<std::uint32_t>> finish() && { return std::move(groups_); }

 private:
  std::uint32_t add(std::string_view name, std::vector<std::uint32_t> jobs) {
    groups_.push_back(std::move(jobs));
    return numbers_[name] = static_cast<std::uint32_t>(groups_.size() - 1);
  }

  std::unordered_map<std::string_view, std::uint32_t> jobs_, numbers_;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> tasks_;
  std::vector<std::vector<std::uint32_t>> groups_;
};

}  // namespace

std::optional<std::pair<Dependency::On, std::string_view>> parse_awaited(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon + 1 == text.size()) return std::nullopt;
  for (const auto& [word, on] : words)
    if (text.substr(0, colon) == word) return std::pair(on, text.substr(colon + 1));
  return std::nullopt;
}

JobsOrder start_order_of(const Workload& workload) {
  JobsOrder order;
  if (std::ranges::all_of(workload.details,
                          [](const JobDetails& details) { return details.start.after.empty(); }))
    return order;
  Groups groups(workload);
  order.awaited.resize(workload.jobs.size());
  for (std::size_t job = 0; job < workload.jobs.size(); ++job) {
    const JobDetails* details = workload.details_of(workload.jobs[job]);
    if (details == nullptr) continue;
    bool elsewhere = false;
    for (const std::string& text : details->start.after) {
      const auto awaited = parse_awaited(text);
      if (!awaited) continue;
      const auto group = groups.find(awaited->second);
      if (group) order.awaited[job].push_back({*group, awaited->first});
      elsewhere = elsewhere || !group;
    }
    order.elsewhere += elsewhere ? 1 : 0;
  }
  order.groups = std::move(groups).finish();
  return order;
}

/// Groups are among what waits and is awaited, behind all jobs.
std::vector<std::uint32_t> waiting_circle(const JobsOrder& order) {
  const std::size_t jobs = order.awaited.size();
  std::vector<std::vector<std::size_t>> awaited(jobs + order.groups.size());
  for (std::size_t job = 0; job < jobs; ++job)
    for (const JobsOrder::Awaited& each : order.awaited[job])
      awaited[job].push_back(jobs + each.group);
  for (std::size_t group = 0; group < order.groups.size(); ++group)
    awaited[jobs + group].assign(order.groups[group].begin(), order.groups[group].end());
  std::vector<std::uint32_t> circle;
  for (const std::size_t each : waiting_circle(awaited))
    if (each < jobs) circle.push_back(static_cast<std::uint32_t>(each));
  return circle;
}

}  // namespace cleave
