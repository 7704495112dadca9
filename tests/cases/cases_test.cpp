// The conformance runner as a program: what it prints for right and wrong answers, unknown
// operations and unreadable files; and, if the reference cases lie beside the repository, their
// answers.

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "../cli/program.hpp"
#include "base/places_test.hpp"

namespace cleave {
namespace {

using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

const std::filesystem::path reference =
    std::filesystem::path(source_dir()) / ".." / "shared" / "cases";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string last_line(const Outcome& outcome) {
  const auto lines = lines_of(outcome.out);
  return lines.empty() ? "" : lines.back();
}

/// Runs a file of one case, its `input` and `expected` as JSON; the case is called "x".
Outcome run_case(const std::string& module, const std::string& op, const std::string& input,
                 const std::string& expected) {
  const Scratch scratch;
  return shell("cleave-cases " +
               scratch.write("cases.json", R"({"module": ")" + module +
                                               R"(", "cases": [{"id": "x", "op": ")" + op +
                                               R"(", "input": )" + input + R"(, "expected": )" +
                                               expected + "}]}"));
}

void expect_right(const std::string& module, const std::string& op, const std::string& input,
                  const std::string& expected) {
  const Outcome outcome = run_case(module, op, input, expected);
  EXPECT_EQ(outcome.out, "1 passed, 0 failed, 0 skipped\n") << module << " " << op << " " << input;
  EXPECT_EQ(outcome.exit_code, 0);
}

/// The case fails with this one line.
void expect_line(const std::string& module, const std::string& op, const std::string& input,
                 const std::string& expected, const std::string& line) {
  const Outcome outcome = run_case(module, op, input, expected);
  EXPECT_EQ(outcome.out, line + "\n0 passed, 1 failed, 0 skipped\n") << outcome.err;
  EXPECT_EQ(outcome.exit_code, 1);
}

class Reference : public testing::TestWithParam<const char*> {};

TEST_P(Reference, CasesPass) {
  const auto file = reference / (std::string(GetParam()) + ".json");
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << "the reference cases are not beside the repository";
  const Outcome outcome = shell("cleave-cases '" + file.string() + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(last_line(outcome).find(" passed, 0 failed, "), std::string::npos) << outcome.out;
  EXPECT_FALSE(last_line(outcome).starts_with("0 passed")) << outcome.out;
  EXPECT_NE(last_line(outcome).find(", 0 skipped"), std::string::npos) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Files, Reference,
                         testing::Values("geometry", "reachability", "fragmentation", "online",
                                         "placement", "dynap", "reward", "wasted"),
                         [](const auto& file) { return std::string(file.param); });

TEST(Cases, RightAnswersPass) {
  expect_right("geometry", "counts", R"({"device": "A100-40GB/five"})",
               R"({"states": 298, "maximal": 19, "maximal_multisets": 14})");
  expect_right("geometry", "counts", R"({"device": "A100-40GB"})",
               R"({"states": 723, "maximal": 78, "state_multisets": 78})");
  expect_right("geometry", "counts", R"({"device": "A30"})", R"({"states": 26, "maximal": 5})");
  expect_right("geometry", "counts", R"({"device": "A100-80GB"})",
               R"({"states": 2319, "maximal": 239})");
  expect_right("geometry", "assumption1", R"({"device": "A100-80GB"})",
               R"({"multisets_within_budgets": 128, "without_layout": 0})");
  expect_right("geometry", "states", R"({"device": "A30", "maximal": true})",
               R"({"states": [
      [{"profile": "4g.24gb", "start": 0}],
      [{"profile": "2g.12gb", "start": 0}, {"profile": "2g.12gb", "start": 2}],
      [{"profile": "1g.6gb", "start": 0}, {"profile": "1g.6gb", "start": 1}, )"
               R"({"profile": "2g.12gb", "start": 2}],
      [{"profile": "2g.12gb", "start": 0}, {"profile": "1g.6gb", "start": 2}, )"
               R"({"profile": "1g.6gb", "start": 3}],
      [{"profile": "1g.6gb", "start": 0}, {"profile": "1g.6gb", "start": 1},
       {"profile": "1g.6gb", "start": 2}, {"profile": "1g.6gb", "start": 3}]]})");
}

TEST(Cases, ReuseThenComputeThenStartBreakTies) {
  // Each 1g of an empty A30 leaves two full states; an idle one that exists already is taken.
  expect_right("reachability", "choose",
               R"({"device": "A30", "profile": "1g.6gb", "state": [],
                   "idle": [{"profile": "1g.6gb", "start": 2}]})",
               R"({"choice": {"profile": "1g.6gb", "start": 2, "fcr": 2, "reuse": true}})");
  // Beside a 3g at 4 both halves leave one full state; the one with more compute is a 4g at 0.
  expect_right(
      "reachability", "choose_size",
      R"({"device": "A100-40GB", "memory_gb": 20, "state": [{"profile": "3g.20gb", "start": 4}]})",
      R"({"candidates": [{"profile": "3g.20gb", "start": 0, "fcr": 1, "reuse": false},
                                  {"profile": "4g.20gb", "start": 0, "fcr": 1, "reuse": false}],
                   "choice": {"profile": "4g.20gb", "start": 0}})");
}

