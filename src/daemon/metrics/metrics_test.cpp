// The families, the page, and who may read it.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"
#include "daemon/metrics/metric_families.hpp"
#include "daemon/metrics/metric_table.hpp"
#include "daemon/metrics/metrics_access.hpp"
#include "daemon/metrics/metrics_page.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(MetricTable, IsInTheDocumentation) {
  const std::string path = source_dir() + "/docs/metrics.md";
  const std::string page = file_text(path);
  const std::size_t mark = page.find("<!-- families:");
  ASSERT_NE(mark, std::string::npos);
  const std::size_t begin = page.find('\n', mark) + 1, end = page.find("<!-- end -->", begin);
  ASSERT_NE(end, std::string::npos);
  const std::string now = page.substr(0, begin) + metric_rows_text() + page.substr(end);
  if (std::getenv("CLEAVE_WRITE_DOCS") != nullptr) std::ofstream(path, std::ios::binary) << now;
  EXPECT_EQ(file_text(path), now)
      << "to write it: CLEAVE_WRITE_DOCS=1 daemon_test --gtest_filter=MetricTable.*";
}

TEST(MetricTable, NamesSayWhatTheConventionsWant) {
  std::set<std::string_view> names;
  for (const MetricRow& row : metric_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.name.starts_with("cleave_") || row.name.starts_with("process_")) << row.name;
    EXPECT_EQ(row.kind == MetricKind::counter, row.name.ends_with("_total")) << row.name;
    EXPECT_TRUE(row.kind != MetricKind::histogram || row.name.ends_with("_seconds")) << row.name;
    EXPECT_TRUE(row.help.ends_with('.')) << row.name;
    // Prometheus gives these to its targets and would rename ours.
    for (const std::string_view label : split(row.labels, ' '))
      EXPECT_TRUE(label != "job" && label != "instance" && label != "user") << row.name;
  }
}

/// A GPU with one job, one idle and one foreign instance.
GpuFigures busy_gpu(std::uint32_t index) {
  GpuFigures gpu;
  gpu.index = index;
  gpu.uuid = fmt::format("GPU-{}", index);
  gpu.model = "NVIDIA A100-SXM4-40GB";
  gpu.memory_slices = {4, 1, 0, 1, 2};
  gpu.compute_slices = {3, 1, 0, 1, 2};
  gpu.instances = {{"3g.20gb", InstanceStanding::held, 2, 41},
                   {"1g.5gb", InstanceStanding::idle, 9, 0},
                   {"1g.5gb", InstanceStanding::foreign, 10, 0},
                   {"1g.5gb", InstanceStanding::making, std::nullopt, 0}};
  gpu.room = {{"7g.40gb", 0, 0}, {"2g.10gb", 1, 0}, {"1g.5gb", 2, 2}};
  gpu.fragmentation = 0.25;
  gpu.power_w = 212.5;
  gpu.energy_j = 1e9;
  gpu.utilisation = 0.5;
  gpu.conditions = 1;
  return gpu;
}

NodeFigures busy_node() {
  NodeFigures node;
  node.gpus = {busy_gpu(0)};
  node.jobs = {3, 1, 2, 0};
  node.waiting[static_cast<std::size_t>(WaitReason::room)] = 3;
  node.plan_moves = {1, 0, 2, 0, 0};
  node.disks = {{"/var/lib/cleave", 100, 50, 0, 0}};
  node.scheduler = "adaptive:a=\"b\"\n";
  node.tally.submitted = 9;
  node.tally.jobs_ended[static_cast<std::size_t>(JobState::failed)] = 2;
  node.tally.attempts_ended[static_cast<std::size_t>(AttemptEnd::out_of_memory)] = 4;
  node.tally.energy["GPU-0"] = {1000, 2500, 3000};
  node.tally.created.done = 5;
  node.tally.created.took.add(260ms);
  node.tally.waited.add(90s);
  node.decisions.add(30us);
  return node;
}

