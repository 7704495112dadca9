// The replay accepts a correct sequence, and finds every kind of fault.

#include "replay.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave::plans {
namespace {

constexpr const char* fleet = R"({"gpus": [
  {"name": "n0/0", "model": "A100-40GB", "instances": [
    {"profile": "2g.10gb", "start": 0, "workload": "a", "group": "g", "max_moving": 3, )"
                              R"("forbid": ["n2"]},
    {"profile": "1g.5gb", "start": 2},
    {"profile": "1g.5gb", "start": 3, "owned": false},
    {"profile": "1g.5gb", "start": 4, "workload": "stays", "movable": false},
    {"profile": "1g.5gb", "start": 5, "movable": false}]},
  {"name": "n0/1", "model": "A100-40GB", "instances": [
    {"profile": "2g.10gb", "start": 0, "workload": "ends"},
    {"profile": "1g.5gb+me", "start": 6, "workload": "media"}]},
  {"name": "n1/0", "model": "A100-40GB", "instances": [
    {"profile": "3g.20gb", "start": 0, "workload": "b", "group": "g", "max_moving": 1}]},
  {"name": "n2/0", "model": "A30-24GB"}],
  "waiting": [{"workload": "new", "profile": "1g.5gb"}]})";

/// "create 2g.10gb 0 n0/1 a start 2g.10gb 0 n0/1 a / drain ..." as plan text: steps, and waves
/// between slashes.
std::string plan_of(const std::string& moves) {
  Json waves = Json::array({Json::array()});
  std::istringstream in(moves);
  for (std::string op; in >> op;) {
    if (op == "/") {
      waves.push_back(Json::array());
      continue;
    }
    std::string profile, gpu, work;
    int start = 0;
    in >> profile >> start >> gpu >> work;
    Json step = {{"op", op}, {"gpu", gpu}, {"profile", profile}, {"start", start}};
    if (work != "-") step["workload"] = work;
    waves.back().push_back(step);
  }
  if (moves.empty()) waves.clear();
  return Json{{"waves", waves}}.dump();
}

class Replay : public testing::Test {
 protected:
  Replay()
      : scene_(*read_scene({fleet, Task::joint, {}, {}, true})),
        end_{seats_of_now(scene_), idle_now(scene_)} {
    end_.seats[work("ends")] = std::nullopt;
  }

  [[nodiscard]] std::size_t work(const char* name) const {
    return static_cast<std::size_t>(std::ranges::find(scene_.works, name, &Work::name) -
                                    scene_.works.begin());
  }
  [[nodiscard]] Position place(std::size_t gpu, const char* profile, int start) const {
    return {gpu, {scene_.gpus[gpu].model->find(profile), start}};
  }

  std::string faults_of(const std::string& moves,
                        const std::vector<std::size_t>& interruptible = {}) {
    std::vector<std::string> found;
    const auto waves = read_waves(scene_, plan_of(moves), found);
    EXPECT_EQ(read_waves(scene_, waves_text(scene_, waves), found).size(), waves.size());
    EXPECT_TRUE(found.empty()) << found.front();
    return fmt::format("{}", fmt::join(replay(scene_, waves, end_, interruptible), "\n"));
  }
  /// Exactly one fault, and which.
  void expect_fault(const std::string& moves, const std::string& what,
                    const std::vector<std::size_t>& interruptible = {}) {
    const std::string found = faults_of(moves, interruptible);
    EXPECT_NE(found.find(what), std::string::npos) << moves << "\n"
                                                   << (found.empty() ? "no fault" : found);
  }

  Scene scene_;
  End end_;
};

const std::string stop_ends = "stop 2g.10gb 0 n0/1 ends destroy 2g.10gb 0 n0/1 - ";

