// `cleave rebalance` from outside: the moves on departure, what keeps work where it is, and errors
// for bad input.

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;

Json rebalanced(const std::string& arguments) {
  return json_of(cleave("rebalance --json " + arguments));
}

/// The answer for a busy GPU n0/0 with 3g `a` and, with these further keys, 2g `b`; work has left
/// n0/1, which has `idle`.
Json pulled(const std::string& keys, const std::string& more = "", const std::string& idle = "") {
  const Scratch scratch;
  return rebalanced(
      "--gpu n0/1 --fleet " +
      scratch.write("fleet.json", R"({"gpus": [{"name": "n0/0", "model": "A100-40GB", "instances": [
                    {"profile": "3g.20gb", "start": 4, "workload": "a"},
                    {"profile": "2g.10gb", "start": 0, "workload": "b")" +
                                      keys + R"(}]},
                  {"name": "n0/1", "model": "A100-40GB", "instances": [)" +
                                      idle + "]}" + more + "]}"));
}

TEST(Rebalance, ALazyGpuTakesWork) {
  const Json moves = pulled("");
  EXPECT_EQ(moves["kind"], "inter");
  EXPECT_EQ(moves["gpu"], "n0/1");
  ASSERT_EQ(moves["migrations"].size(), 1U) << moves;
  const Json& move = moves["migrations"][0];
  EXPECT_EQ(move["workload"], "b");
  EXPECT_EQ(move["from"], "n0/0");
  EXPECT_EQ(move["to"], "n0/1");
  EXPECT_EQ(move["profile"], "2g.10gb");
  EXPECT_EQ(move["start"], 4);
  EXPECT_EQ(move["from_start"], 0);
  EXPECT_EQ(move["reuse"], false);
  EXPECT_EQ(move["destroys"], Json::array());
  EXPECT_EQ(moves["load_after"]["exact"], "2/7");

  const Json reused = pulled("", "", R"({"profile": "2g.10gb", "start": 4})");
  EXPECT_EQ(reused["migrations"][0]["reuse"], true);
  const Json in_the_way = pulled("", "", R"({"profile": "1g.5gb", "start": 5})");
  EXPECT_EQ(in_the_way["migrations"][0]["destroys"],
            Json::parse(R"([{"profile": "1g.5gb", "start": 5}])"));
}

TEST(Rebalance, WorkThatMayNotMoveStays) {
  EXPECT_TRUE(pulled(R"(, "movable": false)")["migrations"].empty());
  EXPECT_TRUE(pulled(R"(, "owned": false)")["migrations"].empty());
  EXPECT_TRUE(pulled(R"(, "pin": "n0/0")")["migrations"].empty());
  EXPECT_EQ(pulled(R"(, "pin": "n0")")["migrations"].size(), 1U)
      << "the other GPU is of the same node";
  EXPECT_TRUE(pulled(R"(, "forbid": ["n0/1"])")["migrations"].empty());
}

TEST(Rebalance, ReplicasStayApart) {
  const auto moves = [](const std::string& where, const std::string& spread) {
    const std::string keys = R"(, "group": "r", "spread": ")" + spread + "\"";
    return pulled(keys, R"(, {"name": ")" + where +
                            R"(", "model": "A100-40GB", "instances": [
                              {"profile": "1g.5gb", "start": 6, "workload": "z")" +
                            keys + "}]}")["migrations"]
        .size();
  };
  EXPECT_EQ(moves("n0/2", "gpu"), 1U);
  EXPECT_EQ(moves("n0/2", "node"), 0U) << "n0 has one already";
  EXPECT_EQ(moves("n1/0", "node"), 1U) << "it stays on its own node";
}

TEST(Rebalance, ABusyGpuPutsItsOwnWorkInOrder) {
  const Json moves = rebalanced("--gpu n0/2 --fleet examples/fleets/departed.json");
  EXPECT_EQ(moves["kind"], "intra");
  ASSERT_EQ(moves["migrations"].size(), 1U);
  EXPECT_EQ(moves["migrations"][0]["to"], "n0/2");
  EXPECT_EQ(moves["migrations"][0]["start"], 4);
  EXPECT_EQ(moves["migrations"][0]["fragmentation_before"]["exact"], "1/3");
  EXPECT_EQ(rebalanced("--gpu n0/2 --threshold 0.5 --fleet examples/fleets/departed.json")["kind"],
            "inter");
  EXPECT_EQ(rebalanced("--gpu n0/2 --load memory --fleet examples/fleets/departed.json")["kind"],
            "inter")
      << "3 of 8 memory slices";
}

TEST(Rebalance, TheWeakerConditionAcceptsMore) {
  const std::string fleet = "--gpu n0/1 --fleet examples/fleets/departed.json";
  EXPECT_LT(rebalanced(fleet)["load_after"]["value"],
            rebalanced(fleet + " --eligibility lowers-imbalance")["load_after"]["value"]);
}

TEST(Rebalance, RefusesWhatItCannotRead) {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = cleave("rebalance " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  };
  const std::string fleet = "--fleet examples/fleets/departed.json";
  refused(fleet, "--gpu");
  refused("--gpu n0/1", "--fleet");
  refused(fleet + " --gpu n0/7", "this fleet has no GPU 'n0/7'");
  refused(fleet + " --gpu n0/1 --threshold 1.5", "is not a number from 0 to 1");
  refused(fleet + " --gpu n0/1 --load disk", "compute, memory, joint");
  refused(fleet + " --gpu n0/1 --eligibility none", "both-after or lowers-imbalance");
  refused(fleet + " --gpu n0/1 --profiles 1g.5gb", "departed.json");
  refused("--fleet nowhere.json --gpu n0/1", "nowhere.json");
}

TEST(Rebalance, TellsPeopleTheSame) {
  const Outcome outcome = cleave("rebalance --gpu n0/1 --fleet examples/fleets/departed.json");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* part : {"n0/1 is lazy", "move 'speech' (2g.10gb) from n0/0 at 4 to n0/1 at 4",
                           "destroys idle 3g.20gb@4 first", "move 'spam'"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  EXPECT_NE(cleave("rebalance --gpu n0/1 --fleet 2xA30-24GB").out.find("nothing moves"),
            std::string::npos);
}

}  // namespace
}  // namespace cleave
