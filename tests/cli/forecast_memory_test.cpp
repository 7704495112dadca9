// `cleave forecast memory`, `cleave forecasters` and `reproduce memory-alarms` from outside.

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "program.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::Outcome;
using testing_program::shell;

void expect_refused(const std::string& command, const std::string& word) {
  const Outcome outcome = cleave(command);
  EXPECT_EQ(outcome.exit_code, 2) << command;
  EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
}

Json document(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto parsed = parse_json(outcome.out, "stdout");
  EXPECT_TRUE(parsed) << outcome.out;
  return parsed ? *parsed : Json::object();
}

constexpr const char* example =
    "forecast memory --series examples/series/growing-context.csv --iterations 157";

TEST(ForecastMemory, DrawsWhatItExpectsAndWhenItWouldRestart) {
  const Outcome outcome = cleave(std::string(example) + " --capacity 9984");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* piece : {"Restart early", "iteration 6", "= capacity", "* reported"})
    EXPECT_NE(outcome.out.find(piece), std::string::npos) << piece << "\n" << outcome.out;
}

TEST(ForecastMemory, AnswersAsADocument) {
  for (const char* forecaster :
       {"trend", "laws", "last-value", "none", "trend:plateau=on;shift=on;noise=any"}) {
    const Outcome outcome =
        cleave(std::string(example) + " --capacity 9984 --json --forecaster '" + forecaster + "'");
    const Json answer = document(outcome);
    EXPECT_EQ(answer["samples"], 40);
    EXPECT_EQ(answer["forecasts"].size(), 40U);
    EXPECT_TRUE(answer["overflow_at"].is_null());
  }
}

TEST(ForecastMemory, SaysWhenItKnowsTooLittle) {
  const Outcome outcome = shell(
      "printf 'iteration,requested_mib,allocated_mib\\n1,10,9\\n2,12,10\\n' | cleave forecast memory "
      "--series - "
      "--iterations 50 --capacity 20");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("No forecast: 2 samples are too few"), std::string::npos) << outcome.out;
}

TEST(ForecastMemory, RefusesWhatItCannotRead) {
  expect_refused("forecast memory --series no-such-file.csv", "no-such-file.csv");
  expect_refused("forecast memory --series examples/series/growing-context.csv --iterations 12",
                 "iteration 13");
  expect_refused(std::string(example) + " --capacity much", "--capacity");
  expect_refused(std::string(example) + " --forecaster tend", "trend");
}

TEST(ForecastMemory, AlarmsAreCountedForEveryForecaster) {
  const Outcome outcome = cleave("reproduce memory-alarms --jobs 4 --json");
  const Json answer = document(outcome);
  EXPECT_EQ(answer["curves"].size(), 5U * 5);  // shapes that need no data
  for (const auto& curve : answer["curves"])
    for (const auto& at : curve["at"]) EXPECT_LE(at["restarted"].get<int>() + at["at_once"].get<int>(), 4);
  for (const auto& alarm : answer["paper"]) EXPECT_LE(alarm["worst"].get<int>(), alarm["printed"].get<int>());
}

}  // namespace
}  // namespace cleave