TEST_F(Replay, FindsNothingWrongWhereNothingIs) {
  EXPECT_EQ(faults_of(stop_ends), "");
  // Replica first; the idle instance is reused; a place is free one wave after it was left.
  end_.seats[work("a")] = place(1, "2g.10gb", 0);
  end_.seats[work("new")] = place(0, "1g.5gb", 2);
  end_.idle[0].clear();
  const std::string right =
      "create 2g.10gb 2 n0/1 a start 2g.10gb 2 n0/1 a start 1g.5gb 2 n0/0 new drain 2g.10gb 0 n0/0 "
      "a "
      "stop 2g.10gb 0 n0/1 ends destroy 2g.10gb 0 n0/0 - / "
      "start 2g.10gb 0 n0/1 a drain 2g.10gb 2 n0/1 a destroy 2g.10gb 2 n0/1 -";
  EXPECT_EQ(faults_of(right), "");
  std::vector<std::string> found;
  EXPECT_EQ(temporary_moves(read_waves(scene_, plan_of(right), found), end_.seats), 1U);
  // Instances in the way are destroyed first in a wave.
  end_.seats[work("new")] = std::nullopt;
  end_.seats[work("a")] = place(2, "2g.10gb", 4);
  end_.idle = {{}, {}, {}, {}};
  EXPECT_EQ(faults_of("destroy 1g.5gb 2 n0/0 - create 2g.10gb 4 n1/0 a start 2g.10gb 4 n1/0 a "
                      "drain 2g.10gb 0 n0/0 a "
                      "stop 2g.10gb 0 n0/1 ends destroy 2g.10gb 0 n0/0 - destroy 2g.10gb 0 n0/1 -"),
            "");
}

TEST_F(Replay, FindsIllegalCreations) {
  expect_fault("create 2g.10gb 2 n0/0 -",
               "2g.10gb at 2 on n0/0 cannot be created: 2g.10gb at 2 and 1g.5gb at 3 share");
  expect_fault("create 1g.5gb 3 n0/0 -", "cannot be created");
  expect_fault("create 1g.5gb 4 n0/0 -", "cannot be created");
  expect_fault("create 2g.10gb 3 n1/0 -", "2g.10gb may not start at 3");
  expect_fault("create 1g.5gb 2 n0/0 -", "cannot be created");  // stands there already
  expect_fault("create 1g.5gb+me 2 n0/1 -", "two media-extension instances");
  expect_fault("create 2g.10gb 4 n0/1 - create 2g.10gb 2 n0/1 - create 1g.5gb 5 n0/1 -", "share");
}

TEST_F(Replay, FindsIllegalDestructions) {
  expect_fault("destroy 1g.5gb 6 n0/0 -", "there is no 1g.5gb at 6");
  expect_fault("destroy 2g.10gb 2 n0/0 -", "there is no 2g.10gb at 2");
  expect_fault("destroy 1g.5gb 3 n0/0 -", "is not ours to touch");
  expect_fault("destroy 1g.5gb 5 n0/0 -", "is not ours to touch");
  expect_fault("destroy 2g.10gb 0 n0/0 -", "is destroyed while 'a' runs on it");
}

TEST_F(Replay, FindsIllegalStarts) {
  expect_fault("start 2g.10gb 4 n1/0 a", "there is no 2g.10gb at 4");
  expect_fault("start 1g.5gb 3 n0/0 new", "is not ours to touch");
  expect_fault("start 1g.5gb 5 n0/0 new", "is not ours to touch");
  expect_fault("start 1g.5gb 4 n0/0 new", "where 'stays' runs");
  expect_fault("start 1g.5gb 2 n0/0 a", "'a' did not ask for 1g.5gb");
  expect_fault("start 1g.5gb 2 n0/0 stays", "which must stay as it is");
  expect_fault("start 1g.5gb 2 n0/0 -", "start of nobody");
  expect_fault("create 2g.12gb 0 n2/0 a start 2g.12gb 0 n2/0 a", "'a' may not be on n2/0");
  expect_fault(
      "create 2g.10gb 4 n1/0 a create 2g.10gb 2 n0/1 a start 2g.10gb 4 n1/0 a start 2g.10gb 2 n0/1 "
      "a",
      "'a' runs twice already");
}