TEST(Cases, AGpuThatIsLeftLazyPullsTheLowestJob) {
  // Ids are ordered as text: j10 before j9. After that the source is lazy and gives no more.
  expect_right("online", "depart",
               R"({"cluster": {"device": "A100-40GB/five", "threshold": 0.2, "gpus": [
                    {"jobs": [{"id": "j9", "profile": "1g.5gb", "start": 0},
                              {"id": "j10", "profile": "1g.5gb", "start": 1}]},
                    {"jobs": [{"id": "gone", "profile": "1g.5gb", "start": 6}]}]},
                  "job": "gone", "eligible": "before"})",
               R"({"gpu": 1, "kind": "inter", "migrations": [
                    {"job": "j10", "from_gpu": 0, "from_start": 1, "to_gpu": 1, "to_start": 6, )"
               R"("reuse": true,
                     "destroyed": []}]})");
  expect_line("online", "depart", R"({"cluster": {"device": "A30", "gpus": []}, "job": "a"})", "{}",
              "x: input: job: no job is called 'a'");
}

TEST(Cases, ANewInstanceDestroysTheIdleOnesInItsWay) {
  expect_right("online", "arrive",
               R"({"cluster": {"device": "A30", "threshold": 0.25, "gpus": [
                     {"jobs": [{"id": "a", "profile": "2g.12gb", "start": 2}],
                      "idle": [{"profile": "1g.6gb", "start": 1}, {"profile": "1g.6gb", )"
               R"("start": 0}]}]},
                   "job": {"id": "b", "profile": "2g.12gb"}})",
               R"({"decision": "placed", "class": "busy", "gpu": 0, "start": 0, "reuse": false,
                   "destroyed": [{"profile": "1g.6gb", "start": 0}, {"profile": "1g.6gb", )"
               R"("start": 1}],
                   "gpus": [{"jobs": [{"id": "b", "profile": "2g.12gb", "start": 0},
                                      {"id": "a", "profile": "2g.12gb", "start": 2}],
                             "idle": [], "load": {"value": 1.0, "exact": "1/1"}, "busy": true}]})");
  // The class follows the exact threshold: a load of exactly that is busy.
  expect_right("online", "arrive",
               R"({"cluster": {"device": "A30", "threshold": 0.5, "load": "memory", "gpus": [
                     {"jobs": [{"id": "a", "profile": "2g.12gb", "start": 2}], "idle": []}]},
                   "job": {"id": "b", "profile": "4g.24gb"}})",
               R"({"decision": "queued", "gpus": [{"busy": true}]})");
}

