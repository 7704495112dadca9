#include "model/run_summary.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/json.hpp"

namespace cleave {
namespace {

TEST(RunFigures, AreNamedOnceAndSaidInWords) {
  std::set<std::string_view> names;
  std::set<int> places;
  for (const RunFigure& figure : run_figures()) {
    EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
    EXPECT_FALSE(figure.help.empty() || figure.unit.empty()) << figure.name;
    EXPECT_EQ(figure.line.empty(), figure.words.empty()) << figure.name;
    EXPECT_EQ(figure.place > 0, figure.compared != Compared::no || !figure.line.empty())
        << figure.name;
    EXPECT_TRUE(figure.place == 0 || places.insert(figure.place).second) << figure.name;
  }
}

TEST(RunFigures, AreTheKeysOfTheSummary) {
  RunSummary summary;
  summary.finished = 6;
  summary.makespan = std::chrono::seconds(3);
  summary.rejections = {{"too large", 2}};
  const Json json = to_json(summary);
  for (const RunFigure& figure : run_figures())
    EXPECT_TRUE(json.contains(std::string(figure.name))) << figure.name;
  EXPECT_EQ(json["finished"], 6);
  EXPECT_EQ(json["makespan_s"], 3.0);
  EXPECT_EQ(json["throughput_jobs_per_s"], 2.0);
  EXPECT_EQ(json["wait_s"]["p95"], nullptr);
  EXPECT_EQ(json["energy_j"], nullptr);
  EXPECT_EQ(json["rejections"].dump(), R"([{"reason":"too large","count":2}])");
}

}  // namespace
}  // namespace cleave
