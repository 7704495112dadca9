// Why there is no plan, or why a workload is left waiting, in words that name what is in the way.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "planner/planner.hpp"
#include "planner/seating.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_named = 5;

std::string names_of(const PlanProblem& problem, const std::vector<WorkloadIndex>& workloads) {
  std::string text;
  for (std::size_t i = 0; i < workloads.size() && i < most_named; ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", shown(problem.workloads[workloads[i]].name));
  if (workloads.size() > most_named)
    text += fmt::format(" and {} more", workloads.size() - most_named);
  return text;
}

/// Where a workload could go if only work that must stay were there.
struct Room {
  std::size_t allowed = 0;          // GPUs that its pin, forbidden GPUs and profile leave
  std::size_t open = 0;             // of these, GPUs with room beside work that must stay
  std::set<std::uint32_t> domains;  // of its group, among the open ones
};

Room room_for(const PlanProblem& problem, const Seating& fixed, WorkloadIndex workload) {
  Room room;
  const std::uint32_t rule = problem.workloads[workload].rule;
  const std::uint32_t group = rule == none ? none : problem.rules[rule].group;
  for (std::size_t i = 0; i < problem.gpus.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    if (problem.wanted(workload, problem.gpus[i].kind).empty() || !problem.allows(workload, gpu))
      continue;
    ++room.allowed;
    if (fixed.places(workload, gpu).empty()) continue;
    ++room.open;
    if (group != none) room.domains.insert(problem.domain(group, gpu));
  }
  return room;
}

std::string where_it_may_be(const PlanProblem& problem, WorkloadIndex workload) {
  const std::uint32_t number = problem.workloads[workload].rule;
  if (number != none) {
    const PlanRule& rule = problem.rules[number];
    if (rule.pin_gpu != none) return std::string(problem.gpus[rule.pin_gpu].name);
    if (rule.pin_node != none) return fmt::format("node {}", problem.nodes[rule.pin_node]);
    if (!rule.forbidden_gpus.empty() || !rule.forbidden_nodes.empty())
      return "the GPUs that are not forbidden to it";
  }
  return "the GPUs of the fleet";
}

std::string no_room(const PlanProblem& problem, WorkloadIndex workload, const Room& room) {
  if (room.allowed == 0) {
    const PlanRule& rule = problem.rules[problem.workloads[workload].rule];
    if (rule.pin_gpu == none && rule.pin_node == none)
      return "the GPUs that are not forbidden to it have no instance of its size";
    return fmt::format(
        "it is pinned to {}, which has no instance of its size or is forbidden to it",
        where_it_may_be(problem, workload));
  }
  return fmt::format("what must stay on {} leaves no room for it",
                     where_it_may_be(problem, workload));
}

std::vector<WorkloadIndex> members_of(const PlanProblem& problem, std::uint32_t group) {
  std::vector<WorkloadIndex> members;
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i) {
    const std::uint32_t rule = problem.workloads[i].rule;
    if (rule != none && problem.rules[rule].group == group) members.push_back(i);
  }
  return members;
}

/// Running work that may not stay where it is: each of these workloads has to move.
std::vector<WorkloadIndex> must_move(const PlanProblem& problem) {
  std::vector<WorkloadIndex> list;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> members;
  const auto group_at = [&](const PlanWorkload& work) {
    const std::uint32_t group = work.rule == none ? none : problem.rules[work.rule].group;
    return std::pair(group, group == none ? none : problem.domain(group, work.now->gpu));
  };
  for (const PlanWorkload& work : problem.workloads)
    if (work.now && work.stays) ++members[group_at(work)];
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i) {
    const PlanWorkload& work = problem.workloads[i];
    if (!work.now || work.stays) continue;
    const auto key = group_at(work);
    if (!problem.allows(i, work.now->gpu) || (key.first != none && members[key] > 0)) {
      list.push_back(i);
    } else {
      ++members[key];
    }
  }
  return list;
}

/// "'b' has to be on n0/0 and is not": for each workload, what keeps it from its present place.
std::string kept_off(const PlanProblem& problem, const std::vector<WorkloadIndex>& movers) {
  const WorkloadIndex first = movers.front();
  const PlanWorkload& work = problem.workloads[first];
  const std::string here(problem.gpus[index(work.now->gpu)].name);
  const std::string others =
      movers.size() == 1 ? "" : fmt::format(", as have {} more", movers.size() - 1);
  if (problem.allows(first, work.now->gpu))
    return fmt::format("'{}' has to leave {}, where another of group '{}' is{}", shown(work.name),
                       here, shown(problem.groups[problem.rules[work.rule].group].name), others);
  return fmt::format("'{}' has to leave {} for {}{}", shown(work.name), here,
                     where_it_may_be(problem, first), others);
}

