// The exhaustive search, which the tests of the planner's optimum rely on: compared with every
// combination of seats on tiny fleets and with the reference answers if they lie beside the
// repository; and its plans are checked by the checker.

#include "exhaustive.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/format.hpp"
#include "base/json.hpp"
#include "checker.hpp"
#include "random_fleet.hpp"
#include "rounds.hpp"

namespace cleave::plans {
namespace {

class Exhaustive : public testing::TestWithParam<Task> {};

TEST_P(Exhaustive, EqualsEveryCombinationOnTinyFleets) {
  int compared = 0, infeasible = 0;
  for (int seed = 0; seed < rounds(400); ++seed) {
    const auto number = static_cast<std::uint64_t>(seed);
    Question asked = random_question(number, GetParam(), tiny_fleet);
    asked.may_evict = seed % 4 == 0;
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, asked.fleet));
    const auto scene = read_scene(asked);
    ASSERT_TRUE(scene) << scene.error().text();
    bool too_many = false;
    const auto naive = best_of_all_combinations(*scene, 20000, too_many);
    if (too_many) continue;
    ++compared;
    const auto best = exhaustive_best(*scene);
    ASSERT_EQ(best.has_value(), naive.has_value());
    infeasible += best ? 0 : 1;
    if (best) {
      ASSERT_EQ(best->value, naive->value);
    }
  }
  std::printf("%d compared, of these %d infeasible\n", compared, infeasible);
  EXPECT_GT(compared, rounds(400) / 4);
  EXPECT_LT(infeasible, compared / 2);
}

TEST_P(Exhaustive, MakesPlansInWhichNothingIsWrong) {
  int infeasible = 0;
  std::array<int, objectives> not_zero{};
  int better = 0;
  for (int seed = 0; seed < rounds(300); ++seed) {
    const auto number = static_cast<std::uint64_t>(seed);
    const Question asked = random_question(number, GetParam(), small_fleet);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, asked.fleet));
    const Scene scene = *read_scene(asked);
    const auto best = exhaustive_best(scene);
    infeasible += best ? 0 : 1;
    if (!best) continue;
    ASSERT_EQ(value(scene, best->seats), best->value);
    for (std::size_t i = 0; i < objectives; ++i) not_zero[i] += best->value[i] == 0 ? 0 : 1;
    const auto found = check_plan(asked, plan_for(scene, best->seats));
    ASSERT_TRUE(found.empty()) << found.front();
    // The present state is one of the plans considered, if it breaks no rule.
    const Seats now = seats_of_now(scene);
    if (faults(scene, now).empty()) {
      ASSERT_LE(best->value, value(scene, now));
      better += best->value < value(scene, now) ? 1 : 0;
    }
  }
  std::printf("%d infeasible; better than now: %d; objectives not 0: %d %d %d %d %d\n", infeasible,
              better, not_zero[0], not_zero[1], not_zero[2], not_zero[3], not_zero[4]);
  EXPECT_LT(infeasible, rounds(300) / 2);
  // The problems are such that each objective matters.
  EXPECT_GT(better, rounds(300) / 5);
  for (std::size_t i = GetParam() == Task::deploy || GetParam() == Task::joint ? 0 : 1;
       i < objectives; ++i)
    if (GetParam() != Task::deploy || i != 3) {
      EXPECT_GT(not_zero[i], rounds(300) / 50) << objective_names(GetParam())[i];
    }
}

INSTANTIATE_TEST_SUITE_P(Tasks, Exhaustive, testing::ValuesIn(tasks),
                         [](const auto& task) { return std::string(name(task.param)); });

/// A case's cluster and new work as a fleet.
std::string fleet_of(const Json& input) {
  Json fleet = {{"gpus", Json::array()}, {"waiting", Json::array()}};
  for (const Json& gpu : input["cluster"]["gpus"]) {
    Json entry = {{"name", fmt::format("n0/{}", fleet["gpus"].size())},
                  {"model", input["cluster"]["device"]},
                  {"instances", Json::array()}};
    for (const Json& each : gpu)
      entry["instances"].push_back(
          {{"profile", each["profile"]}, {"start", each["start"]}, {"workload", each["id"]}});
    fleet["gpus"].push_back(entry);
  }
  for (const Json& each : input["new"])
    fleet["waiting"].push_back({{"workload", each["id"]}, {"profile", each["profile"]}});
  return fleet.dump();
}

