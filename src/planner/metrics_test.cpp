// Metrics: the figures of *Optimal Workload Placement* that can be rebuilt from its text, GPUs
// whose compute is independent of position, and the laws that hold for any layout.

#include "planner/metrics.hpp"

#include <gtest/gtest.h>

#include <map>

#include "planner/fleets_test.hpp"
#include "planner/wpm_waste_test.hpp"

namespace cleave {
namespace {

using namespace testing_fleets;

/// Figure 4, before compaction.
const std::vector<std::string_view> figure_4 = {
    "w1 4g.40gb@0", "w2 3g.40gb@0, w3 2g.20gb@4",
    "w4 1g.10gb@0, w5 1g.10gb@1, w6 1g.20gb@2, w7 1g.10gb@4"};

Seat seat(const PlanProblem& problem, std::size_t gpu, std::string_view profile, int start) {
  const auto id = static_cast<GpuId>(gpu);
  return {id, *problem.geometry(id).find(profile, start)};
}

WorkloadIndex named(const PlanProblem& problem, std::string_view name) {
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i)
    if (problem.workloads[i].name == name) return i;
  throw std::runtime_error("no such workload");
}

TEST(Metrics, Figure4BeforeCompaction) {
  const Made made = make(fleet("A100-80GB", figure_4), ProblemKind::compact);
  const PlanMetrics m = metrics(made.problem, goal_of_now(made.problem));
  EXPECT_EQ(m.gpus, 3);
  EXPECT_EQ(m.compute_wastage, 2);  // w2 and w6
  EXPECT_EQ(m.memory_wastage, 0);
  EXPECT_EQ(m.compute_utilization, Ratio(13, 21));
  EXPECT_EQ(m.memory_utilization, Ratio(15, 24));
  EXPECT_EQ(m.migration_size, 0);
}

TEST(Metrics, Figure4AfterCompaction) {
  const Made made = make(fleet("A100-80GB", figure_4), ProblemKind::compact);
  const PlanProblem& problem = made.problem;
  Goal goal = goal_of_now(problem);
  // w6 to the end of GPU 2, three single slices to GPU 1.
  goal[named(problem, "w6")] = seat(problem, 0, "1g.20gb", 4);
  goal[named(problem, "w4")] = seat(problem, 0, "1g.10gb", 6);
  goal[named(problem, "w5")] = seat(problem, 1, "1g.10gb", 6);
  goal[named(problem, "w7")] = std::nullopt;
  PlanMetrics m = metrics(problem, goal);
  EXPECT_EQ(m.pending_size, 1);
  EXPECT_EQ(m.memory_wastage, 2);
  goal[named(problem, "w4")] = seat(problem, 0, "1g.10gb", 4);
  goal[named(problem, "w5")] = seat(problem, 0, "1g.10gb", 5);
  goal[named(problem, "w7")] = seat(problem, 0, "1g.10gb", 6);
  goal[named(problem, "w6")] = seat(problem, 1, "1g.20gb", 6);
  ASSERT_EQ(flaw(problem, goal), "");
  m = metrics(problem, goal);
  EXPECT_EQ(m.gpus, 2);
  EXPECT_EQ(m.compute_wastage, 1);  // w2
  EXPECT_EQ(m.memory_wastage, 1);   // w7
  EXPECT_EQ(m.compute_utilization, Ratio(13, 14));
  EXPECT_EQ(m.memory_utilization, Ratio(15, 16));
  EXPECT_EQ(m.migration_size, 5);
  EXPECT_EQ(m.sequential_migrations, 0);
  EXPECT_EQ(m.pending_size, 0);
}

TEST(Metrics, Figure6Placement1WastesAndPlacement2DoesNot) {
  const auto measured = [](const std::vector<std::string_view>& gpus) {
    const Made made = make(fleet("A100-80GB", gpus), ProblemKind::compact);
    return metrics(made.problem, goal_of_now(made.problem));
  };
  const PlanMetrics one = measured({"w1 4g.40gb@0, w2 2g.20gb@4, w4 1g.10gb@6",  //
                                    "w3 2g.20gb@0, w5 1g.20gb@2, w6 1g.20gb@6"});
  EXPECT_EQ(one.compute_wastage, 1);
  EXPECT_EQ(one.memory_wastage, 1);
  EXPECT_EQ(one.availability, 2);
  const PlanMetrics two = measured(
      {"w1 4g.40gb@0, w2 2g.20gb@4, w5 1g.20gb@6", "w3 2g.20gb@0, w4 1g.10gb@2, w6 1g.20gb@6"});
  EXPECT_EQ(two.compute_wastage, 0);
  EXPECT_EQ(two.memory_wastage, 0);
  EXPECT_EQ(two.availability, 3);
}

TEST(Metrics, PendingWorkTakesTheSlicesOfTheTable) {
  const Made made =
      make(fleet("A100-80GB", {""}, {"a 3g.40gb", "b 1g.20gb", "c 1g.10gb", "d 7g.80gb"}),
           ProblemKind::deploy);
  const PlanMetrics m = metrics(made.problem, goal_of_now(made.problem));
  EXPECT_EQ(m.pending_size, 4 + 2 + 1 + 8);
  EXPECT_EQ(m.availability, 7 - (4 + 2 + 1 + 7));
  EXPECT_EQ(m.memory_utilization, Ratio(0, 1));
}

TEST(Metrics, AMoveToAnOccupiedPlaceNeedsASequence) {
  const Made made =
      make(fleet("A100-80GB", {"a 2g.20gb@0", "b 2g.20gb@0, c 1g.10gb@6"}), ProblemKind::joint);
  const PlanProblem& problem = made.problem;
  Goal goal = goal_of_now(problem);
  goal[named(problem, "a")] = seat(problem, 1, "2g.20gb", 0);
  goal[named(problem, "b")] = seat(problem, 0, "2g.20gb", 4);
  goal[named(problem, "c")] = seat(problem, 1, "1g.10gb", 2);
  const PlanMetrics m = metrics(problem, goal);
  EXPECT_EQ(m.sequential_migrations, 1);
  EXPECT_EQ(m.migration_size, 4);
  EXPECT_EQ(m.moved_inside_gpu, 1);
}

TEST(Metrics, AWallCountsAsAnInstance) {
  const Made made = make(fleet("A100-80GB", {"- 3g.40gb@0", ""}), ProblemKind::compact);
  const PlanMetrics m = metrics(made.problem, goal_of_now(made.problem));
  EXPECT_EQ(m.gpus, 1);
  EXPECT_EQ(m.compute_wastage, 1);
  EXPECT_EQ(m.availability, 3 + 7);
  EXPECT_EQ(m.compute_utilization, Ratio(3, 7));
}

TEST(Metrics, WhereComputeIsABudgetNothingIsWastedByPlace) {
  const Made made =
      make(fleet("RTX-PRO-6000-BW-96GB", {"a 1g.24gb@9, b 2g.48gb@0"}), ProblemKind::compact);
  const PlanMetrics m = metrics(made.problem, goal_of_now(made.problem));
  EXPECT_EQ(m.compute_wastage + m.memory_wastage, 0);
  EXPECT_EQ(m.availability, 1);
  EXPECT_EQ(m.memory_utilization, Ratio(9, 12));
}

/// What an instance takes and wastes, for every placement of every model, from the slices it
/// covers.
TEST(Waste, OfEveryPlacementIsThatOfItsSlices) {
  for (const GpuModel& model : gpu_models()) {
    const Geometry geometry(model, ProfileChoice().on(model));
    const int compute = model.compute.value, memory = model.memory_slices.value;
    for (const PlacementId id : geometry.all()) {
      const Profile& profile = *geometry[id].profile;
      const auto covers = [&](int slice) { return (geometry[id].slices >> slice & 1) != 0; };
      int blocked = 0;
      for (int slice = 0; slice < compute; ++slice) blocked += covers(slice) ? 1 : 0;
      const bool by_place = model.key != "RTX-PRO-6000-BW-96GB";
      EXPECT_EQ(compute_follows_memory(model), by_place) << model.key;
      EXPECT_EQ(gpu_slices(geometry, id), by_place ? blocked : profile.compute.value) << model.key;
      const Waste found = waste(geometry, id);
      EXPECT_EQ(found.compute, by_place ? blocked - profile.compute.value : 0) << model.key;
      const bool locks_out =
          by_place && memory > compute && covers(compute - 1) && !covers(memory - 1);
      EXPECT_EQ(found.memory, locks_out ? 1 : 0) << model.key << " " << profile.name;
      EXPECT_GE(found.compute, 0);
    }
  }
}

TEST(Partitions, Figure7) {
  const FleetFile file =
      fleet("A100-80GB", {"a 1g.10gb@0, b 1g.10gb@5, c 1g.10gb@6", "d 1g.20gb@6"});
  const Geometry& geometry = file.geometries[0];
  const auto parts = [&](std::size_t gpu) {
    PlacementSet taken;
    for (const InstanceEntry& instance : file.gpus[gpu].instances) taken.insert(instance.placement);
    std::string text;
    for (const PlacementId id : largest_free_partitions(geometry, taken))
      text += fmt::format("{}@{} ", geometry[id].profile->name, geometry[id].start);
    return text;
  };
  EXPECT_EQ(parts(0), "1g.10gb@1 2g.20gb@2 1g.10gb@4 ");
  EXPECT_EQ(parts(1), "4g.40gb@0 2g.20gb@4 ");  // the paper's g2, before it merges
}

/// The paper's waste of a whole GPU, which ignores positions, is the least that any layout of the
/// same instances has (readings O1 and G2).
TEST(Partitions, TheModelsWasteIsTheLeastOfAllLayouts) {
  const GpuModel& model = **find_gpu_model("A100-80GB");
  const auto graph = StateGraph::of(model, ProfileChoice::plain().on(model));
  const Geometry& geometry = graph->geometry();
  const auto counts = [&](PlacementSet state) {
    std::vector<int> list(model.profiles.size());
    for (const PlacementId id : state) ++list[static_cast<std::size_t>(geometry[id].profile_index)];
    return list;
  };
  std::map<std::vector<int>, int> least, modelled;
  for (int i = 0; i < graph->size(); ++i) {
    const auto id = static_cast<StateId>(i);
    const PlacementSet state = graph->state(id);
    const WpmWaste by_model = wpm_waste(geometry, state);
    int wasted = 0;
    for (const PlacementId instance : state) wasted += waste(geometry, instance).slices();
    const auto [entry, fresh] = least.try_emplace(counts(state), wasted);
    if (!fresh) entry->second = std::min(entry->second, wasted);
    modelled[counts(state)] = by_model.U + by_model.V;
  }
  EXPECT_EQ(least.size(), 78U);
  EXPECT_EQ(least, modelled);
}

}  // namespace
}  // namespace cleave