TEST_F(Replay, FindsWorkThatIsLeftWithoutAnInstance) {
  expect_fault("drain 2g.10gb 0 n0/0 a", "'a' is drained and runs nowhere else");
  expect_fault("stop 2g.10gb 0 n0/0 a", "'a' is stopped and must not be interrupted");
  expect_fault("stop 3g.20gb 0 n1/0 b", "must not be interrupted", {work("a")});
  expect_fault("stop 1g.5gb 4 n0/0 stays", "which must stay as it is", {work("stays")});
  expect_fault("drain 1g.5gb 2 n0/0 a", "'a' does not run on");
  expect_fault("drain 3g.20gb 0 n1/0 a", "'a' does not run on");
  expect_fault("stop 1g.5gb 3 n0/0 ends", "is not ours to touch");
  expect_fault("create 2g.10gb 4 n1/0 a start 2g.10gb 4 n1/0 a stop 2g.10gb 0 n0/0 a",
               "that is a drain");
  expect_fault("create 2g.10gb 4 n1/0 a start 2g.10gb 4 n1/0 a drain 2g.10gb 4 n1/0 a",
               "in the wave in which it started there");
  expect_fault("create 2g.10gb 4 n1/0 a start 2g.10gb 4 n1/0 a",
               "'a' runs twice when the wave ends");
}

TEST_F(Replay, LetsOnlyThoseBeInterruptedThatMayBe) {
  end_.seats[work("a")] = place(2, "2g.10gb", 4);
  const std::string moves = stop_ends +
                            "/ stop 2g.10gb 0 n0/0 a destroy 2g.10gb 0 n0/0 - / "
                            "create 2g.10gb 4 n1/0 a start 2g.10gb 4 n1/0 a";
  EXPECT_EQ(faults_of(moves, {work("a")}), "");
  expect_fault(moves, "'a' is stopped and must not be interrupted");
  // Not in one wave: its own slices are in use when the wave begins.
  end_.seats[work("a")] = place(0, "2g.10gb", 0);
  expect_fault("stop 2g.10gb 0 n0/0 a start 2g.10gb 0 n0/0 a", "out of order", {work("a")});
}

TEST_F(Replay, FindsStepsOfOneWaveThatCannotHappenAtOnce) {
  const std::string onto_left =
      "stop 2g.10gb 0 n0/1 ends destroy 2g.10gb 0 n0/1 - create 2g.10gb 0 n0/1 a start 2g.10gb 0 "
      "n0/1 a";
  expect_fault(onto_left, "in the way of what is in use when the wave begins");
  expect_fault(onto_left, "create is out of order");
  expect_fault("stop 2g.10gb 0 n0/1 ends start 2g.10gb 0 n0/1 a", "in the way of what is in use");
  // Another +me instance is in the way at any start.
  expect_fault("create 1g.5gb+me 2 n0/1 media start 1g.5gb+me 2 n0/1 media",
               "two media-extension instances");
  expect_fault("create 1g.5gb 2 n0/1 - destroy 1g.5gb 2 n0/1 - create 2g.10gb 2 n0/1 -",
               "or of itself");
  expect_fault("create 2g.10gb 2 n0/1 a drain 2g.10gb 0 n0/0 a start 2g.10gb 2 n0/1 a",
               "start is out of order");
  expect_fault("start 1g.5gb 2 n0/0 new create 2g.10gb 2 n0/1 -", "create is out of order");
  expect_fault("destroy 1g.5gb 2 n0/0 - / / " + stop_ends, "wave 2: nothing is done in it");
}