std::string text_of(const NodeFigures& node) {
  return metrics_text(
      metric_families(node, {"0.1.0", true, Instant(100s), 4096, std::int64_t{1 << 20}}));
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(MetricFamilies, SayHowTheNodeStands) {
  const std::string text = text_of(busy_node());
  for (const char* line : {
           "# TYPE cleave_gpus gauge",
           "cleave_gpus{state=\"ready\"} 1",
           "cleave_gpus{state=\"lost\"} 0",
           "cleave_gpu_ready{gpu=\"0\"} 1",
           "cleave_memory_slices{gpu=\"0\",use=\"held\"} 4",
           "cleave_compute_slices{gpu=\"0\",use=\"free\"} 2",
           "cleave_free_placements{gpu=\"0\",profile=\"2g.10gb\",by=\"size\"} 1",
           "cleave_free_placements{gpu=\"0\",profile=\"2g.10gb\",by=\"position\"} 0",
           "cleave_fragmentation_ratio{gpu=\"0\"} 0.25",
           "cleave_gpu_power_watts{gpu=\"0\"} 212.5",
           "cleave_instances{profile=\"1g.5gb\",state=\"idle\"} 1",
           "cleave_instances{profile=\"1g.5gb\",state=\"foreign\"} 1",
           "cleave_instances{profile=\"7g.40gb\",state=\"held\"} 0",
           "cleave_jobs{state=\"running\"} 2",
           "cleave_queue_jobs{reason=\"room\"} 3",
           "cleave_queue_jobs{reason=\"paused\"} 0",
           "# TYPE cleave_jobs_submitted_total counter",
           "cleave_jobs_submitted_total 9",
           "cleave_jobs_ended_total{state=\"failed\"} 2",
           "cleave_attempts_ended_total{end=\"out-of-memory\"} 4",
           "cleave_job_restarts_total{cause=\"memory\"} 4",
           "cleave_job_restarts_total{cause=\"early\"} 0",
           "cleave_energy_joules_total{gpu=\"0\",use=\"idle\"} 2.5",
           "cleave_instance_changes_total{change=\"create\",result=\"done\"} 5",
           "cleave_plan_moves{state=\"done\"} 2",
           "cleave_disk_free_bytes{disk=\"store\"} 50",
           "cleave_build_info{version=\"0.1.0\",simulated=\"true\"} 1",
           "cleave_scheduler_info{scheduler=\"adaptive:a=\\\"b\\\"\\n\"} 1",
           "process_start_time_seconds 100",
       })
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  EXPECT_FALSE(has_line(text, "cleave_jobs{state=\"finished\"} 0")) << "they have ended";
}

TEST(MetricFamilies, InstancesJoinWithThoseOfDcgmExporter) {
  const std::string text = text_of(busy_node());
  EXPECT_TRUE(has_line(text,
                       "cleave_instance_info{UUID=\"GPU-0\",GPU_I_ID=\"2\",gpu=\"0\",profile="
                       "\"3g.20gb\",job_number=\"41\"} 1"));
  EXPECT_TRUE(has_line(text,
                       "cleave_instance_info{UUID=\"GPU-0\",GPU_I_ID=\"9\",gpu=\"0\",profile="
                       "\"1g.5gb\",job_number=\"\"} 1"));
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("\ncleave_instance_info{", at)) != text.npos; ++at)
    ++count;
  EXPECT_EQ(count, 3U) << "the one that is being made does not exist yet";
}

