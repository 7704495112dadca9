// The random planning problems: fleets that the program's reader accepts, read alike by both
// readers, with everything that planning has to respect.

#include "random_fleet.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/format.hpp"
#include "base/json.hpp"
#include "model/fleet_file.hpp"
#include "rounds.hpp"

namespace cleave::plans {
namespace {

TEST(RandomFleet, IsTheSameForTheSameSeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(random_question(seed, Task::joint, {}).fleet,
              random_question(seed, Task::joint, {}).fleet);
}

TEST(RandomFleet, IsTakenByTheReaderOfFleets) {
  std::map<std::string, int> words;
  std::set<const GpuModel*> models;
  std::size_t mixed = 0, limited = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Question asked = random_question(seed, Task::joint, {});
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, asked.fleet));
    const auto fleet = parse_fleet(asked.fleet, "fleet", {});
    ASSERT_TRUE(fleet) << fleet.error().text();
    const auto scene = read_scene(asked);
    ASSERT_TRUE(scene) << scene.error().text();
    ASSERT_EQ(scene->gpus.size(), fleet->gpus.size());
    for (std::size_t i = 0; i < scene->gpus.size(); ++i) {
      ASSERT_EQ(scene->gpus[i].name, fleet->gpus[i].name);
      models.insert(scene->gpus[i].model);
    }
    mixed += fleet->geometries.size() > 1 ? 1 : 0;
    limited += asked.max_migrations || asked.max_moved_mib ? 1 : 0;
    for (const char* word :
         {"\"movable\":false", "\"owned\":false", "memory_mib", "compute_slices", "pin", "forbid",
          "\"group\"", "\"spread\":\"node\"", "waiting", "alone", "count", ":1g."})
      words[word] += asked.fleet.find(word) != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(models.size(), gpu_models().size());
  EXPECT_GT(mixed, 100U);
  EXPECT_GT(limited, 100U);
  for (const auto& [word, count] : words) EXPECT_GE(count, 10) << word;
}

TEST(RandomFleet, HasOnlyItsOptionsFeatures) {
  const FleetShape bare{.gpus = 2,
                        .nodes = 1,
                        .running = 2,
                        .waiting = 0,
                        .several_models = false,
                        .walls = false,
                        .unmovable = false,
                        .pins = false,
                        .forbids = false,
                        .groups = false,
                        .sizes = false,
                        .limits = false};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Question asked = random_question(seed, Task::joint, bare);
    const Scene scene = *read_scene(asked);
    EXPECT_LE(scene.gpus.size(), 2U);
    EXPECT_LE(scene.works.size(), 2U);
    EXPECT_FALSE(asked.max_migrations || asked.max_moved_mib);
    for (const char* word : {"movable", "owned", "pin", "forbid", "group", "waiting"})
      EXPECT_EQ(asked.fleet.find(word), std::string::npos) << asked.fleet;
  }
}

}  // namespace
}  // namespace cleave::plans
