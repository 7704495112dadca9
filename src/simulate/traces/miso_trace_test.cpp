// MISO's jobs: speeds from the measured table, drawn arrivals, and errors in damaged files.

#include "simulate/traces/miso_trace.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "physics/speed.hpp"

namespace cleave {
namespace {

const std::string miso_header = "job,model,batch_size,runtime_on_full_gpu_s,iterations\n";

Result<Workload> read_rows_of_miso(const std::string& rows, const TraceOptions& options = {}) {
  return read_miso(miso_header + rows, "jobs.csv", options);
}

TEST(Miso, TakesSpeedsFromTheMeasurements) {
  const auto workload = read_rows_of_miso(
      "0,transformer,32,120,3000\n"
      "1,llama,8,60,10\n"
      "2,bert,8,60,10\n"
      "3,deepspeech2,4,60,10\n");
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->read, 4U);
  ASSERT_EQ(workload->jobs.size(), 3U);
  ASSERT_EQ(workload->left_out.size(), 1U);
  EXPECT_EQ(workload->left_out[0].reason, "speeds not measured");
  EXPECT_EQ(workload->notes.at("speeds_unreliable"), 1U);
  const GpuModel& a100 = **find_gpu_model("A100-40GB");
  const Job& transformer = workload->jobs[0];
  EXPECT_EQ(transformer.id, "miso-000");
  EXPECT_EQ(transformer.duration, std::chrono::seconds(120));
  EXPECT_EQ(speed_on(workload->speeds[transformer.speed], a100, *a100.find("1g.5gb"))->relative,
            0.163);
  EXPECT_EQ(speed_on_whole_gpu(workload->speeds[transformer.speed], a100)->relative, 1)
      << "MIG off was not measured";
  const JobDetails* details = workload->details_of(transformer);
  ASSERT_NE(details, nullptr);
  EXPECT_EQ(details->application, "transformer");
  EXPECT_EQ(details->batch, 32);
  EXPECT_EQ(details->latency, std::chrono::milliseconds(40));
  const Request& bert = workload->requests[workload->jobs[1].request];
  EXPECT_TRUE(std::holds_alternative<Unknown>(bert.wanted));
  EXPECT_EQ(*bert.fits, (std::vector<std::string>{"3g.20gb", "4g.20gb", "7g.40gb"}))
      << "where it ran";
}

TEST(Miso, DrawsArrivalsFromTheSeed) {
  std::string rows, with_unknown;
  for (int i = 0; i < 2000; ++i) {
    const std::string row = std::to_string(i) + ",gnn,64,60,10\n";
    rows += row;
    with_unknown += i == 5 ? "5,nobody,64,60,10\n" : row;
  }
  TraceOptions options;
  options.seed = 3;
  const auto workload = read_rows_of_miso(rows, options),
             again = read_rows_of_miso(with_unknown, options);
  ASSERT_TRUE(workload && again);
  EXPECT_EQ(workload->jobs[0].arrival, Instant{});
  // Mean and standard deviation are 60 s: the mean of 2,000 gaps has a standard deviation of 1.3 s.
  EXPECT_NEAR(in_seconds(workload->jobs.back().arrival - Instant{}) / 1999, 60, 5);
  EXPECT_EQ(workload->jobs.back().arrival, again->jobs.back().arrival)
      << "a job that is left out takes nobody's arrival";
  EXPECT_TRUE(std::ranges::is_sorted(workload->jobs, {}, &Job::arrival));
  EXPECT_EQ(workload->options.at("gap_s"), "60");
  EXPECT_EQ(workload->options.at("seed"), "3");
  options.gap = std::chrono::seconds{30};
  options.limit = 10;
  const auto closer = read_rows_of_miso(rows, options);
  ASSERT_TRUE(closer);
  ASSERT_EQ(closer->jobs.size(), 10U);
  EXPECT_NEAR(in_seconds(closer->jobs[9].arrival - Instant{}) * 2,
              in_seconds(workload->jobs[9].arrival - Instant{}), 1e-6);
  options.seed = 4;
  EXPECT_NE(read_rows_of_miso(rows, options)->jobs[9].arrival, closer->jobs[9].arrival);
}

TEST(Miso, NamesTheLineThatIsWrong) {
  EXPECT_EQ(read_rows_of_miso("0,gnn,64,60,10\n0,gnn,64,60,10\n").error().text(),
            "jobs.csv:3: there are two jobs numbered 0; remove one of the two");
  EXPECT_EQ(read_rows_of_miso("0,gnn,0,60,10\n").error().message,
            "batch_size is '0', expected a whole number from 1 to 1000000");
  EXPECT_EQ(read_rows_of_miso("0,,64,60,10\n").error().message, "the job has no model");
  EXPECT_EQ(
      read_rows_of_miso("x,gnn,64,60,10\n").error().text(),
      "jobs.csv:2: job is 'x', expected a whole number from 0 to 1000000000; correct the line or "
      "remove it");
  EXPECT_EQ(read_rows_of_miso("0,gnn,64,long,10\n").error().message,
            "runtime_on_full_gpu_s is 'long', expected seconds");
  EXPECT_EQ(read_rows_of_miso("0,gnn,64,0,10\n").error().message, "runtime_on_full_gpu_s is 0");
  EXPECT_EQ(read_rows_of_miso("0,gnn,64,60,0\n").error().message,
            "iterations is '0', expected a whole number from 1 to 1000000000000");
  EXPECT_EQ(read_rows_of_miso("0,gnn,64\n").error().message, "the line has 3 cells, the header 5");
  EXPECT_EQ(read_rows_of_miso("").error().message, "the trace has no jobs");
  EXPECT_EQ(
      read_miso("job,model\n", "jobs.csv", {}).error().text(),
      "jobs.csv:1: the column 'batch_size' is missing; the jobs of MISO's experiment are needed, "
      "jobs_100.csv");
  TraceOptions rare;
  rare.gap = std::chrono::seconds{999'999'999};
  std::string rows;
  for (int i = 0; i < 100; ++i) rows += std::to_string(i) + ",gnn,64,60,10\n";
  EXPECT_FALSE(read_rows_of_miso(rows, rare)) << "three thousand years";
}

TEST(PublicTrace, MisoIsReadWhole) {
  const std::string file = source_dir() + "/../shared/data/mig-miso-a100-40gb/jobs_100.csv";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << "the public trace (mig-miso-a100-40gb) is not here";
  const auto workload = read_trace("miso:" + file, {});
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->jobs.size(), 100U) << "every pair was measured";
}

}  // namespace
}  // namespace cleave
