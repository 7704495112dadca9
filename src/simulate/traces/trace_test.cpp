// Public traces: what is read, what is left out and why, and errors in damaged files.

#include "simulate/traces/trace.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "base/read_text.hpp"
#include "model/workload_file.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/traces/alibaba2023.hpp"

namespace cleave {
namespace {

constexpr std::string_view header =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_"
    "time,"
    "scheduled_time\n";

Result<Workload> read(const std::string& rows, const TraceOptions& options = {}) {
  return read_alibaba2023(std::string(header) + rows, "pods.csv", options);
}

std::string left_out(const Workload& workload) {
  std::string text;
  for (const ReasonCount& entry : workload.left_out)
    text += std::to_string(entry.count) + " " + entry.reason + "; ";
  return text;
}

TEST(Alibaba2023, SortsCountsAndLeavesOut) {
  const auto workload = read(
      "late,1,1,1,1000,,LS,Succeeded,300,900,400\n"
      "early,1,1,1,460,,LS,Running,100,1000,100\n"  // ends at the trace's last instant
      "cpu,1,1,0,0,,BE,Succeeded,0,500,0\n"
      "pending,1,1,8,1000,,LS,Pending,50,1000,\n"
      "many,1,1,2,1000,,LS,Succeeded,60,500,70\n"
      "broken,1,1,1,100,,LS,Failed,200,260,200\n");
  ASSERT_TRUE(workload) << workload.error().text();
  ASSERT_EQ(workload->jobs.size(), 4U);
  EXPECT_EQ(workload->read, 5U);
  EXPECT_EQ(left_out(*workload), "1 never scheduled; ");
  EXPECT_EQ(workload->notes.at("no_gpu"), 1U);
  EXPECT_EQ(workload->notes.at("censored"), 1U);
  EXPECT_EQ(workload->jobs[1].id, "early");
  EXPECT_EQ(workload->jobs[3].id, "late");
  EXPECT_EQ(workload->jobs[3].duration, std::chrono::seconds(500))
      << "from when it was scheduled, not created";
  EXPECT_EQ(workload->read, workload->jobs.size() + 1);
}

TEST(Alibaba2023, PodsOfSeveralGpusHaveThemOnOneNode) {
  const std::string rows =
      "eight,1,1,8,1000,,LS,Succeeded,0,3600,0\n"
      "halves,1,1,2,500,,LS,Succeeded,1,7201,1\n"
      "one,1,1,1,1000,,LS,Succeeded,2,3602,2\n"
      "pending,1,1,8,1000,,LS,Pending,5,1000,\n";
  const auto asked = [&](SeveralGpus several) {
    TraceOptions options;
    options.several = several;
    const auto workload = read(rows, options);
    EXPECT_TRUE(workload);
    EXPECT_NEAR(workload->gpu_hours_read, 11, 1e-9) << "as far as they are known";
    double kept = 0, left = 0;
    std::string texts;
    for (const Job& job : workload->jobs) {
      texts += text(workload->requests[job.request]) + "; ";
      kept += workload->gpu_hours_of(job);
    }
    for (const ReasonCount& entry : workload->left_out) left += entry.gpu_hours;
    EXPECT_NEAR(kept + left, workload->gpu_hours_read, 1e-9);
    return texts + left_out(*workload);
  };
  EXPECT_EQ(asked(SeveralGpus::gpus),
            "8 whole GPUs on one node; 2 x 500/1000 of a GPU on one node; all of a GPU; "
            "1 never scheduled; ");
  EXPECT_EQ(asked(SeveralGpus::instances),
            "8 x all of a GPU on one node; 2 x 500/1000 of a GPU on one node; all of a "
            "GPU; 1 never scheduled; ");
  EXPECT_EQ(asked(SeveralGpus::left_out), "all of a GPU; 2 several GPUs; 1 never scheduled; ");
}

TEST(Alibaba2023, CompressesArrivalsOnlyAndLimits) {
  TraceOptions options;
  options.compress = Ratio(20, 1);
  options.limit = 2;
  const auto workload = read(
      "a,1,1,1,1000,,,R,1000,3000,1000\nb,1,1,1,1000,,,R,2000,2500,2000\nc,1,1,1,1000,,,R,9000,"
      "9500,9000\n",
      options);
  ASSERT_TRUE(workload);
  ASSERT_EQ(workload->jobs.size(), 2U);
  EXPECT_EQ(workload->jobs[1].arrival.time_since_epoch(), std::chrono::seconds(100));
  EXPECT_EQ(workload->jobs[1].duration, std::chrono::seconds(500));
  EXPECT_EQ(workload->options.at("compress"), "20");
  EXPECT_EQ(workload->options.at("limit"), "2");
}

TEST(Alibaba2023, NamesTheLineThatIsWrong) {
  EXPECT_EQ(read("a,1,1,1,1000,,,R,5,9,5\nb,1,1\n").error().text(),
            "pods.csv:3: the line has 3 cells, the header 11; the line may be torn");
  EXPECT_EQ(read("a,1,1,1,1000,,,R,5,3,4\n").error().text(),
            "pods.csv:2: the pod ends at 3 before it starts at 4; correct the line or remove it");
  EXPECT_EQ(read("a,1,1,1,1000,,,R,-5,3,2\n").error().message,
            "creation_time is '-5', expected seconds from the start of the trace");
  EXPECT_EQ(read("a,1,1,1,1001,,,R,5,9,5\n").error().message,
            "gpu_milli is '1001', expected a whole number from 0 to 1000");
  EXPECT_EQ(read("a,1,1,1,0,,,R,5,9,5\n").error().message,
            "the pod asks for a GPU but for none of its compute");
  EXPECT_EQ(read("a,1,1,2,0,,,R,5,9,5\n").error().message,
            "the pod asks for a GPU but for none of its compute");
  EXPECT_EQ(read("a,1,1,1,9,,,R,5,9,5\na,1,1,1,9,,,R,5,9,5\n").error().message,
            "there are two pods named 'a'");
  EXPECT_EQ(read_alibaba2023("name,x\n", "pods.csv", {}).error().text(),
            "pods.csv:1: the column 'num_gpu' is missing; a pod list with times is needed, such as "
            "openb_pod_list_default.csv");
  EXPECT_EQ(read("a,1,1,1,9,,,R,5,9,3\n").error().message,
            "the pod is scheduled at 3 before it is created at 5")
      << "a torn last line";
  EXPECT_EQ(read("").error().message, "the trace has no pod that asks for a GPU");
}

TEST(ReadTrace, NamesFormatsAndFiles) {
  EXPECT_EQ(read_trace("pods.csv", {}).error().text(),
            "--trace: 'pods.csv' does not name a trace format; write alibaba2023:FILE, "
            "alibaba2025:FILE, alibaba2026:FILE, philly:FILE, miso:FILE, sacct:FILE or swf:FILE");
  EXPECT_EQ(read_trace("philly:", {}).error().text(),
            "--trace: no file is named; write philly:FILE");
  EXPECT_TRUE((*trace_format("swf:x"))->has_option("processors-per-gpu"));
  EXPECT_FALSE((*trace_format("swf:x"))->has_option("gap"));
  EXPECT_TRUE((*trace_format("miso:x"))->has_option("compress"));
  EXPECT_TRUE((*trace_format("sacct:x"))->has_option("dcgm"));
  EXPECT_FALSE((*trace_format("alibaba2026:x"))->has_option("rule"));
  EXPECT_EQ(read_trace("alibaba2023:/no/such", {}).error().text(),
            "/no/such: No such file or directory; check the name");
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("cleave-trace-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& content) {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return (path_ / name).string();
  }
  std::filesystem::path path_;
};

TEST_F(Folder, ReadsGzipAndRefusesATornOne) {
  const std::string text(100000, 'x');
  const std::string file = (path_ / "x.gz").string();
  gzFile out = gzopen(file.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  EXPECT_EQ(read_text(file), text);
  const auto size = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, size / 2);
  const auto torn = read_text(file);
  ASSERT_FALSE(torn);
  EXPECT_NE(torn.error().message.find("broken gzip"), std::string::npos);
  EXPECT_EQ(read_text(write("plain", "abc")), "abc");
  EXPECT_EQ(read_text(path_.string()).error().message, "Is a directory");
}

TEST_F(Folder, EveryFormatIsReadFromGzip) {
  const std::pair<std::string, std::string> traces[] = {
      {"philly",
       "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,a\n"},
      {"miso",
       "job,model,batch_size,runtime_on_full_gpu_s,iterations\n0,transformer,32,120,2980\n"},
      {"sacct", "JobID|Submit|Start|ElapsedRaw|State|AllocTRES\n1|5|6|7|COMPLETED|gres/gpu=1\n"},
      {"swf", "; a\n1 0 0 5 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n"}};
  for (const auto& [format, text] : traces) {
    const std::string file = (path_ / (format + ".gz")).string();
    gzFile out = gzopen(file.c_str(), "wb");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
    const auto workload = read_trace(format + ":" + file, {});
    ASSERT_TRUE(workload) << workload.error().text();
    EXPECT_EQ(workload->jobs.size(), 1U) << format;
    EXPECT_EQ(workload->options.at("format"), format);
    EXPECT_EQ(workload->options.at("compress"), "1");
  }
}

// The trace as published, with the figures of its own description.
TEST(PublicTrace, HasItsPublishedCounts) {
  const std::string file =
      source_dir() + "/../shared/data/alibaba-gpu-v2023/openb_pod_list_default.csv.gz";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << "the public trace (alibaba-gpu-v2023) is not here";
  const auto workload = read_trace("alibaba2023:" + file, {});
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->read, 7064U);
  EXPECT_EQ(workload->notes.at("no_gpu"), 8152U - 7064U);
  std::size_t left = 0;
  for (const ReasonCount& entry : workload->left_out) left += entry.count;
  EXPECT_EQ(workload->jobs.size() + left, 7064U);
}

TEST(Generator, MakesTheBundledFile) {
  const auto bundled = read_text(source_dir() + "/data/workloads/lab-day.jsonl");
  ASSERT_TRUE(bundled);
  EXPECT_EQ(workload_text(*generate_workload("lab-day", 1)), *bundled)
      << "rewrite it with `cleave workload generate lab-day`";
  EXPECT_NE(workload_text(*generate_workload("lab-day", 2)), *bundled);
}

}  // namespace
}  // namespace cleave
