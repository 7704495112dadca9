// Laws of planned compaction, over random fleets.

#include "engine/schedulers/planned_compaction.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"

namespace cleave {
namespace {

/// A fleet in use, some of it by what may not move.
struct Scene {
  Fleet fleet;
  std::vector<PlacementSet> fixed;
};

Scene random_scene(std::uint64_t seed) {
  Random random(seed);
  const auto file = parse_fleet_in_short(
      seed % 3 == 0 ? "3xA100-80GB,2xH100-80GB-SXM5" : "5xA100-40GB", ProfileChoice());
  Scene scene{Fleet(*file), std::vector<PlacementSet>(file->gpus.size())};
  for (std::size_t i = 0; i < file->gpus.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    for (std::uint64_t tries = random.below(5); tries > 0; --tries) {
      const GpuState& state = scene.fleet[gpu];
      const PlacementSet free = scene.fleet.graph(state).free(state.occupied);
      if (free.empty()) break;
      auto skip = random.below(static_cast<std::uint64_t>(free.size()));
      for (const PlacementId placement : free)
        if (skip-- == 0) {
          scene.fleet.hold(gpu, placement);
          if (random.below(5) == 0) scene.fixed[i].insert(placement);
          if (random.below(6) == 0) scene.fleet.release(gpu, placement);
          break;
        }
    }
    scene.fixed[i] = scene.fixed[i] & scene.fleet[gpu].held;
    if (random.below(8) == 0) scene.fleet.withdraw(gpu);
  }
  return scene;
}

std::size_t used(const Fleet& fleet) {
  std::size_t count = 0;
  for (const GpuState& gpu : fleet.gpus()) count += gpu.held.empty() ? 0 : 1;
  return count;
}

std::int64_t fragmentation(const Fleet& fleet) {
  std::int64_t sum = 0;
  for (const GpuState& gpu : fleet.gpus()) sum += fleet.graph(gpu).cost(gpu.occupied).units;
  return sum;
}

TEST(PlannedCompaction, KeepsItsLaws) {
  std::size_t plans = 0, moved = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Scene scene = random_scene(seed);
    const std::size_t most = seed % 5;
    const auto moves = plan_compaction(scene.fleet, scene.fixed, most);
    ASSERT_LE(moves.size(), most) << seed;
    Fleet fleet = scene.fleet;
    for (const CompactionMove& move : moves) {
      ASSERT_TRUE(fleet[move.from].held.contains(move.from_placement)) << seed;
      ASSERT_FALSE(scene.fixed[index(move.from)].contains(move.from_placement)) << seed;
      ASSERT_FALSE(fleet[move.to].absent) << seed;
      const GpuState& target = fleet[move.to];
      ASSERT_TRUE(fleet.graph(target).free(target.occupied).contains(move.to_placement)) << seed;
      ASSERT_EQ(fleet.geometry(target)[move.to_placement].profile,
                fleet.geometry(fleet[move.from])[move.from_placement].profile);
      fleet.hold(move.to, move.to_placement);
      fleet.release(move.from, move.from_placement);
    }
    if (moves.empty()) continue;
    ++plans;
    moved += moves.size();
    EXPECT_LT(used(fleet), used(scene.fleet)) << seed;
    EXPECT_LE(fragmentation(fleet), fragmentation(scene.fleet)) << seed;
  }
  EXPECT_GT(plans, 50U);
  EXPECT_GT(moved, plans);
}

}  // namespace
}  // namespace cleave