std::string limits_text(const PlanLimits& limits) {
  std::string text;
  if (limits.migrations) text = counted(static_cast<std::size_t>(*limits.migrations), "migration");
  if (limits.moved_mib)
    text += fmt::format("{}{} MiB moved", text.empty() ? "" : " or ", *limits.moved_mib);
  return text;
}

}  // namespace

std::string why_impossible(const PlanProblem& problem) {
  const Seating fixed = Seating::of_what_stays(problem);
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i) {
    const PlanWorkload& work = problem.workloads[i];
    if (!work.now || work.stays) continue;
    const Room room = room_for(problem, fixed, i);
    if (room.open == 0)
      return fmt::format("'{}' runs and must find a place, but {}", shown(work.name),
                         no_room(problem, i, room));
  }
  for (std::uint32_t g = 0; g < problem.groups.size(); ++g) {
    std::vector<WorkloadIndex> running;
    std::set<std::uint32_t> domains;
    for (const WorkloadIndex i : members_of(problem, g)) {
      const PlanWorkload& work = problem.workloads[i];
      if (!work.now || work.stays) continue;
      running.push_back(i);
      domains.merge(room_for(problem, fixed, i).domains);
    }
    if (running.size() > domains.size())
      return fmt::format(
          "group '{}' has {} running members to keep apart ({}), and {} where they may be",
          shown(problem.groups[g].name), running.size(), names_of(problem, running),
          counted(domains.size(), problem.groups[g].over_nodes ? "node" : "GPU"));
  }
  const std::vector<WorkloadIndex> movers = must_move(problem);
  std::int64_t mib = 0;
  for (const WorkloadIndex i : movers) mib += problem.workloads[i].moved_mib;
  if (problem.limits.migrations &&
      static_cast<std::int64_t>(movers.size()) > *problem.limits.migrations)
    return fmt::format("{} may not stay where it is, more than the {} that may move",
                       names_of(problem, movers), *problem.limits.migrations);
  if (problem.limits.moved_mib && mib > *problem.limits.moved_mib)
    return fmt::format("{} may not stay where it is; moving it takes {} MiB, and {} MiB may move",
                       names_of(problem, movers), mib, *problem.limits.moved_mib);
  if (!movers.empty() && (problem.limits.migrations || problem.limits.moved_mib))
    return fmt::format("{}, and making room for it takes more than {}", kept_off(problem, movers),
                       limits_text(problem.limits));
  if (!movers.empty())
    return fmt::format(
        "{}, and other work that may only be there, or must stay there, leaves no room",
        kept_off(problem, movers));
  return "the constraints of running work contradict each other";
}

namespace {

/// Domains with room for any member of the group.
std::set<std::uint32_t> domains_for(const PlanProblem& problem, const Seating& fixed,
                                    std::uint32_t group) {
  std::set<std::uint32_t> domains;
  for (const WorkloadIndex i : members_of(problem, group))
    if (!problem.workloads[i].stays) domains.merge(room_for(problem, fixed, i).domains);
  return domains;
}

std::string why_pending(const PlanProblem& problem, const Seating& fixed, WorkloadIndex workload) {
  const PlanWorkload& work = problem.workloads[workload];
  if (work.now) return "it is stopped, since the objectives are better without it";
  const Room room = room_for(problem, fixed, workload);
  if (room.open == 0) return no_room(problem, workload, room);
  const std::uint32_t group = work.rule == none ? none : problem.rules[work.rule].group;
  if (group != none) {
    const std::size_t domains = domains_for(problem, fixed, group).size();
    const auto members = std::ranges::count_if(
        members_of(problem, group), [&](WorkloadIndex i) { return !problem.workloads[i].stays; });
    if (static_cast<std::size_t>(members) > domains)
      return fmt::format("group '{}' has {} members to keep apart, and {} with room for them",
                         shown(problem.groups[group].name), members,
                         counted(domains, problem.groups[group].over_nodes ? "node" : "GPU"));
  }
  return fmt::format("other work takes the room on {}", where_it_may_be(problem, workload));
}

}  // namespace

std::vector<Pending> pending_work(const PlanProblem& problem, const Goal& goal) {
  std::vector<Pending> list;
  std::map<std::tuple<RequestId, std::uint32_t, bool>, std::string> reasons;
  std::optional<Seating> fixed;
  for (WorkloadIndex i = 0; i < goal.size(); ++i) {
    if (goal[i]) continue;
    if (!fixed) fixed = Seating::of_what_stays(problem);
    const PlanWorkload& work = problem.workloads[i];
    const auto [found, fresh] =
        reasons.try_emplace({work.request, work.rule, work.now.has_value()});
    if (fresh) found->second = why_pending(problem, *fixed, i);
    list.push_back({i, found->second});
  }
  return list;
}

}  // namespace cleave