/// The reference cases of planning; empty if they do not lie beside the repository.
std::optional<Json> reference_cases() {
  const auto file =
      std::filesystem::path(source_dir()) / ".." / "shared" / "cases" / "placement.json";
  std::ifstream in(file);
  if (!in) return std::nullopt;
  return *parse_json(std::string(std::istreambuf_iterator<char>(in), {}), "placement.json");
}

TEST(ExhaustiveReference, EqualsTheReferenceOptimum) {
  const auto document = reference_cases();
  if (!document) GTEST_SKIP() << "the reference cases are not beside the repository";
  int compared = 0;
  for (const Json& each : (*document)["cases"]) {
    if (each["op"] != "optimum") continue;
    SCOPED_TRACE(each["id"].get<std::string>());
    const bool movable = each["input"]["movable"].get<bool>();
    // In these answers existing work that may move may also end up pending.
    const Scene scene = *read_scene(
        {fleet_of(each["input"]), movable ? Task::joint : Task::deploy, {}, {}, movable});
    const auto best = exhaustive_best(scene, 3);
    ASSERT_TRUE(best);
    const Json& expected = each["expected"];
    EXPECT_EQ(best->value[0], expected["pending_size"].get<std::int64_t>());
    EXPECT_EQ(best->value[1], expected["gpus"].get<std::int64_t>());
    EXPECT_EQ(best->value[2], expected["waste"].get<std::int64_t>());
    ++compared;
  }
  std::printf("%d reference cases\n", compared);
  EXPECT_GT(compared, 0);
}

/// A case's cluster as positions, for a scene of its other cluster.
Seats seats_in(const Scene& scene, const Json& cluster) {
  Seats seats(scene.works.size());
  for (std::size_t gpu = 0; gpu < cluster["gpus"].size(); ++gpu)
    for (const Json& each : cluster["gpus"][gpu])
      for (std::size_t i = 0; i < seats.size(); ++i)
        if (scene.works[i].name == each["id"].get<std::string>())
          seats[i] = Position{gpu,
                              {scene.gpus[gpu].model->find(each["profile"].get<std::string>()),
                               each["start"].get<int>()}};
  return seats;
}

void expect_metrics(const Metrics& got, const Json& expected) {
  EXPECT_EQ(got.gpus, expected["gpus"].get<std::int64_t>());
  EXPECT_EQ(got.memory_wastage, expected["memory_wastage"].get<std::int64_t>());
  EXPECT_EQ(got.compute_wastage, expected["compute_wastage"].get<std::int64_t>());
  EXPECT_EQ(got.availability, expected["availability"].get<std::int64_t>());
  EXPECT_EQ(got.migration_size, expected["migration_size"].get<std::int64_t>());
  EXPECT_EQ(got.moved_inside_gpu, expected["moved_inside_gpu"].get<std::int64_t>());
  EXPECT_EQ(got.pending_size, expected["pending_size"].get<std::int64_t>());
  EXPECT_EQ(got.sequential_migrations, expected["sequential_migrations"].get<std::int64_t>());
  EXPECT_EQ(got.memory_utilization.exact(),
            expected["memory_utilization"]["exact"].get<std::string>());
  EXPECT_EQ(got.compute_utilization.exact(),
            expected["compute_utilization"]["exact"].get<std::string>());
}

TEST(FiguresReference, EqualTheReferenceMetrics) {
  const auto document = reference_cases();
  if (!document) GTEST_SKIP() << "the reference cases are not beside the repository";
  int compared = 0;
  for (const Json& each : (*document)["cases"]) {
    if (each["op"] != "metrics") continue;
    SCOPED_TRACE(each["id"].get<std::string>());
    const Json& input = each["input"];
    // Work of the final cluster that the initial one lacks is new; so is pending work that ran
    // nowhere.
    Json as_input = {{"cluster", input["initial"]}, {"new", Json::array()}};
    const auto runs = [&](const Json& id) {
      return input["initial"].dump().find(id.dump()) != std::string::npos;
    };
    for (const Json& gpu : input["final"]["gpus"])
      for (const Json& work : gpu)
        if (!runs(work["id"])) as_input["new"].push_back(work);
    for (const Json& work : input["pending"])
      if (!runs(work["id"])) as_input["new"].push_back(work);
    const Scene scene = *read_scene({fleet_of(as_input), Task::joint, {}, {}, true});
    expect_metrics(metrics(scene, seats_in(scene, input["final"])), each["expected"]);
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace cleave::plans