TEST_F(Replay, FindsTooManyOfAGroupInMotion) {
  end_.seats[work("a")] = place(1, "2g.10gb", 2);
  end_.seats[work("b")] = place(2, "3g.20gb", 4);
  const std::string a = "create 2g.10gb 2 n0/1 a ", b = "create 3g.20gb 4 n1/0 b ",
                    start_a = "start 2g.10gb 2 n0/1 a ", start_b = "start 3g.20gb 4 n1/0 b ",
                    leave_a = "drain 2g.10gb 0 n0/0 a ", leave_b = "drain 3g.20gb 0 n1/0 b ",
                    destroy_a = "destroy 2g.10gb 0 n0/0 - ",
                    destroy_b = "destroy 3g.20gb 0 n1/0 - ";
  EXPECT_EQ(faults_of(a + start_a + leave_a + destroy_a + "/ " + b + start_b + leave_b + destroy_b +
                      "/ " + stop_ends),
            "");
  expect_fault(a + b + start_a + start_b + leave_a + leave_b,
               "2 of group 'g' are in motion, 1 may be");
  // Interrupted work is in motion until it runs again.
  expect_fault("stop 2g.10gb 0 n0/0 a / " + b + start_b + leave_b, "wave 2: 2 of group 'g'",
               {work("a")});
}

TEST_F(Replay, FindsAnEndThatIsNotTheOneWanted) {
  expect_fault("", "in the end: 'ends' still runs");
  expect_fault("stop 2g.10gb 0 n0/1 ends", "in the end: 2g.10gb at 0 on n0/1 stands idle");
  expect_fault(stop_ends + "/ destroy 1g.5gb 2 n0/0 -",
               "in the end: n0/0 lacks idle instances that are wanted");
  end_.seats[work("new")] = place(1, "1g.5gb", 0);
  expect_fault(stop_ends, "in the end: 'new' is not on 1g.5gb at 0 on n0/1");
  end_.seats[work("a")] = place(1, "2g.10gb", 4);
  expect_fault(
      stop_ends + "/ create 2g.10gb 2 n0/1 a start 2g.10gb 2 n0/1 a drain 2g.10gb 0 n0/0 a",
      "in the end: 'a' is not on 2g.10gb at 4 on n0/1");
}

TEST_F(Replay, ReadsOnlyStepsOfTheScene) {
  const auto wrong = [&](const std::string& plan) {
    std::vector<std::string> found;
    read_waves(scene_, plan, found);
    return !found.empty();
  };
  EXPECT_FALSE(
      wrong(R"({"waves": [[{"op": "stop", "gpu": "n0/0", "profile": "2g.10gb", "start": 0, )"
            R"("workload": "a"}]]})"));
  EXPECT_TRUE(
      wrong(R"({"waves": [[{"op": "stop", "gpu": "n0/9", "profile": "2g.10gb", "start": 0, )"
            R"("workload": "a"}]]})"));
  EXPECT_TRUE(
      wrong(R"({"waves": [[{"op": "kill", "gpu": "n0/0", "profile": "2g.10gb", "start": 0, )"
            R"("workload": "a"}]]})"));
  EXPECT_TRUE(
      wrong(R"({"waves": [[{"op": "stop", "gpu": "n0/0", "profile": "9g.10gb", "start": 0, )"
            R"("workload": "a"}]]})"));
  EXPECT_TRUE(wrong(
      R"({"waves": [[{"op": "stop", "gpu": "n0/0", "profile": "2g.10gb", "workload": "a"}]]})"));
  EXPECT_TRUE(
      wrong(R"({"waves": [[{"op": "stop", "gpu": "n0/0", "profile": "2g.10gb", "start": 0, )"
            R"("workload": "x"}]]})"));
  EXPECT_TRUE(wrong(R"({"waves": [7]})"));
  EXPECT_TRUE(wrong(R"({"placements": []})"));
  EXPECT_TRUE(wrong("{"));
}

}  // namespace
}  // namespace cleave::plans
