#include "study/wpm/wpm.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "planner/metrics.hpp"
#include "study/wpm/paper_cases.hpp"

namespace cleave {
namespace {

/// What a GPU can be filled with beside what stays on it: new instances by profile, and the waste
/// then.
struct Filling {
  std::vector<int> added;
  int waste;
  bool used;
};

std::vector<Filling> fillings(const StateGraph& graph, PlacementSet stays) {
  const Geometry& geometry = graph.geometry();
  std::map<std::vector<int>, int> least;
  for (int id = 0; id < graph.size(); ++id) {
    const PlacementSet state = graph.state(static_cast<StateId>(id));
    if ((state & stays) != stays) continue;
    std::vector<int> added(geometry.model().profiles.size(), 0);
    int wasted = 0;
    for (const PlacementId placement : state) wasted += waste(geometry, placement).slices();
    for (const PlacementId placement : state - stays)
      ++added[static_cast<std::size_t>(geometry[placement].profile_index)];
    const auto [at, fresh] = least.try_emplace(added, wasted);
    if (!fresh) at->second = std::min(at->second, wasted);
  }
  std::vector<Filling> all;
  for (const auto& [added, wasted] : least) {
    bool used = !stays.empty();
    for (const int count : added) used |= count > 0;
    all.push_back({added, wasted, used});
  }
  return all;
}

/// Every way to fill every GPU, from real placements: pending memory slices, GPUs, waste, in that
/// order.
std::array<std::int64_t, 3> brute_force(const PlanProblem& problem) {
  const StateGraph& graph = *problem.graphs[0];
  const Geometry& geometry = graph.geometry();
  std::vector<int> wanted(geometry.model().profiles.size(), 0), fresh = wanted;
  std::vector<PlacementSet> stays(problem.gpus.size());
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i) {
    const PlanWorkload& workload = problem.workloads[i];
    if (workload.stays) {
      stays[index(workload.now->gpu)].insert(workload.now->placement);
      continue;
    }
    const auto profile =
        static_cast<std::size_t>(geometry[problem.wanted(i, 0).first()].profile_index);
    ++wanted[profile];
    fresh[profile] += workload.now ? 0 : 1;
  }
  // What is left to place, and the fewest (GPUs, waste) to get there.
  std::map<std::vector<int>, std::pair<std::int64_t, std::int64_t>> left{{wanted, {0, 0}}};
  for (const PlacementSet state : stays) {
    std::map<std::vector<int>, std::pair<std::int64_t, std::int64_t>> next;
    for (const Filling& filling : fillings(graph, state))
      for (const auto& [before, cost] : left) {
        std::vector<int> after = before;
        bool enough = true;
        for (std::size_t p = 0; p < after.size(); ++p)
          enough &= (after[p] -= filling.added[p]) >= 0;
        if (!enough) continue;
        const std::pair with{cost.first + (filling.used ? 1 : 0), cost.second + filling.waste};
        const auto [at, first] = next.try_emplace(after, with);
        if (!first) at->second = std::min(at->second, with);
      }
    left = std::move(next);
  }
  std::array<std::int64_t, 3> best{INT64_MAX, 0, 0};
  for (const auto& [rest, cost] : left) {
    std::int64_t pending = 0;
    bool runs = true;  // what runs must have a place
    for (std::size_t p = 0; p < rest.size(); ++p) {
      runs &= rest[p] <= fresh[p];
      pending += std::int64_t{rest[p]} * geometry.model().profiles[p].memory.value;
    }
    if (runs) best = std::min(best, {pending, cost.first, cost.second});
  }
  return best;
}

std::array<std::int64_t, 3> solved(const PlanProblem& problem, bool counted,
                                   std::size_t* unmerged = nullptr) {
  WpmOptions options;
  options.counted = counted;
  const auto result = solve_wpm(problem, options);
  EXPECT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->status, WpmStatus::optimal);
  EXPECT_NEAR(*result->objective, result->bound, 0.5);
  if (unmerged != nullptr) *unmerged = result->unmerged;
  return {result->values.pending, result->values.gpus, result->values.waste};
}

