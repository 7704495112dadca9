// Layout changes on the simulated library itself: the plan is applied step by step under lock and
// ledger, and leads to the wanted layout.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
#include "base/sanitized_test.hpp"
#include "base/temporary_folder_test.hpp"
#include "device/changing_gpu.hpp"
#include "device/nvml_door.hpp"
#include "model/layout_text.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave {
namespace {

/// An instant A100 with MIG on, and this program as the one that changes it. In memory if possible:
/// every step is written to disk twice.
class LayoutChanges : public testing::Test {
 protected:
  void SetUp() override {
    SimNodeSpec spec;
    spec.gpus = {*find_gpu_model("A100-40GB")};
    spec.instant = true;
    ASSERT_TRUE(create_sim_node(folder / "node", spec));
    ::setenv(sim_node_variable, (folder / "node").c_str(), 1);
    auto opened = NvmlDoor::open(binary_dir() + "/lib/cleave-nvmlsim/libnvidia-ml.so.1");
    ASSERT_TRUE(opened) << opened.error().text();
    door = std::move(*opened);
    five.emplace(*spec.gpus.front(), ProfileChoice::parse("five")->on(*spec.gpus.front()));
  }
  void TearDown() override { door.reset(); }

  [[nodiscard]] ChangingGpu changing() const {
    auto gpu = ChangingGpu::begin(*door, GpuIndex{0}, folder / "state", "test");
    EXPECT_TRUE(gpu) << gpu.error().text();
    return std::move(*gpu);
  }

  /// Applies the plan for the goal; returns the number of steps.
  static int change_to(ChangingGpu& gpu, const std::string& layout) {
    const Geometry& geometry = gpu.view().geometry->geometry();
    const auto goal = parse_wanted_layout(layout, geometry);
    EXPECT_TRUE(goal);
    const auto plan = plan_layout_change(geometry, gpu.view().standing(false), *goal);
    EXPECT_TRUE(plan) << plan.error().text();
    if (!plan) return 0;
    for (const LayoutStep& step : plan->steps) {
      const Placement& placement = geometry[step.placement];
      if (step.kind == LayoutStep::Kind::create) {
        const auto made = gpu.create(*placement.profile, placement.start);
        EXPECT_TRUE(made) << layout << ": " << made.error().text();
      } else {
        for (const InstanceView& each : gpu.view().instances)
          if (each.placement == step.placement) {
            const auto gone = gpu.destroy(each.live.id, false);
            EXPECT_TRUE(gone) << layout << ": " << gone.error().text();
            break;
          }
      }
    }
    PlacementSet stands;
    for (const InstanceView& each : gpu.view().instances) stands.insert(*each.placement);
    EXPECT_EQ(layout_text(geometry, stands), layout_text(geometry, plan->result));
    return static_cast<int>(plan->steps.size());
  }

  [[nodiscard]] std::string without_starts(PlacementSet state) const {
    std::string text;
    for (const PlacementId id : state)
      text += fmt::format("{}{}", text.empty() ? "" : ",", (*five)[id].profile->name);
    return text;
  }
  [[nodiscard]] std::vector<PlacementSet> maximal_states() const {
    std::vector<PlacementSet> states{PlacementSet()}, maximal;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const PlacementSet state = states[i], free = five->free(state);
      if (free.empty()) maximal.push_back(state);
      for (const PlacementId id : free)
        if (state.empty() || id > state.last()) states.push_back(state | PlacementSet::of(id));
    }
    return maximal;
  }
  [[nodiscard]] PlacementSet random_state(Random& random, PlacementSet state,
                                          std::uint64_t most) const {
    for (std::uint64_t left = random.below(most + 1); left > 0; --left) {
      const PlacementSet free = five->free(state);
      if (free.empty()) break;
      auto skip = random.below(static_cast<std::uint64_t>(free.size()));
      for (const PlacementId id : free)
        if (skip-- == 0) state.insert(id);
    }
    return state;
  }

  TemporaryFolder scratch{::access("/dev/shm", W_OK) == 0 ? std::filesystem::path("/dev/shm")
                                                          : std::filesystem::temp_directory_path()};
  const std::filesystem::path& folder = scratch.path();
  std::unique_ptr<NvmlDoor> door;
  std::optional<Geometry> five;
};

TEST_F(LayoutChanges, EveryPairOfMaximalLayoutsIsReachedOnTheLibrary) {
  const auto states = maximal_states();
  ASSERT_EQ(states.size(), 19U);
  ChangingGpu gpu = changing();
  for (const PlacementSet from : states)
    for (const PlacementSet to : states) {
      change_to(gpu, layout_text(*five, from));
      const int with_starts = change_to(gpu, layout_text(*five, to));
      EXPECT_EQ(with_starts, (from - to).size() + (to - from).size());
      change_to(gpu, layout_text(*five, from));
      EXPECT_LE(change_to(gpu, without_starts(to)), with_starts);
      if (HasFailure()) return;
    }
  EXPECT_EQ(*sim_node_flaw(folder / "node"), "");
}

TEST_F(LayoutChanges, RandomPairsBesideForeignInstancesAreReachedOnTheLibrary) {
  Random random(88);
  for (int round = 0; round < (sanitized ? 300 : 2000); ++round) {
    const PlacementSet walls = random_state(random, {}, 2);
    const PlacementSet from = random_state(random, walls, 5) - walls;
    const PlacementSet to = random_state(random, walls, 5) - walls;
    std::vector<GpuInstanceId> theirs;
    for (const PlacementId id : walls) {
      const Placement& placement = (*five)[id];
      const auto profile = find_driver_profile(*door, GpuIndex{0}, placement.profile->name);
      const auto made =
          create_instance(*door, GpuIndex{0}, *profile,
                          Span{static_cast<std::uint32_t>(placement.start),
                               static_cast<std::uint32_t>(placement.profile->memory.value)});
      ASSERT_TRUE(made) << made.error().text();
      theirs.push_back(made->id);
    }
    {
      ChangingGpu gpu = changing();
      change_to(gpu, layout_text(*five, from));
      change_to(gpu, layout_text(*five, to));
      std::size_t foreign = 0;
      for (const InstanceView& each : gpu.view().instances)
        foreign += each.owner == Ownership::foreign ? 1U : 0U;
      EXPECT_EQ(foreign, theirs.size());
      change_to(gpu, "");
    }
    for (const GpuInstanceId id : theirs) ASSERT_TRUE(destroy_instance(*door, GpuIndex{0}, id));
    if (HasFailure()) return;
  }
  EXPECT_EQ(*sim_node_flaw(folder / "node"), "");
}

}  // namespace
}  // namespace cleave