TEST(MetricFamilies, HistogramsAddUp) {
  NodeFigures node;
  node.tally.waited.add(1s);
  node.tally.waited.add(59s);
  node.tally.waited.add(1000h);
  const std::string text = text_of(node);
  for (const char* line :
       {"# TYPE cleave_job_wait_seconds histogram", "cleave_job_wait_seconds_count 3",
        "cleave_job_wait_seconds_sum 3600060", "cleave_job_wait_seconds_bucket{le=\"1\"} 1",
        "cleave_job_wait_seconds_bucket{le=\"15\"} 1",
        "cleave_job_wait_seconds_bucket{le=\"60\"} 2",
        "cleave_job_wait_seconds_bucket{le=\"604800\"} 2",
        "cleave_job_wait_seconds_bucket{le=\"+Inf\"} 3"})
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
}

TEST(MetricFamilies, WhatIsNotKnownIsNotThere) {
  NodeFigures node;
  node.gpus.emplace_back();
  const std::string text = text_of(node);
  for (const char* family : {"cleave_gpu_power_watts", "cleave_gpu_energy_joules_total",
                             "cleave_gpu_utilization_ratio", "cleave_plan_moves"})
    EXPECT_EQ(text.find(family), std::string::npos) << family;
}

std::size_t series_of(const std::string& text) {
  std::size_t count = 0;
  for (const std::string_view line : split(text, '\n'))
    count += !line.empty() && !line.starts_with('#') ? 1U : 0U;
  return count;
}

