// `cleave compare`: CSV, sweeps, and charts.

#include "cli/compare/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "program.hpp"

namespace cleave::cli {
namespace {

using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

const std::string small =
    "cleave compare --fleet 2xA100-40GB --generate lab-day --schedulers full-gpu,online ";

std::string text_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// The rows of a file, by column.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& file) {
  const std::string text = text_of(file);
  auto reader = CsvReader::open(text, file);
  EXPECT_TRUE(reader) << file;
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> cells;
  while (reader->next(cells).value_or(false)) {
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row[reader->columns()[i]] = cells[i];
  }
  return rows;
}

TEST(CompareCsv, HasARowForEachSchedulerAndSeed) {
  const Scratch scratch;
  const Outcome ran = shell(small + "--seeds 3 --csv '" + scratch.path("runs.csv") + "' --json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto rows = rows_of(scratch.path("runs.csv"));
  ASSERT_EQ(rows.size(), 6U);
  const Json runs = Json::parse(ran.out)["runs"];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("scheduler"), runs[i]["scheduler"].get<std::string>());
    EXPECT_EQ(rows[i].at("seed"), std::to_string(1 + i / 2));
    EXPECT_DOUBLE_EQ(std::stod(rows[i].at("makespan_s")), runs[i]["makespan_s"].get<double>());
    EXPECT_DOUBLE_EQ(std::stod(rows[i].at("turnaround_mean_s")),
                     runs[i]["turnaround_s"]["mean"].get<double>());
  }
}

TEST(CompareCsv, HasJobsToo) {
  const Scratch scratch;
  const std::string file = scratch.path("jobs.csv"), lines = scratch.path("jobs.jsonl");
  ASSERT_EQ(shell(small + "--outcomes '" + file + "'").exit_code, 0);
  ASSERT_EQ(shell(small + "--outcomes '" + lines + "'").exit_code, 0);
  const auto rows = rows_of(file);
  ASSERT_EQ(rows.size(), 400U);
  std::istringstream json(text_of(lines));
  for (const auto& row : rows) {
    std::string line;
    ASSERT_TRUE(std::getline(json, line));
    const Json job = Json::parse(line);
    EXPECT_EQ(row.at("job"), job["job"].get<std::string>());
    EXPECT_EQ(row.at("scheduler"), job["scheduler"].get<std::string>());
    EXPECT_DOUBLE_EQ(std::stod(row.at("wait_s")), job["wait_s"].get<double>());
  }
  EXPECT_EQ(shell(small + "--csv x.csv --outcomes ./x.csv").exit_code, 2);
}

TEST(Sweep, RunsEachValueAsIfItWereAlone) {
  const Scratch scratch;
  const Outcome swept =
      shell(small + "--seeds 2 --sweep gpus=2,4 --json --csv '" + scratch.path("all.csv") + "'");
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  const Json all = Json::parse(swept.out);
  EXPECT_EQ(all["sweep"], "gpus");
  ASSERT_EQ(all["points"].size(), 2U);
  const Json alone = Json::parse(
      shell("cleave compare --fleet 4xA100-40GB --generate lab-day --schedulers full-gpu,online "
            "--seeds 2 --json")
          .out);
  EXPECT_EQ(all["points"][1]["value"], "4");
  EXPECT_EQ(all["points"][1]["comparison"], alone["comparison"]);
  const auto rows = rows_of(scratch.path("all.csv"));
  ASSERT_EQ(rows.size(), 8U);
  EXPECT_EQ(rows[7].at("gpus"), "4");
}

TEST(Sweep, CompressesArrivalsOfEveryWorkload) {
  const Scratch scratch;
  const std::string file = scratch.write(
      "jobs.jsonl",
      "{\"id\":\"a\",\"profile\":\"7g.40gb\",\"duration_s\":100}\n"
      "{\"id\":\"b\",\"profile\":\"7g.40gb\",\"duration_s\":100,\"arrival_s\":100}\n");
  const Outcome ran = shell("cleave compare --fleet 1xA100-40GB --workload '" + file +
                            "' --schedulers full-gpu --sweep compress=1,2,4 --json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json points = Json::parse(ran.out)["points"];
  // The second job comes at 100, 50 and 25, and waits for the first.
  const double arrivals[] = {100, 50, 25};
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& run = points[i]["runs"][0];
    const double takes = run["execution_s"]["mean"].get<double>();
    EXPECT_GT(takes, 60) << "as long as without a sweep";
    EXPECT_NEAR(run["wait_s"]["mean"].get<double>(), std::max(0.0, takes - arrivals[i]) / 2, 1e-6);
  }
}

TEST(Sweep, HasTablesAndChartsWhereTheyAreWanted) {
  const std::string sweep = small + "--seeds 2 --sweep gpus=2,4 ";
  const Outcome piped = shell(sweep);
  EXPECT_TRUE(piped.out.contains("mean turnaround, relative to full-gpu")) << piped.out;
  EXPECT_TRUE(piped.out.contains("gpus=4"));
  EXPECT_FALSE(piped.out.contains("###")) << "no charts in pipes";
  EXPECT_TRUE(shell("LC_ALL=C " + sweep + "--charts always").out.contains("####"));
  EXPECT_TRUE(shell("LC_ALL=C.UTF-8 " + sweep + "--charts always").out.contains("\u2588\u2588"));
  const Outcome waits = shell("LC_ALL=C " + small + "--charts always");
  EXPECT_TRUE(waits.out.contains("jobs by how long they waited")) << waits.out;
  EXPECT_TRUE(waits.out.contains("10 min"));
}

TEST(Sweep, SaysWhatIsWrong) {
  for (const auto& [given, said] : std::initializer_list<std::pair<const char*, const char*>>{
           {"seeds=1,2", "'seeds' cannot be swept; compress or gpus can"},
           {"gpus=2,x", "'x' is not a number of GPUs"},
           {"gpus=", "'' is not a number of GPUs"},
           {"gpus=2,2", "2 is there twice"},
           {"compress=0", "'0' is not a positive number"},
           {"compress", "'' is not a positive number"}}) {
    const Outcome ran = shell(small + "--sweep " + given);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_TRUE(ran.err.contains(std::string("cleave: --sweep: ") + said)) << ran.err;
  }
  const Outcome file = shell(
      "cleave compare --fleet examples/fleets/one-node.json --generate lab-day --schedulers "
      "full-gpu --sweep gpus=2,4");
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_TRUE(file.err.contains("gpus needs a fleet of one model, in short")) << file.err;
}

TEST(Sweep, ChangesTheNumberOfGpusOfAFleet) {
  EXPECT_EQ(with_gpus("4xA100-40GB", 16).value_or(""), "16xA100-40GB");
  EXPECT_EQ(with_gpus("8x8xA100-80GB", 16).value_or(""), "2x8xA100-80GB");
  EXPECT_FALSE(with_gpus("8x8xA100-80GB", 12)) << "one and a half nodes";
  EXPECT_FALSE(with_gpus("2xA100-40GB,1xA30-24GB", 4));
  EXPECT_FALSE(with_gpus("fleet.json", 4));
}

}  // namespace
}  // namespace cleave::cli
