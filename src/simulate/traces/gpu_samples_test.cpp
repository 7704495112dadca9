// Samples of GPUs find their jobs by name, or by node and time; by hand.

#include "simulate/traces/gpu_samples.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

JoinedSamples joined(const std::string& text, std::span<const SampledJob> jobs,
                     BadLines* bad = nullptr) {
  const auto samples = join_samples(text, "dcgm.csv", jobs, bad);
  EXPECT_TRUE(samples) << samples.error().text();
  return samples.value_or(JoinedSamples{});
}

TEST(GpuSamples, ThatNameAJobBelongToIt) {
  const SampledJob jobs[] = {{"7_1", "12", "", 0, 100, 1}, {"8", "8", "", 0, 100, 2}};
  const JoinedSamples samples = joined(
      "timestamp,gpu,hpc_job,DCGM_FI_PROF_GR_ENGINE_ACTIVE,DCGM_FI_DEV_FB_USED\n"
      "10,0,12,0.5,8000\n20,0,12,0.7,9000\n20,1,8,1,100\n20,2,8,0.5,300\n30,1,8,,\n30,5,,0.1,1\n"
      "30,5,99,0.1,1\n",
      jobs);
  EXPECT_DOUBLE_EQ(*samples.by_job[0].busy_percent, 60);
  EXPECT_EQ(samples.by_job[0].memory, MiB{9000});
  EXPECT_DOUBLE_EQ(*samples.by_job[1].busy_percent, 75) << "an empty cell is no zero";
  EXPECT_EQ(samples.by_job[1].memory, MiB{300});
  EXPECT_EQ(samples.read, 7U);
  EXPECT_EQ(samples.of_no_job, 2U);
}

TEST(GpuSamples, OfANodeBelongToTheJobThatIsAloneThere) {
  const SampledJob jobs[] = {{"1", "", "n0", 1000, 2000, 1},
                             {"2", "", "n0", 1500, 1800, 1},
                             {"3", "", "n1", 1000, 2000, 2}};
  const JoinedSamples samples = joined(
      "time;Hostname;gpu;GPU_UTIL;FB_USED\n"
      "999;n0;0;100;1\n"      // before the job
      "1100;n0.site;0;0;0\n"  // idle: the job has the other
      "1970-01-01T00:18:20Z;n0;1;40;5000\n"
      "1600;n0;1;90;1\n"  // two jobs are there
      "2000;n0;1;90;1\n"  // the end is not in it
      "1200;n1;0;20;10\n1200;n1;1;0;0\n1200;n1;2;60;30\n1200;n2;0;1;1\n",
      jobs);
  EXPECT_DOUBLE_EQ(*samples.by_job[0].busy_percent, 40);
  EXPECT_EQ(samples.by_job[0].memory, MiB{5000});
  EXPECT_FALSE(samples.by_job[1].busy_percent);
  EXPECT_DOUBLE_EQ(*samples.by_job[2].busy_percent, 40) << "its two are the busiest of three";
  EXPECT_EQ(samples.ambiguous, 1U);
  EXPECT_EQ(samples.of_no_job, 3U);
}

TEST(GpuSamples, TimesMayBeInMilliseconds) {
  const SampledJob jobs[] = {{"1", "", "n0", 1706702400, 1706706000, 1}};
  const JoinedSamples samples =
      joined("timestamp,node,GPU_UTIL\n1706702460000,n0,50\n1706702520,n0,70\n", jobs);
  EXPECT_DOUBLE_EQ(*samples.by_job[0].busy_percent, 60);
}

TEST(GpuSamples, ColumnsAndCellsAreChecked) {
  const auto error = [](const std::string& text) {
    const auto samples = join_samples(text, "dcgm.csv", {}, nullptr);
    return samples ? std::string("read") : samples.error().text();
  };
  EXPECT_EQ(error("timestamp,Hostname,temperature\n"),
            "dcgm.csv:1: no column says how busy a GPU is, or its memory; "
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE or DCGM_FI_DEV_GPU_UTIL, and DCGM_FI_DEV_FB_USED, are "
            "read");
  EXPECT_EQ(error("timestamp,GPU_UTIL\n"),
            "dcgm.csv:1: no column says which job a sample is of; a column hpc_job or job_id does, "
            "or timestamp and Hostname together");
  EXPECT_EQ(error("job,GPU_UTIL\n1,101\n"),
            "dcgm.csv:2: how busy the GPU is, is '101', expected 0 to 100; correct the line or "
            "remove it");
  EXPECT_EQ(error("job,gract\n1,50\n").substr(0, 52),
            "dcgm.csv:2: how busy the GPU is, is '50', expected 0");
  EXPECT_NE(error("job,fb_used\n1,much\n").find("the memory used is 'much'"), std::string::npos);
  EXPECT_NE(error("job,time,fb_used\n1,noon,5\n").find("the time is 'noon'"), std::string::npos);
  BadLines bad;
  EXPECT_EQ(joined("job,gract\n1,x\n1,0.5\n", {}, &bad).read, 1U);
  EXPECT_EQ(bad.count, 1U);
}

}  // namespace
}  // namespace cleave