TEST(Wpm, PartitionsAreThoseOfAlgorithmOne) {
  const GpuModel& model = **find_gpu_model("A100-80GB");
  const Geometry geometry(model, ProfileChoice().on(model));
  const auto text = [&](const std::vector<Geometry::Written>& held) {
    PlacementSet state, free;
    for (const auto& [profile, start] : held) state.insert(*geometry.find(*profile, start));
    for (const PlacementId id : largest_free_partitions(geometry, state)) free.insert(id);
    return layout_text(geometry, free);
  };
  const Profile *one = model.find("1g.10gb"), *wide = model.find("1g.20gb");
  // Figure 7, and the example with a 1g.20gb in the last slice.
  EXPECT_EQ(text({{one, 0}, {one, 5}, {one, 6}}), "1g.10gb@1,2g.20gb@2,1g.10gb@4");
  EXPECT_EQ(text({{wide, 6}}), "4g.40gb@0,2g.20gb@4");
  EXPECT_EQ(text({}), "7g.80gb@0");
}

TEST(Wpm, NewWorkGoesWhereEverySearchWouldPutIt) {
  int exact = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    PaperCase wanted;
    wanted.gpus = 1 + seed % 3;
    wanted.seed = seed;
    wanted.new_work = true;
    const FleetFile fleet = paper_fleet(wanted);
    const auto problem = PlanProblem::make(fleet, ProblemKind::deploy, "case");
    ASSERT_TRUE(problem);
    std::size_t unmerged = 0;
    const auto model = solved(*problem, true, &unmerged), best = brute_force(*problem);
    EXPECT_EQ(model, solved(*problem, false)) << seed;
    // Partitions that stay apart may refuse what the GPU would take, and never the other way round.
    EXPECT_GE(model, best) << seed;
    if (unmerged > 0) continue;
    EXPECT_EQ(model, best) << seed;
    ++exact;
  }
  EXPECT_GT(exact, 10);
}

TEST(Wpm, WorkThatMayMoveIsLaidOutAsWellAsCanBe) {
  for (const ProblemKind kind :
       {ProblemKind::compact, ProblemKind::reconfigure, ProblemKind::joint})
    for (std::uint64_t seed = 1; seed <= 9; ++seed) {
      PaperCase wanted;
      wanted.gpus = 1 + seed % 3;
      wanted.seed = seed;
      wanted.new_work = kind == ProblemKind::joint;
      const FleetFile fleet = paper_fleet(wanted);
      const auto problem = PlanProblem::make(fleet, kind, "case");
      ASSERT_TRUE(problem);
      const auto best = brute_force(*problem);
      EXPECT_EQ(solved(*problem, true), best) << name(kind) << " " << seed;
      EXPECT_EQ(solved(*problem, false), best) << name(kind) << " " << seed;
    }
}

TEST(Wpm, AGivenStartIsUnderstoodAndNeverMadeWorse) {
  PaperCase wanted;
  wanted.gpus = 4;
  wanted.seed = 3;
  const FleetFile fleet = paper_fleet(wanted);
  const auto problem = PlanProblem::make(fleet, ProblemKind::compact, "case");
  ASSERT_TRUE(problem);
  const Goal now = goal_of_now(*problem);
  for (const bool counted : {false, true}) {
    WpmOptions options;
    options.counted = counted;
    options.start = &now;
    const auto result = solve_wpm(*problem, options);
    ASSERT_TRUE(result);
    ASSERT_TRUE(result->start_objective);
    EXPECT_LE(*result->objective, *result->start_objective);
    EXPECT_TRUE(result->seconds_to_gap);
  }
}

TEST(Wpm, SaysWhatItHasNoWordsFor) {
  const auto mixed = parse_fleet_in_short("1xA100-40GB,1xA30-24GB", ProfileChoice());
  ASSERT_TRUE(mixed);
  const auto problem = PlanProblem::make(*mixed, ProblemKind::deploy, "case");
  ASSERT_TRUE(problem);
  EXPECT_FALSE(solve_wpm(*problem, {}));
  const FleetFile fleet = paper_fleet({});
  auto stops = PlanProblem::make(fleet, ProblemKind::reconfigure, "case");
  ASSERT_TRUE(stops);
  stops->may_evict = true;
  EXPECT_FALSE(solve_wpm(*stops, {}));
}

}  // namespace
}  // namespace cleave
