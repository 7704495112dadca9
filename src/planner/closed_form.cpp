// The least number of GPUs without search, with the weights that prove it.

#include <algorithm>

#include "base/format.hpp"
#include "placement/admission.hpp"
#include "planner/optimal.hpp"
#include "planner/seating.hpp"

namespace cleave {

namespace {

/// The only profile that satisfies each request, as an index into the geometry's list. Empty if a
/// request has several.
std::optional<std::vector<std::size_t>> profiles_of_requests(const PlanProblem& problem) {
  const Geometry& geometry = problem.graphs.front()->geometry();
  const auto profiles = geometry.profile_list();
  std::vector<std::size_t> list;
  for (const ResolvedRequest& request : problem.requests) {
    const PlacementSet candidates = request.candidates.front();
    if (candidates.empty()) return std::nullopt;
    const Profile* profile = geometry[candidates.first()].profile;
    for (const PlacementId id : candidates)
      if (geometry[id].profile != profile) return std::nullopt;
    list.push_back(
        static_cast<std::size_t>(std::ranges::find(profiles, profile) - profiles.begin()));
  }
  return list;
}

/// "7g.40gb 8, 4g.20gb 4"
std::string weights_text(const AdmissionTable& table, std::size_t k) {
  std::string text;
  const auto names = table.graph().geometry().profile_names();
  for (std::size_t p = 0; p < table.profiles(); ++p)
    if (table.weight(k, p) > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", names[p], table.weight(k, p));
  return text;
}

std::string weights_proof(const AdmissionTable& table, std::size_t k, std::int64_t wanted,
                          std::int64_t room) {
  const std::int64_t empty = table.most(0)[k];
  const std::string held =
      room == 0 ? "" : fmt::format("; GPUs that stay in use have room for {} of it", room);
  return fmt::format(
      "closed form: weigh {}; what is to be placed weighs {}{}, and an empty GPU holds at most {}",
      weights_text(table, k), wanted, held, empty);
}

}  // namespace

std::optional<ClosedForm> closed_form(const PlanProblem& problem) {
  if (problem.graphs.size() != 1 || problem.limits.migrations || problem.limits.moved_mib ||
      std::ranges::any_of(problem.workloads, [](const PlanWorkload& w) { return w.rule != none; }))
    return std::nullopt;
  const auto profiles = profiles_of_requests(problem);
  if (!profiles) return std::nullopt;
  const auto table = AdmissionTable::make(problem.graphs.front());
  if (!table) return std::nullopt;

  // Work that stays is part of the GPUs' states; all other work is demand.
  std::vector<PlacementSet> fixed;
  for (const PlanGpu& gpu : problem.gpus) fixed.push_back(gpu.walls);
  Demand demand(table->profiles(), 0);
  for (const PlanWorkload& work : problem.workloads) {
    if (work.stays) {
      fixed[index(work.now->gpu)].insert(work.now->placement);
    } else {
      ++demand[(*profiles)[index(work.request)]];
    }
  }
  AdmissionSums sums(*table);
  std::int64_t in_use = 0;
  std::vector<std::int64_t> room(table->weights(), 0);
  for (const PlacementSet state : fixed) {
    if (state.empty()) continue;
    ++in_use;
    const StateId id = problem.graphs.front()->find(state);
    sums.add(id);
    for (std::size_t k = 0; k < room.size(); ++k) room[k] += table->most(id)[k];
  }
  const std::int64_t more = sums.missing(demand);
  if (in_use + more > static_cast<std::int64_t>(problem.gpus.size())) return std::nullopt;

  ClosedForm answer{in_use + more, ""};
  if (more == 0) {
    answer.proof = in_use == 0
                       ? "closed form: there is nothing to place"
                       : "closed form: what is to be placed fits on the GPUs that must stay in use";
    return answer;
  }
  // Among the weights that prove the number, prefer those with the smallest values: they are the
  // easiest to check by hand.
  std::optional<std::int64_t> smallest;
  for (std::size_t k = 0; k < room.size(); ++k) {
    std::int64_t wanted = 0;
    for (std::size_t p = 0; p < demand.size(); ++p) wanted += table->weight(k, p) * demand[p];
    const std::int64_t empty = table->most(0)[k];
    if (wanted <= room[k] || (wanted - room[k] + empty - 1) / empty != more) continue;
    if (smallest && empty >= *smallest) continue;
    smallest = empty;
    answer.proof = weights_proof(*table, k, wanted, room[k]);
  }
  return answer;
}

}  // namespace cleave