TEST(Cases, ABatchNeedsALayoutWhereADeviceIsGiven) {
  // Two slices of an A30 are free, at 1 and at 3: enough for a 2g by number, but no place for it.
  const auto input = [](const std::string& device) {
    return R"({"total_slices": 4, "free_slices": 2, "w": 2, "queue": [
                 {"id": "a", "jct_full": 3, "jct": 4, "slices": 2},
                 {"id": "b", "jct_full": 1, "jct": 4, "slices": 1},
                 {"id": "c", "jct_full": 0.5, "jct": 2, "slices": 1}])" +
           device + "}";
  };
  expect_right(
      "dynap", "bnb", input(""),
      R"({"best": ["a"], "throughput": {"value": 0.375, "exact": "3/8"}, "equal_best": [["a"]]})");
  const std::string device = R"(, "device": "A30", "profile_of": {"1": "1g.6gb", "2": "2g.12gb"},
      "state": [{"profile": "1g.6gb", "start": 0}, {"profile": "1g.6gb", "start": 2}])";
  expect_right("dynap", "bnb", input(device),
               R"({"best": ["b", "c"], "throughput": {"value": 0.25, "exact": "1/4"},
                   "equal_best": [["b", "c"]]})");
  // A quarter of a half and a half of a quarter: batches of different sizes may be equal.
  expect_right("dynap", "bnb",
               R"({"total_slices": 4, "free_slices": 2, "w": 2, "queue": [
                    {"id": "a", "jct_full": 1, "jct": 4, "slices": 1}, {"id": "b", )"
               R"("jct_full": 1, "jct": 4, "slices": 1},
                    {"id": "c", "jct_full": 1, "jct": 2, "slices": 2}]})",
               R"({"best": ["c"], "equal_best": [["c"], ["a", "b"]]})");
}

TEST(Cases, ErrorsInACaseOfDynaPAreNamed) {
  const auto says = [](const std::string& op, const std::string& input, const std::string& what) {
    expect_line("dynap", op, input, R"({"x": 1})", "x: input: " + what);
  };
  says("fm", R"({"total_slices": 4, "allocated": [1, "2"]})",
       "allocated: expected whole numbers from 0 to 32, found the text '2' in it");
  says("fm", R"({"total_slices": 4, "allocated": 7})",
       "allocated: expected a list of whole numbers, found 7");
  says("stp", R"({"total_slices": 4, "jobs": [{"jct_full": 0, "jct": 1, "slices": 1}]})",
       "jobs[0].jct_full: expected a number above zero");
  says("rlp", R"({"now": 0, "alpha": 0, "beta": 0, "active": []})", "the key 'waiting' is missing");
  says("bpp",
       R"({"lambda": 0, "partitions": [], "profiles": [], "jobs": [{"id": "a", "model": "m", )"
       R"("batch": 1}]})",
       "jobs[0]: the key 'memory' is missing");
  says("bnb",
       R"({"total_slices": 4, "free_slices": 4, "w": 1, "device": "A30", "state": [],
                  "profile_of": {"1": "1g.5gb"}, "queue": [{"id": "a", "jct_full": 1, "jct": 1, )"
       R"("slices": 1}]})",
       "profile_of.1: the device has no profile '1g.5gb'; did you mean '1g.6gb'?");
}

TEST(Cases, AWrongExpectationFailsAndIsNamed) {
  expect_line("reachability", "fcr", R"({"device": "A30", "state": []})", R"({"placements": 6})",
              "x: placements: expected 6, got 5");
  expect_line("geometry", "free",
              R"({"device": "A30", "state": [{"profile": "2g.12gb", "start": 0}]})",
              R"({"free": [{"profile": "2g.12gb", "start": 2}, {"profile": "1g.6gb", "start": 3},
                           {"profile": "1g.6gb", "start": 3}]})",
              "x: free[1].start: expected 3, got 2");
  expect_line("geometry", "free",
              R"({"device": "A30", "state": [{"profile": "4g.24gb", "start": 0}]})",
              R"({"free": [7]})", "x: free: expected 1 elements [7], got 0 elements []");
  expect_line("geometry", "legal", R"({"device": "A30", "state": []})",
              R"({"legal": true, "reason": "none"})", "x: reason: expected \"none\", got null");
  expect_line("geometry", "legal", R"({"device": "A30", "state": []})", R"({"legal": 1})",
              "x: legal: expected 1, got true");
  expect_line("reachability", "fcr", R"({"device": "A30", "state": []})", R"({"multisets": 4})",
              "x: multisets: expected 4, got nothing");
}

TEST(Cases, NumbersAgreeByExactFormOrNearly) {
  const std::string state =
      R"({"device": "A100-40GB", "state": [{"profile": "2g.10gb", "start": 0}]})";
  const auto cost = [](const std::string& number) { return R"({"cost": )" + number + "}"; };
  expect_right("fragmentation", "cost", state, cost("0.1666666666"));
  expect_right("fragmentation", "cost", state, cost(R"({"value": 0.1666666666, "exact": "1/6"})"));
  expect_line("fragmentation", "cost", state,
              cost(R"({"value": 0.16666666666666666, "exact": "2/12"})"),
              R"(x: cost: expected {"value":0.16666666666666666,"exact":"2/12"}, )"
              R"(got {"value":0.16666666666666666,"exact":"1/6"})");
  EXPECT_EQ(run_case("fragmentation", "cost", state, cost("0.16666666")).exit_code, 1);
}

