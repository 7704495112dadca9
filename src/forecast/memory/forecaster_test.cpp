#include "forecast/memory/forecaster.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "forecast/memory/memory_series.hpp"

namespace cleave {
namespace {

std::unique_ptr<Forecaster> made(std::string_view spec) {
  auto forecaster = make_forecaster(spec);
  EXPECT_TRUE(forecaster) << forecaster.error().text();
  return std::move(*forecaster);
}

std::vector<MemoryReport> line(std::int64_t count, std::int64_t base, std::int64_t slope,
                               std::optional<std::int64_t> last) {
  std::vector<MemoryReport> reports;
  for (std::int64_t i = 1; i <= count; ++i)
    reports.push_back({i, last, MiB{base + slope * i}, MiB{base + slope * i}});
  return reports;
}

TEST(Forecasters, SaysWhatIsWrongWithASpec) {
  for (const auto& [spec, word] : {std::pair{"tend", "trend"},
                                   {"trend:plateau=maybe", "plateau"},
                                   {"trend:agreements=0", "agreements"},
                                   {"trend:context=much", "context"},
                                   {"laws:confidence=1.5", "confidence"},
                                   {"laws:reach=x", "reach"},
                                   {"last-value:margin=-1", "margin"},
                                   {"running-max:margn=1", "margin"}}) {
    const auto forecaster = make_forecaster(spec);
    ASSERT_FALSE(forecaster) << spec;
    EXPECT_NE(forecaster.error().text().find(word), std::string::npos) << forecaster.error().text();
  }
}

TEST(Forecasters, EachForeseesALineOrReportsTheHeldMemory) {
  const auto reports = line(60, 4000, 50, 200);
  EXPECT_FALSE(*make_forecaster("none"));
  EXPECT_EQ(watch(made("last-value").get(), reports, {}).said.back()->at_least, MiB{7700});
  EXPECT_EQ(watch(made("running-max:margin=0").get(), reports, {}).said.back()->at_least,
            MiB{7000});
  EXPECT_EQ(watch(made("trend").get(), reports, {}).said.back()->at_least, MiB{14'000});
  EXPECT_EQ(watch(made("trend:context=400MiB").get(), reports, {}).said.back()->at_least,
            MiB{14'400});
  const auto laws = watch(made("laws:reach=100").get(), reports, {}).said.back();
  EXPECT_NEAR(static_cast<double>(laws->at_least.value), 14'000, 700);
  EXPECT_GE(laws->to_ask_for, laws->at_least);
}

/// The reports of a job that requests its memory 4.76 times, as the hook sends them.
std::vector<MemoryReport> in_parts(std::int64_t base, std::int64_t slope, std::int64_t last) {
  std::vector<MemoryReport> reports;
  for (std::int64_t i = 1; i <= last; ++i) {
    const std::int64_t held = base + slope * i;
    reports.push_back({i, last, MiB{held * 476 / 100}, MiB{held}, MiB{600}, MiB{15}});
  }
  return reports;
}

TEST(Forecasters, ContextAndWorkspaceAreAddedAfterTheDivision) {
  for (const auto& [base, slope, capacity, lost] :
       {std::tuple{1000, 60, MiB{9984}, 140U}, {500, 20, MiB{4864}, 188U}}) {
    auto reports = in_parts(base, slope, 200);
    const Watched apart = watch(made("trend").get(), reports, capacity);
    ASSERT_TRUE(apart.alarm && apart.overflow);
    EXPECT_EQ(*apart.alarm, 5U) << "iteration 6";
    EXPECT_EQ(*apart.overflow, lost - 1);
    const auto peak = static_cast<double>(base + 200 * slope + 615);
    EXPECT_NEAR(static_cast<double>(apart.said.back()->at_least.value) / peak, 1, 0.001);
    // The same with the context in what is held, as older reports have it.
    for (MemoryReport& report : reports)
      report = {report.iteration, report.iterations, report.allocated, report.held()};
    const Watched inside = watch(made("trend").get(), reports, capacity);
    EXPECT_LT(static_cast<double>(inside.said[5]->at_least.value) / peak, 0.5);
    EXPECT_TRUE(!inside.alarm || *inside.alarm > 60);
  }
}

TEST(Forecasters, AStatedContextIsForReportsThatHaveNone) {
  const auto reports = in_parts(1000, 60, 100);
  EXPECT_EQ(watch(made("trend:context=400MiB").get(), reports, {}).said.back(),
            watch(made("trend").get(), reports, {}).said.back());
}

TEST(Forecasters, TheOthersCountEverythingThatIsHeld) {
  const auto reports = in_parts(1000, 60, 100);
  auto whole = reports;
  for (MemoryReport& report : whole)
    report = {report.iteration, report.iterations, report.held(), report.held()};
  for (const char* spec : {"laws", "last-value", "running-max"}) {
    const auto said = watch(made(spec).get(), reports, {}).said;
    EXPECT_EQ(said, watch(made(spec).get(), whole, {}).said) << spec;
    EXPECT_TRUE(said.back()) << spec;
  }
}

TEST(Forecasters, AForgottenJobStartsAgainAndJobsDoNotMix) {
  for (const char* spec : {"running-max", "trend", "laws"}) {
    const auto forecaster = made(spec);
    const auto high = line(50, 9000, 10, 100), low = line(50, 1000, 10, 100);
    for (std::size_t i = 0; i < high.size(); ++i) {
      forecaster->report(JobId{1}, high[i]);
      const auto said = forecaster->report(JobId{2}, low[i]);
      EXPECT_LT(said ? said->at_least : MiB{0}, MiB{3000}) << spec;
    }
    forecaster->forget(JobId{1});
    const auto anew = forecaster->report(JobId{1}, low[0]);
    EXPECT_LT(anew ? anew->at_least : MiB{0}, MiB{3000}) << spec;
  }
}

TEST(Forecasters, AJobWithoutALastIterationIsForeseenForTheHorizon) {
  const auto reports = line(60, 4000, 50, {});
  EXPECT_EQ(watch(made("trend:horizon=40").get(), reports, {}).said.back()->at_least, MiB{9000});
}

TEST(MemorySeries, WatchesAsTheEngineDoes) {
  const auto reports = line(100, 4000, 50, 200);
  const Watched watched = watch(made("trend").get(), reports, MiB{8000});
  EXPECT_EQ(*watched.spoke, 5U);
  EXPECT_EQ(*watched.alarm, 5U);
  EXPECT_EQ(*watched.overflow, 80U);
  EXPECT_TRUE(watched.restarted());
  const Watched alone = watch(nullptr, reports, MiB{8000});
  EXPECT_FALSE(alone.restarted());
  EXPECT_EQ(*alone.overflow, 80U);
}

TEST(Watching, TheContextIsHeldToo) {
  std::vector<MemoryReport> reports;
  for (std::int64_t i = 1; i <= 10; ++i) reports.push_back({i, 10, MiB{900 + i}, MiB{900 + i}});
  EXPECT_FALSE(watch(nullptr, reports, MiB{1000}).overflow);
  EXPECT_EQ(watch(nullptr, reports, MiB{1000}, MiB{95}).overflow, 5U);
}

TEST(Watching, AReportsOwnContextCountsInsteadOfTheStatedOne) {
  std::vector<MemoryReport> reports;
  for (std::int64_t i = 1; i <= 10; ++i)
    reports.push_back({i, 10, MiB{5000}, MiB{900 + i}, MiB{90}, MiB{5}});
  EXPECT_EQ(watch(nullptr, reports, MiB{1000}, MiB{500}).overflow, 5U);
}

TEST(MemorySeries, ReadsThePartsThatItHas) {
  const auto series = read_memory_series(
      "iteration,requested_mib,allocated_mib,context_mib,workspace_mib\n1,40,10,615,8\n"
      "2,44,11,615,\n3,48,12,,\n",
      "s.csv", 10);
  ASSERT_TRUE(series) << series.error().text();
  EXPECT_EQ(series->reports[0], (MemoryReport{1, 10, MiB{40}, MiB{10}, MiB{615}, MiB{8}}));
  EXPECT_EQ(series->reports[1], (MemoryReport{2, 10, MiB{44}, MiB{11}, MiB{615}}));
  EXPECT_EQ(series->reports[2], (MemoryReport{3, 10, MiB{48}, MiB{12}}));
  const auto wrong = read_memory_series(
      "iteration,requested_mib,allocated_mib,context_mib\n1,40,10,much\n", "s.csv", 10);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text().find("context_mib 'much'"), std::string::npos);
}

TEST(MemorySeries, BadLinesArePassedOverWhereThatIsAskedFor) {
  BadLines bad;
  const auto series = read_memory_series(
      "iteration,requested_mib,allocated_mib\n1,10,9\ntorn\n2,x,9\n1,10,9\n3,12,10\n", "s.csv", 10,
      &bad);
  ASSERT_TRUE(series) << series.error().text();
  ASSERT_EQ(series->reports.size(), 2U);
  EXPECT_EQ(series->reports[1].iteration, 3);
  ASSERT_EQ(bad.count, 3U);
  EXPECT_EQ(bad.first[2].place, "s.csv:5");
}

TEST(Forecaster, AFallingLineGivesNoPeakBelowTheHeldMemory) {
  const auto forecaster = make_forecaster("trend");
  std::optional<ExpectedPeak> peak;
  for (std::int64_t i = 1; i <= 20; ++i)
    peak = (*forecaster)->report(JobId{1}, {i, 100, MiB{1000 - 40 * i}, MiB{1000 - 40 * i}});
  ASSERT_TRUE(peak);
  EXPECT_EQ(peak->at_least, MiB{960}) << "the line would end at -3000";
}

TEST(MemorySeries, ReadsSamplesAndCountsMissingOnes) {
  const auto series = read_memory_series(
      "iteration,extra,requested_mib,allocated_mib\n1,a,10.4,9\n3,,12,\n4,,13,11.6\n5,,13,\n",
      "s.csv", 100);
  ASSERT_TRUE(series) << series.error().text();
  ASSERT_EQ(series->reports.size(), 2U);
  EXPECT_EQ(series->missing, 2U);
  EXPECT_EQ(series->reports[1].allocated, MiB{12});
  EXPECT_EQ(series->reports[1].iterations, 100);
  for (const char* text :
       {"iteration,requested_mib\n1,2\n", "iteration,requested_mib,allocated_mib\n0,1,1\n",
        "iteration,requested_mib,allocated_mib\n1,x,1\n",
        "iteration,requested_mib,allocated_mib\n1,1,-4\n",
        "iteration,requested_mib,allocated_mib\n1,1,1e300\n",
        "iteration,requested_mib,allocated_mib\n101,1,1\n",
        "iteration,requested_mib,allocated_mib\n4,1,1\n3,1,1\n",
        "iteration,requested_mib,allocated_mib\n4,1,1\n4,1,1\n",
        "iteration,requested_mib,allocated_mib\n9223372036854775807,1,1\n", ""})
    EXPECT_FALSE(read_memory_series(text, "s.csv", 100)) << text;
}

}  // namespace
}  // namespace cleave
