// `cleave forecast memory`, `cleave forecasters` and `reproduce memory-alarms` from outside.

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::shell;

void expect_refused(const std::string& command, const std::string& word) {
  const Outcome outcome = cleave(command);
  EXPECT_EQ(outcome.exit_code, 2) << command;
  EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
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
    const Json answer = json_of(outcome);
    EXPECT_EQ(answer["samples"], 40);
    EXPECT_EQ(answer["forecasts"].size(), 40U);
    EXPECT_TRUE(answer["overflow_at"].is_null());
  }
}

TEST(ForecastMemory, SaysWhenItKnowsTooLittle) {
  const Outcome outcome = shell(
      "printf 'iteration,requested_mib,allocated_mib\\n1,10,9\\n2,12,10\\n' | cleave forecast "
      "memory "
      "--series - "
      "--iterations 50 --capacity 20");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("No forecast: 2 samples are too few"), std::string::npos)
      << outcome.out;
}

TEST(ForecastMemory, RefusesWhatItCannotRead) {
  expect_refused("forecast memory --series no-such-file.csv", "no-such-file.csv");
  expect_refused("forecast memory --series examples/series/growing-context.csv --iterations 12",
                 "iteration 13");
  expect_refused(std::string(example) + " --capacity much", "--capacity");
  expect_refused(std::string(example) + " --forecaster tend", "trend");
}

TEST(ForecastMemory, TheHorizonIsTheForecasters) {
  const std::string series =
      "forecast memory --series examples/series/growing-context.csv --json --forecaster ";
  EXPECT_EQ(json_of(cleave(series + "trend"))["iterations"], 1040);
  EXPECT_EQ(json_of(cleave(series + "'trend:horizon=60'"))["iterations"], 100);
  EXPECT_EQ(json_of(cleave(series + "'laws:horizon=60'"))["iterations"], 100);
  const Outcome none =
      cleave("forecast memory --series examples/series/growing-context.csv --forecaster none");
  EXPECT_NE(none.out.find("the forecaster 'none' makes none"), std::string::npos) << none.out;
  EXPECT_EQ(none.out.find("too few"), std::string::npos);
}

TEST(ForecastMemory, UnorderedOrRepeatedRowsAreReported) {
  const Outcome order = shell(
      "printf 'iteration,requested_mib,allocated_mib\n2,10,9\n1,12,10\n' | cleave forecast memory "
      "--series "
      "-");
  EXPECT_EQ(order.exit_code, 2);
  EXPECT_NE(order.err.find(":3: iteration 1 comes after iteration 2"), std::string::npos)
      << order.err;
  expect_refused("reproduce memory-alarms --jobs 1 --forecaster none --forecaster none",
                 "given twice; name each forecaster once");
  expect_refused(std::string(example) + " --capacity ''", "--capacity");
}

TEST(ForecastMemory, AContextCountsForHeldMemoryToo) {
  const std::string asked = std::string(example) + " --json --capacity 9000 --forecaster ";
  EXPECT_TRUE(json_of(cleave(asked + "trend"))["overflow_at"].is_null());
  EXPECT_FALSE(json_of(cleave(asked + "'trend:context=2000'"))["overflow_at"].is_null());
}

TEST(ForecastMemory, AlarmsOverSeveralSeeds) {
  const Outcome outcome =
      cleave("reproduce memory-alarms --jobs 3 --seeds 2 --forecaster last-value");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("All that grow, least and most over seeds 2 to 3"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("100.0-100.0"), std::string::npos) << "at 0.95 a tenth more is beyond";
  EXPECT_EQ(
      json_of(cleave(
          "reproduce memory-alarms --jobs 1 --seeds 3 --json --forecaster last-value"))["curves"]
          .size(),
      5U * 3);
}

TEST(ForecastMemory, AlarmsAreCountedForEveryForecaster) {
  const Outcome outcome = cleave("reproduce memory-alarms --jobs 4 --json");
  const Json answer = json_of(outcome);
  EXPECT_EQ(answer["curves"].size(), 5U * 5);  // shapes that need no data
  for (const auto& curve : answer["curves"])
    for (const auto& at : curve["at"])
      EXPECT_LE(at["restarted"].get<int>() + at["at_once"].get<int>(), 4);
  for (const auto& alarm : answer["paper"])
    EXPECT_LE(alarm["worst"].get<int>(), alarm["printed"].get<int>());
}

}  // namespace
}  // namespace cleave
