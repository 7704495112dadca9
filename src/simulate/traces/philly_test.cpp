// Philly jobs: what is read, left out and drawn, and errors in damaged files.

#include "simulate/traces/philly.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/time.hpp"

namespace cleave {
namespace {

const std::string philly_header = "timestamp,duration,num_gpus,gpu_time,cluster\n";

Result<Workload> read_rows_of_philly(const std::string& rows, const TraceOptions& options = {}) {
  return read_philly(philly_header + rows, "philly.csv", options);
}

int share_of(const Workload& workload, const Job& job) {
  return std::get<ByShare>(workload.requests[job.request].wanted).thousandths;
}

TEST(Philly, SortsCountsAndLeavesOut) {
  const auto workload = read_rows_of_philly(
      "2017-10-02 00:00:10,66.0,1,66.0,a\n"
      "2017-09-30 23:59:50,100.5,1,100.5,b\n"
      "2017-10-01 00:00:00,3,8,24,b\n"
      "2017-10-01 00:00:01,0,1,0,b\n"
      "2017-10-01 00:00:02,5,0,0,b\n");
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->read, 4U);
  ASSERT_EQ(workload->jobs.size(), 3U);
  ASSERT_EQ(workload->left_out.size(), 1U);
  EXPECT_EQ(workload->left_out[0].reason, "no run time");
  EXPECT_EQ(workload->notes.at("no_gpu"), 1U);
  EXPECT_EQ(workload->jobs[0].id, "philly-000001");
  EXPECT_EQ(workload->jobs[0].arrival, Instant{});
  EXPECT_EQ(workload->jobs[0].duration, std::chrono::milliseconds(100500));
  EXPECT_EQ(text(workload->requests[workload->jobs[1].request]), "8 whole GPUs");
  EXPECT_EQ(workload->jobs[2].id, "philly-000004") << "numbered among all records";
  EXPECT_EQ(workload->jobs[2].arrival,
            Instant{} + std::chrono::hours(24) + std::chrono::seconds(20))
      << "across the end of a month";
  EXPECT_EQ(share_of(*workload, workload->jobs[2]), 1000);
  EXPECT_TRUE(workload->speeds[workload->jobs[1].speed].flat);
  EXPECT_EQ(workload->options.at("shares"), "whole");
  EXPECT_FALSE(workload->options.contains("seed")) << "nothing is drawn";
}

TEST(Philly, DrawsSharesFromTheSeed) {
  std::string rows;
  for (int i = 0; i < 3000; ++i) {
    char row[64];
    std::snprintf(row, sizeof row, "2017-10-01 %02d:%02d:%02d,5,1,5,a\n", i / 3600, i / 60 % 60,
                  i % 60);
    rows += row;
  }
  TraceOptions options;
  options.shares = Shares::alibaba;
  options.seed = 7;
  const auto workload = read_rows_of_philly(rows, options),
             again = read_rows_of_philly(rows, options);
  ASSERT_TRUE(workload && again);
  std::map<int, int> drawn;
  for (std::size_t i = 0; i < workload->jobs.size(); ++i) {
    ++drawn[share_of(*workload, workload->jobs[i])];
    ASSERT_EQ(share_of(*workload, workload->jobs[i]), share_of(*again, again->jobs[i]));
  }
  // 1,078 and 750 of the 3,078 pods; the standard deviations are about 26 and 24 of 3,000.
  EXPECT_NEAR(drawn[810], 3000 * 1078.0 / 3078, 105);
  EXPECT_NEAR(drawn[470], 3000 * 750.0 / 3078, 95);
  EXPECT_FALSE(drawn.contains(1000));
  EXPECT_EQ(workload->options.at("seed"), "7");
  options.limit = 10;
  const auto first = read_rows_of_philly(rows, options);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->jobs.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(share_of(*first, first->jobs[i]), share_of(*workload, workload->jobs[i]));
  options.seed = 8;
  const auto other = read_rows_of_philly(rows, options);
  ASSERT_TRUE(other);
  bool differs = false;
  for (std::size_t i = 0; i < 10; ++i)
    differs |= share_of(*first, first->jobs[i]) != share_of(*other, other->jobs[i]);
  EXPECT_TRUE(differs);
}

TEST(Philly, NamesTheLineThatIsWrong) {
  EXPECT_EQ(
      read_rows_of_philly("2017-13-01 00:00:00,5,1,5,a\n").error().text(),
      "philly.csv:2: timestamp is '2017-13-01 00:00:00', expected a time like 2024-01-31 12:00:00; "
      "correct the line or remove it");
  for (const char* time :
       {"2017-02-29 00:00:00", "2017-02-28 24:00:00", "2017-02-28 23:60:00", "2017-02-28",
        "2017-02-28 23:00:60", "2017-02-28x23:00:00", "-017-02-28 23:00:00"})
    EXPECT_FALSE(read_rows_of_philly(std::string(time) + ",5,1,5,a\n")) << time;
  EXPECT_TRUE(read_rows_of_philly("2016-02-29 23:59:59,5,1,5,a\n"));
  EXPECT_EQ(read_rows_of_philly("2017-10-01 00:00:00,-5,1,5,a\n").error().message,
            "duration is '-5', expected seconds");
  EXPECT_EQ(read_rows_of_philly("2017-10-01 00:00:00,5,x,5,a\n").error().message,
            "num_gpus is 'x', expected a whole number from 0 to 100000");
  EXPECT_EQ(read_rows_of_philly("2017-10-01 00:00:00,5\n").error().text(),
            "philly.csv:2: the line has 2 cells, the header 5; the line may be torn");
  EXPECT_EQ(
      read_philly("timestamp,num_gpus\n", "philly.csv", {}).error().text(),
      "philly.csv:1: the column 'duration' is missing; philly.csv of Pollux's simulator is needed");
  EXPECT_EQ(read_rows_of_philly("").error().message, "the trace has no job that uses a GPU");
  EXPECT_FALSE(read_rows_of_philly("0001-10-01 00:00:00,5,1,5,a\n9999-10-01 00:00:00,5,1,5,a\n"))
      << "eight thousand years";
}

// The file as published; counted by another program (awk).
TEST(PublicTrace, PhillyHasItsPublishedCounts) {
  const std::string file = source_dir() + "/../shared/data/philly/philly.csv.gz";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "the public trace (philly) is not here";
  const auto workload = read_trace("philly:" + file, {});
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->read, 82247U);
  EXPECT_EQ(workload->jobs.size(), 82247U);
  EXPECT_TRUE(workload->left_out.empty());
  EXPECT_EQ(std::ranges::count_if(
                workload->jobs,
                [&](const Job& job) { return workload->requests[job.request].places > 1; }),
            5620);
  EXPECT_EQ(workload->notes.at("no_gpu"), 0U);
}

}  // namespace
}  // namespace cleave