TEST(Cases, UnknownOperationsAreSkippedAndNamedOnce) {
  const Scratch scratch;
  const std::string one = R"({"id": "x", "op": "divine", "input": {}, "expected": {}})";
  const Outcome outcome =
      shell("cleave-cases " + scratch.write("cases.json", R"({"module": "geometry", "cases": [)" +
                                                              one + "," + one + "]}"));
  EXPECT_EQ(outcome.out, "skipped: geometry divine: 2 cases\n0 passed, 0 failed, 2 skipped\n");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(run_case("fragmentation", "cost",
                     R"({"device": "A30", "state": [], "formula": "difference"})", R"({"cost": 0})")
                .out,
            "skipped: fragmentation cost: 1 case\n0 passed, 0 failed, 1 skipped\n");
  expect_right("fragmentation", "cost", R"({"device": "A30", "state": [], "formula": "ratio"})",
               R"({"cost": 0})");
}

TEST(Cases, AMalformedInputFailsItsCase) {
  const auto says = [](const std::string& input, const std::string& what) {
    expect_line("geometry", "free", input, R"({"free": []})", "x: " + what);
  };
  says("[]", "input: expected an object in {}, found a list");
  says("{}", "input: the key 'device' is missing");
  says(R"({"device": "A31", "state": []})",
       "input: device: the cases have no device 'A31'; did you mean 'A30'?");
  says(R"({"device": "A30"})", "input: the key 'state' is missing");
  says(R"({"device": "A30", "state": null})", "input: 'state' is null; leave out what is absent");
  says(R"({"device": "A30", "state": [{"profile": "1g.6gb", "start": 4}]})",
       "input: state[0]: 1g.6gb at 4 cannot be there: start not allowed");
  says(R"({"device": "A30", "state": [{"profile": "1g.6gb", "start": 0}, {"profile": "4g.24gb", )"
       R"("start": 0}]})",
       "input: state[1]: 4g.24gb at 0 cannot be there: overlap");
  says(R"({"device": "A30", "state": [{"profile": "7g.24gb", "start": 0}]})",
       "input: state[0].profile: the device has no profile '7g.24gb'; did you mean '4g.24gb'?");
  says(R"({"device": "A30", "state": [{"profile": "1g.6gb", "start": 1e99}]})",
       "input: state[0].start: expected a whole number from -1000000 to 1000000, found 1e+99");
  expect_line("online", "arrive", R"({"cluster": {"device": "A30", "threshold": 1e-12, "gpus": []},
                                      "job": {"id": "a", "profile": "1g.6gb"}})",
              "{}",
              "x: input: cluster.threshold: '1e-12' is not a plain decimal number; write it like "
              "0.4, with at "
              "most nine digits on either side of the point");
}

TEST(Cases, UnreadableFilesStopTheRunner) {
  const Scratch scratch;
  const std::string good = scratch.write("good.json", R"({"module": "geometry", "cases": []})");
  EXPECT_EQ(shell("cleave-cases " + good).out, "0 passed, 0 failed, 0 skipped\n");
  const auto refuses = [&](const std::string& arguments, const std::string& what) {
    const Outcome outcome = shell("cleave-cases " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_TRUE(outcome.err.starts_with("cleave-cases: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
  };
  refuses(good + " " + scratch.write("torn.json", R"({"module": "geometry", "cases": [{"id")"),
          "torn.json: line 1, column ");
  refuses(scratch.write("frame.json",
                        R"({"module": "geometry", "cases": [{"id": "x", "op": "free"}]})"),
          "frame.json: cases[0]: the key 'expected' is missing");
  refuses(scratch.write("list.json", "[]"), "list.json: expected an object");
  refuses(scratch.write("empty.json", ""), "empty.json: ");
  refuses(scratch.path("absent.json"), "absent.json: No such file");
  refuses("", "FILE is required");
  refuses("--divine " + good, "--divine");
  EXPECT_EQ(shell("cleave-cases --help").exit_code, 0);
}

}  // namespace
}  // namespace cleave