TEST(MetricFamilies, SeriesAreBoundedByGpusAndInstances) {
  constexpr std::size_t gpus = 29, instances = 200, profiles = 5;
  NodeFigures node = busy_node();
  node.gpus.clear();
  for (std::size_t i = 0; i < gpus; ++i) {
    GpuFigures& gpu = node.gpus.emplace_back(busy_gpu(static_cast<std::uint32_t>(i)));
    gpu.instances.clear();
    gpu.room.clear();
    for (const char* profile : {"7g.40gb", "4g.20gb", "3g.20gb", "2g.10gb", "1g.5gb"})
      gpu.room.push_back({profile, 1, 1});
    node.tally.energy[gpu.uuid] = {1, 2, 3};
  }
  for (std::size_t i = 0; i < instances; ++i)
    node.gpus[i % gpus].instances.push_back({"1g.5gb", InstanceStanding::held,
                                             static_cast<std::uint32_t>(i),
                                             static_cast<JobNumber>(i + 1)});
  node.jobs = {800, 0, 200, 0};
  const std::string text = text_of(node);
  const std::size_t bound = 165 + 7 * profiles + (20 + 2 * profiles) * gpus + instances;
  fmt::print("{} series, {} bytes, at most {} series\n", series_of(text), text.size(), bound);
  EXPECT_LE(series_of(text), bound);
  node.jobs = {100'000, 0, 200, 0};
  EXPECT_EQ(series_of(text_of(node)), series_of(text)) << "jobs add none";
}

TEST(MetricsPage, IsKeptWhileItIsFresh) {
  Duration now{};
  int made = 0;
  Duration takes = 1ms;
  MetricsPage page({[&] {
                      ++made;
                      now += takes;
                      return busy_node();
                    },
                    [] { return DaemonFigures{}; }, [&] { return now; }});
  using enum MetricsPage::Way;
  const auto first = page.text(socket);
  EXPECT_EQ(page.text(listener), first) << "the same text";
  now += 249ms;
  EXPECT_EQ(page.text(listener), first);
  now += 1ms;
  takes = 100ms;
  const auto second = page.text(listener);
  EXPECT_EQ(made, 2);
  EXPECT_TRUE(has_line(*second, "cleave_metrics_requests_total{from=\"listener\"} 3")) << *second;
  EXPECT_TRUE(has_line(*second, "cleave_metrics_page_duration_seconds_count 1"));
  now += 4s;
  static_cast<void>(page.text(socket));
  EXPECT_EQ(made, 2) << "one that takes long is kept for longer";
  now += 1s;
  static_cast<void>(page.text(socket));
  EXPECT_EQ(made, 3);
}

TEST(MetricsAccess, AddressesAreNumbersWithAPort) {
  EXPECT_EQ(parse_metrics_address("127.0.0.1:9844")->port(), 9844);
  EXPECT_TRUE(parse_metrics_address("[::1]:1")->address().is_loopback());
  EXPECT_TRUE(parse_metrics_address("0.0.0.0:0")->address().is_unspecified());
  for (const char* wrong :
       {"", "9844", ":9844", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
        "127.0.0.1:1 ", "::1:9844", "[127.0.0.1]:80", "localhost:9844", "127.0.0.1:-1"})
    EXPECT_FALSE(parse_metrics_address(wrong)) << wrong;
}

TEST(MetricsAccess, OneOfTheUsersIsAskedFor) {
  EXPECT_TRUE(MetricsUsers().admit(""));
  const auto users = MetricsUsers::parse("# of Prometheus\n\nada:a:b\r\nbob:c\n", "f");
  ASSERT_TRUE(users);
  EXPECT_TRUE(users->admit("Basic YWRhOmE6Yg=="));
  EXPECT_TRUE(users->admit("basic Ym9iOmM="));
  for (const char* wrong : {"", "Basic", "Basic ", "Basic YWRhOmE6Yw==", "Bearer YWRhOmE6Yg==",
                            "YWRhOmE6Yg==", "Basic YWRhOmE6", "Basic YWRhOmE6Yg==="})
    EXPECT_FALSE(users->admit(wrong)) << wrong;
  for (const char* wrong : {"", "# nobody\n", "ada\n", ":x\n", "ada:\n"})
    EXPECT_FALSE(MetricsUsers::parse(wrong, "f")) << wrong;
  EXPECT_EQ(MetricsUsers::parse("a:b\nada\n", "f").error().place, "f:2");
}

TEST(MetricsAccess, AFileThatEverybodyCanReadIsRefused) {
  TemporaryFolder folder;
  const std::string file = (folder.path() / "passwords").string();
  EXPECT_FALSE(MetricsUsers::read(file));
  std::ofstream(file) << "ada:b\n";
  ::chmod(file.c_str(), 0644);
  ASSERT_FALSE(MetricsUsers::read(file));
  EXPECT_NE(MetricsUsers::read(file).error().text().find("everybody"), std::string::npos);
  ::chmod(file.c_str(), 0640);
  EXPECT_TRUE(MetricsUsers::read(file));
}

TEST(MetricsAccess, SettingsAreCheckedTogether) {
  EXPECT_TRUE(check_metrics({}));
  EXPECT_TRUE(check_metrics({"127.0.0.1:0", "", "", ""}));
  EXPECT_FALSE(check_metrics({"", "", "", "/some/file"})) << "what for?";
  EXPECT_FALSE(check_metrics({"nowhere", "", "", ""}));
  EXPECT_FALSE(check_metrics({"127.0.0.1:0", "/a.crt", "", ""})) << "no key";
  EXPECT_FALSE(check_metrics({"127.0.0.1:0", "/a.crt", "/a.key", ""})) << "no such file";
  EXPECT_FALSE(check_metrics({"127.0.0.1:0", "", "", "/no/such/file"}));
}

TEST(MetricsAccess, WhatAnAddressMeansIsSaid) {
  EXPECT_TRUE(metrics_remarks({}).empty());
  EXPECT_TRUE(metrics_remarks({"127.0.0.1:9844", "", "", ""}).empty());
  const auto both = metrics_remarks({"0.0.0.0:9844", "", "", ""});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_NE(both[0].find("anybody who reaches 0.0.0.0:9844"), std::string::npos) << both[0];
  EXPECT_NE(both[1].find("can be read on its way"), std::string::npos) << both[1];
  const auto plain = metrics_remarks({"[::]:9844", "", "", "/f"});
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_NE(plain[0].find("the passwords"), std::string::npos);
  EXPECT_TRUE(metrics_remarks({"0.0.0.0:9844", "/c", "/k", "/f"}).empty());
}

}  // namespace
}  // namespace cleave
