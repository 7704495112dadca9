// The conformance runner on the reference cases where they are at hand, and on small cases of its own that
// show what it takes for a difference.

#include <gtest/gtest.h>

#include <filesystem>

#include "../cli/program.hpp"

namespace cleave {
namespace {

using testing_program::Scratch;
using testing_program::shell;

TEST(Cases, TheReferenceIsMet) {
  if (!std::filesystem::exists(CLEAVE_SOURCE_DIR "/../shared/cases"))
    GTEST_SKIP() << "the reference cases are not here";
  for (const char* module : {"geometry", "reachability", "fragmentation"}) {
    const auto outcome = shell(std::string("cleave-cases ../shared/cases/") + module + ".json");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find(" passed, 0 failed, 0 skipped\n"), std::string::npos) << outcome.out;
  }
  const auto online = shell("cleave-cases ../shared/cases/online.json");
  EXPECT_EQ(online.exit_code, 0) << online.out << online.err;
  EXPECT_EQ(online.out.find("skipped: online arrive"), std::string::npos);
}

std::string one_case(const std::string& module, const std::string& op, const std::string& input,
                     const std::string& expected) {
  return "{\"module\": \"" + module + "\", \"cases\": [{\"id\": \"x-1\", \"op\": \"" + op +
         "\", \"source\": \"oracle\", \"input\": " + input + ", \"expected\": " + expected + "}]}";
}

TEST(Cases, ADifferenceIsNamedWithItsPath) {
  const Scratch scratch;
  const std::string input = R"({"device": "A100-40GB", "state": [{"profile": "2g.10gb", "start": 0}]})";
  const std::string file = scratch.write(
      "wrong.json", one_case("fragmentation", "cost", input, R"({"cost": {"exact": "1/5", "value": 0.2}})"));
  const auto outcome = shell("cleave-cases " + file);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(
      outcome.out,
      "x-1 (fragmentation cost): cost.exact: expected \"1/5\", got \"1/6\"\n0 passed, 1 failed, 0 skipped\n");
}

TEST(Cases, AKeyThatTheAnswerLacksIsADifference) {
  const Scratch scratch;
  const std::string file =
      scratch.write("more.json", one_case("reachability", "fcr", R"({"device": "A30", "state": []})",
                                          R"({"placements": 5, "other": 1})"));
  EXPECT_EQ(shell("cleave-cases " + file).out,
            "x-1 (reachability fcr): other: expected 1, got nothing\n0 passed, 1 failed, 0 skipped\n");
}

TEST(Cases, UnknownOperationsAreSkippedAndNamed) {
  const Scratch scratch;
  const std::string file = scratch.write("unknown.json", one_case("weather", "rain", "{}", "{}"));
  const auto outcome = shell("cleave-cases " + file);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "skipped: weather rain (1 cases)\n0 passed, 0 failed, 1 skipped\n");
}

TEST(Cases, AMalformedInputIsAFailedCaseAndABrokenFileAnError) {
  const Scratch scratch;
  const std::string malformed =
      scratch.write("malformed.json", one_case("geometry", "free", R"({"device": 3})", "{}"));
  EXPECT_EQ(shell("cleave-cases " + malformed).exit_code, 1);
  const std::string alien =
      scratch.write("alien.json", one_case("geometry", "free", R"({"device": "TPU", "state": []})", "{}"));
  EXPECT_NE(shell("cleave-cases " + alien).out.find("unknown device 'TPU'"), std::string::npos);
  EXPECT_EQ(shell("cleave-cases " + scratch.write("broken.json", "{")).exit_code, 2);
  EXPECT_EQ(shell("cleave-cases " + scratch.write("other.json", "{\"a\": 1}")).exit_code, 2);
  EXPECT_EQ(shell("cleave-cases nowhere.json").exit_code, 2);
  EXPECT_EQ(shell("cleave-cases").exit_code, 2);
}

}  // namespace
}  // namespace cleave
