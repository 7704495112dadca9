// `cleave plan migrate` and `replay` from outside, and the moves of plans.

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;

Json migration_json(const std::string& arguments) {
  return json_of(cleave("plan " + arguments + " --json"));
}

std::string one_gpu(const std::string& instances) {
  return R"({"gpus": [{"name": "n0/0", "model": "A30-24GB", "instances": [)" + instances + "]}]}";
}
const std::string swapped_now = one_gpu(R"({"profile": "2g.12gb", "start": 0, "workload": "a"},
                                           {"profile": "2g.12gb", "start": 2, "workload": "b"})");
const std::string swapped_goal = one_gpu(R"({"profile": "2g.12gb", "start": 2, "workload": "a"},
                                            {"profile": "2g.12gb", "start": 0, "workload": "b"})");

TEST(Migrate, ToAGivenLayout) {
  const Json plan = migration_json(
      "migrate --fleet examples/fleets/scattered.json --goal examples/fleets/gathered.json");
  EXPECT_EQ(plan["problem"], "migrate");
  EXPECT_EQ(plan["waves"].size(), 2U);
  EXPECT_EQ(plan["waves_bound"], 2);
  EXPECT_TRUE(plan["disruptive"].empty());
  EXPECT_GT(plan["cost"]["time_s"], 0);
}

TEST(Migrate, InterruptionsAreNamedAndDoneOnlyIfAllowed) {
  const Scratch scratch;
  const std::string files = "migrate --fleet " + scratch.write("now.json", swapped_now) +
                            " --goal " + scratch.write("goal.json", swapped_goal);
  const Json calm = migration_json(files);
  EXPECT_EQ(calm["disruptive"].size(), 2U);
  EXPECT_TRUE(calm["waves"].empty());
  const Json allowed = migration_json(files + " --allow-disruptive");
  EXPECT_EQ(allowed["disruptive"].size(), 1U);
  EXPECT_EQ(allowed["waves"].size(), 3U);
  EXPECT_EQ(allowed["waves"][0][0]["op"], "stop");
}

TEST(Migrate, GoalsThatAreNotOfTheFleetAreRefused) {
  const Scratch scratch;
  const auto refused = [&](const std::string& goal, const std::string& part) {
    const Outcome outcome =
        cleave("plan migrate --fleet " + scratch.write("now.json", swapped_now) + " --goal " +
               scratch.write("goal.json", goal));
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  };
  refused(R"({"gpus": [{"name": "n0/1", "model": "A30-24GB"}]})",
          "gpus[0]: the fleet has no GPU 'n0/1'");
  refused(R"({"gpus": [{"name": "n0/0", "model": "A100-40GB"}]})",
          "gpus[0]: n0/0 is a A30-24GB and not a A100-40GB");
  refused(one_gpu(R"({"profile": "2g.12gb", "start": 0, "owned": false})"),
          "must be the same in both");
}

TEST(Migrate, UndisturbedGoalsAreFoundWhereTheBestIsOutOfReach) {
  const Json best =
      migration_json("compact --non-disruptive-only --fleet examples/fleets/scattered.json");
  EXPECT_EQ(best["status"], "optimal");
  EXPECT_TRUE(best["disruptive"].empty());
}

TEST(Replay, TakesAPlanForItsOwnStateOnly) {
  const Scratch scratch;
  const std::string plan = scratch.write(
      "plan.json", cleave("plan joint --fleet examples/fleets/scattered.json --json").out);
  EXPECT_EQ(migration_json("replay --fleet examples/fleets/scattered.json --plan " + plan)["legal"],
            true);
  const Outcome other = cleave("plan replay --fleet examples/fleets/gathered.json --plan " + plan);
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.err.find("it was made for another state"), std::string::npos) << other.err;
}

TEST(Replay, RefusesStepsThatAreNotLegal) {
  const Scratch scratch;
  Json plan = migration_json("joint --fleet examples/fleets/scattered.json");
  plan["waves"][0].erase(plan["waves"][0].begin());
  const Outcome torn = cleave("plan replay --fleet examples/fleets/scattered.json --plan " +
                              scratch.write("plan.json", plan.dump()));
  EXPECT_EQ(torn.exit_code, 1);
  EXPECT_NE(torn.err.find("it cannot be carried out: wave 1"), std::string::npos) << torn.err;
  plan["waves"][0][0] =
      Json{{"op", "start"}, {"gpu", "n0/0"}, {"profile", "3g.40gb"}, {"start", 4}};
  const Outcome nameless = cleave("plan replay --fleet examples/fleets/scattered.json --plan " +
                                  scratch.write("plan.json", plan.dump()));
  EXPECT_EQ(nameless.exit_code, 2);
  EXPECT_NE(nameless.err.find("waves[0][0]"), std::string::npos) << nameless.err;
}

}  // namespace
}  // namespace cleave
