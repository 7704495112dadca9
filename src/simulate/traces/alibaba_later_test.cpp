// Alibaba's traces of 2025 and 2026: what is read, left out and made of it. The published files are
// read where they are at hand.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/places_test.hpp"
#include "simulate/traces/alibaba2025.hpp"
#include "simulate/traces/alibaba2026.hpp"

namespace cleave {
namespace {

constexpr const char* instances =
    "instance_sn,role,app_name,cpu_request,gpu_request,memory_request,creation_time,"
    "scheduled_time,deletion_time\n"
    "before,HN,app_0,12,1,120.0,,,1000\n"
    "whole,HN,app_0,12,1,120.0,100,110,1110\n"
    "still,HN,app_1,16,2,100.5,200,200,\n"
    "cpu,CN,app_1,16,0,64.0,,,5000\n"
    "never,HN,app_1,16,1,100.5,300,,\n"
    "last,HN,app_1,16,1,100.5,5000,5000,\n";

TEST(Alibaba2025, InstancesAreJobs) {
  const auto workload = read_alibaba2025(instances, "trace.csv", {});
  ASSERT_TRUE(workload) << workload.error().text();
  ASSERT_EQ(workload->jobs.size(), 3U);
  EXPECT_EQ(workload->read, 5U);
  const Job& before = workload->jobs[0];
  EXPECT_EQ(before.id, "before");
  EXPECT_EQ(before.arrival, Instant{});
  EXPECT_EQ(before.duration, std::chrono::seconds(1000));
  EXPECT_EQ(workload->jobs[1].duration, std::chrono::seconds(1000));
  const Job& still = workload->jobs[2];
  EXPECT_EQ(still.duration, std::chrono::seconds(4800)) << "to the last instant of the trace";
  EXPECT_EQ(text(workload->requests[still.request]), "2 whole GPUs on one node");
  EXPECT_EQ(workload->details_of(still)->cpus, 8) << "of each process";
  EXPECT_EQ(workload->details_of(still)->host_memory, MiB{51456});
  EXPECT_EQ(workload->details_of(still)->application, "app_1");
  EXPECT_EQ(workload->notes.at("no_gpu"), 1U);
  EXPECT_EQ(workload->notes.at("censored"), 1U);
  EXPECT_EQ(workload->notes.at("began_before"), 1U);
  ASSERT_EQ(workload->left_out.size(), 2U);
  EXPECT_EQ(workload->left_out[0].reason, "never scheduled");
  EXPECT_EQ(workload->left_out[1].reason, "no run time");
}

TEST(Alibaba2025, DamagedRowsAreRefused) {
  const std::string header =
      "instance_sn,app_name,cpu_request,gpu_request,memory_request,creation_time,scheduled_time,"
      "deletion_time\n";
  const auto error = [&](const std::string& rows) {
    const auto workload = read_alibaba2025(header + rows, "t", {});
    return workload ? std::string("read") : workload.error().text();
  };
  EXPECT_EQ(error("a,x,1,1,1,10,5,20\n"),
            "t:2: the instance is scheduled before it is created; correct the line or remove it");
  EXPECT_EQ(error("a,x,1,1,1,10,15,12\n"),
            "t:2: the instance ends before it starts; correct the line or remove it");
  EXPECT_EQ(error("a,x,1,1,1,10,15,20\na,x,1,1,1,10,15,20\n"),
            "t:3: there are two instances named 'a'; remove one of the two");
  EXPECT_TRUE(error("a,x,many,1,1,10,15,20\n").starts_with("t:2: cpu_request is 'many', "));
  EXPECT_EQ(error("a,x,1,0,1,10,15,20\n"),
            "t: the trace has no instance with a GPU; those of role HN have one");
}

constexpr const char* requests =
    "gmt_create,predict_status,exec_time_seconds,checkpoint_model_version_id\n"
    "2024-11-15 16:00:00,SUCCEED,30,M0\n"
    "2024-11-15 16:30:00,SUCCEED,50,M0\n"
    "2024-11-15 18:10:00,SUCCEED,40,M0\n"
    "2024-11-15 16:10:00,FAILED,,M1\n"
    "2024-11-15 17:10:00,SUCCEED,20,M1\n";

TEST(Alibaba2026, RequestsAreServices) {
  const auto workload = read_alibaba2026(requests, "trace.csv", {});
  ASSERT_TRUE(workload) << workload.error().text();
  ASSERT_EQ(workload->services.size(), 2U);
  const ServiceTerms& first = workload->services[0];
  EXPECT_EQ(first.id, "M0");
  EXPECT_DOUBLE_EQ(first.served_per_s, 1.0 / 40);
  EXPECT_EQ(first.replicas, 1U);
  EXPECT_EQ(first.runs_for, std::chrono::hours(3));
  ASSERT_EQ(first.load.size(), 3U);
  EXPECT_DOUBLE_EQ(first.load[0].requests_per_s, 2.0 / 3600);
  EXPECT_EQ(first.load[1].from, std::chrono::hours(1));
  EXPECT_EQ(first.load[1].requests_per_s, 0);
  EXPECT_DOUBLE_EQ(first.load[2].requests_per_s, 1.0 / 3600);
  EXPECT_EQ(workload->services[1].load.front().from, std::chrono::hours(1));
  EXPECT_EQ(workload->notes.at("requests"), 4U);
  EXPECT_EQ(workload->notes.at("requests_unserved"), 1U);
  EXPECT_EQ(workload->kind_of(workload->jobs[0]), JobKind::service);

  TraceOptions options;
  options.compress = Ratio(600, 1);
  const auto faster = read_alibaba2026(requests, "trace.csv", options);
  ASSERT_TRUE(faster);
  EXPECT_EQ(faster->services[0].runs_for, std::chrono::seconds(18));
  // A third of a request a second, 40 s each, at most 70 % busy.
  EXPECT_EQ(faster->services[0].replicas, 20U);
}

TEST(Alibaba2026, DamagedRowsAreRefused) {
  const std::string header =
      "gmt_create,predict_status,exec_time_seconds,checkpoint_model_version_id\n";
  const auto error = [&](const std::string& rows) {
    const auto workload = read_alibaba2026(header + rows, "t", {});
    return workload ? std::string("read") : workload.error().text();
  };
  EXPECT_EQ(error("noon,SUCCEED,1,M0\n").substr(0, 28), "t:2: gmt_create is 'noon', e");
  EXPECT_EQ(error("2024-11-15 16:00:00,SUCCEED,0,M0\n"),
            "t:2: the request took no time; correct the line or remove it");
  EXPECT_EQ(error("2024-11-15 16:00:00,FAILED,1,M0\n"),
            "t: the trace has no request that was served; their predict_status is SUCCEED");
}

TEST(LaterAlibaba, ThePublishedFilesAreRead) {
  const std::string data = source_dir() + "/../shared/data/";
  const std::string of_2025 = data + "alibaba-gpu-v2025/disaggregated_DLRM_trace.csv.gz";
  const std::string of_2026 = data + "alibaba-v2026-genai/lora_request_trace.csv.gz";
  if (!std::filesystem::exists(of_2025) || !std::filesystem::exists(of_2026))
    GTEST_SKIP() << "the public traces alibaba-gpu-v2025 and alibaba-v2026-genai are not here";
  const auto jobs = read_trace("alibaba2025:" + of_2025, {});
  ASSERT_TRUE(jobs) << jobs.error().text();
  EXPECT_EQ(jobs->read, 7386U);
  EXPECT_EQ(jobs->notes.at("no_gpu"), 16485U);
  const auto services = read_trace("alibaba2026:" + of_2026, {});
  ASSERT_TRUE(services) << services.error().text();
  EXPECT_EQ(services->notes.at("requests"), 26392U);
  EXPECT_EQ(services->notes.at("requests_unserved"), 431U);
}

}  // namespace
}  // namespace cleave
