// The random pairs: goals without fault, with everything that moving has to respect.

#include "random_pair.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/format.hpp"
#include "base/sanitized_test.hpp"
#include "model/fleet_file.hpp"
#include "replay.hpp"
#include "rounds.hpp"

namespace cleave::plans {
namespace {

TEST(RandomPair, IsTheSameForTheSameSeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(random_pair(seed, {}).now.fleet, random_pair(seed, {}).now.fleet);
    EXPECT_EQ(random_pair(seed, {}).goal, random_pair(seed, {}).goal);
  }
}

TEST(RandomPair, HasAGoalWithoutFault) {
  std::map<std::string, int> counts;
  std::set<const GpuModel*> models;
  for (std::uint64_t seed = 0; seed < (sanitized ? 200 : 1000); ++seed) {
    const Pair pair = random_pair(seed, {});
    SCOPED_TRACE(fmt::format("seed {}: {}\n{}", seed, pair.now.fleet, pair.goal));
    const auto file = parse_fleet(pair.now.fleet, "fleet", {});
    ASSERT_TRUE(file) << file.error().text();
    const auto scene = read_scene(pair.now);
    ASSERT_TRUE(scene) << scene.error().text();
    const End end = read_end(*scene, pair.goal);
    const auto found = faults(*scene, end.seats);
    ASSERT_TRUE(found.empty()) << found.front();
    std::size_t idle = 0;
    for (const auto& each : end.idle) idle += each.size();
    counts["idle"] += idle > 0 ? 1 : 0;
    for (std::size_t i = 0; i < end.seats.size(); ++i) {
      const Work& work = scene->works[i];
      ++counts[work.stays                           ? "stay"
               : !work.now                          ? "new"
               : !end.seats[i]                      ? "end"
               : *work.now == *end.seats[i]         ? "same"
               : work.now->gpu == end.seats[i]->gpu ? "within"
                                                    : "move"];
    }
    for (const Gpu& gpu : scene->gpus) models.insert(gpu.model);
    for (const char* word :
         {"\"owned\":false", "\"movable\":false", "pin", "forbid", "group", "max_moving"})
      counts[word] += pair.now.fleet.find(word) != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(models.size(), gpu_models().size());
  for (const auto& [word, count] : counts) EXPECT_GE(count, sanitized ? 20 : 100) << word;
  EXPECT_EQ(counts.size(), 13U);
}

}  // namespace
}  // namespace cleave::plans
