// Reports: that what they show is what the run's own figures say, and that nothing in them runs.

#include "report/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.hpp"
#include "model/workload_file.hpp"
#include "report/run_recorder.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/simulator.hpp"

namespace cleave::report {
namespace {

struct Recorded {
  RunSummary summary;
  Json json;
};

Recorded recorded(std::string_view fleet_text, std::string_view scheduler, const Workload& workload,
                  const Bounds& bounds = {}, SimulationOptions options = {}) {
  const FleetFile fleet = *parse_fleet_in_short(fleet_text, {});
  RunRecorder recorder(fleet, workload, bounds);
  options.observer = &recorder;
  const auto summary = simulate(fleet, workload, *parse_scheduler(scheduler), options);
  EXPECT_TRUE(summary) << summary.error().text();
  return {*summary, recorder.finish()};
}

Workload day(std::uint64_t seed) {
  return *generate_workload("lab-day", seed);
}

/// The mean of a series over the run.
double mean_of(const Json& recorded, const char* series) {
  const double length = recorded["length_ms"].get<double>();
  const double step = recorded["series"]["step_ms"].get<double>();
  double sum = 0, at = 0;
  for (const Json& value : recorded["series"][series]) {
    sum += value.get<double>() * std::min(step, length - at);
    at += step;
  }
  return sum / length;
}

TEST(RunRecorder, SeriesAreWhatTheFiguresSay) {
  const Workload workload = day(1);
  constexpr double gpus = 2;
  double work = 0;
  for (const Job& job : workload.jobs) work += in_seconds(job.duration);
  for (const char* scheduler : {"adaptive", "online", "full-gpu", "miso", "dyna-p"}) {
    const auto [summary, json] = recorded("2xA100-40GB", scheduler, workload);
    EXPECT_NEAR(json["length_ms"].get<double>() / 1000, in_seconds(summary.makespan), 60)
        << scheduler;
    EXPECT_NEAR(mean_of(json, "compute"), summary.compute_utilization, 0.01) << scheduler;
    EXPECT_NEAR(mean_of(json, "memory"), summary.memory_allocated_utilization, 0.01) << scheduler;
    EXPECT_NEAR(mean_of(json, "fragmentation"), summary.fragmentation_mean, 0.01) << scheduler;
    EXPECT_NEAR(mean_of(json, "speed") * in_seconds(summary.makespan) * gpus, work,
                0.01 * work + summary.lost_work_s)
        << scheduler;
    EXPECT_NEAR(mean_of(json, "power_w") * in_seconds(summary.makespan), *summary.job_energy_j,
                0.02 * *summary.job_energy_j)
        << scheduler;
    EXPECT_NEAR(mean_of(json, "waiting") * in_seconds(summary.makespan), summary.waiting_s,
                0.02 * summary.waiting_s + 60)
        << scheduler;
  }
}

TEST(RunRecorder, SpansOfASliceDoNotOverlap) {
  const auto [summary, json] = recorded("2xA100-40GB", "adaptive", day(2));
  const Json& spans = json["timeline"]["spans"];
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> by_slice;
  std::int64_t begin = 0;
  std::size_t jobs = 0;
  for (std::size_t i = 0; i < spans["gpu"].size(); ++i) {
    begin += spans["after_ms"][i].get<std::int64_t>();
    const auto length = spans["length_ms"][i].get<std::int64_t>();
    EXPECT_GE(begin, 0);
    EXPECT_GE(length, 0);
    jobs += spans["job"][i].is_null() ? 0 : 1;
    const int start = spans["start"][i];
    for (int slice = start; slice < start + spans["slices"][i].get<int>(); ++slice)
      by_slice[{spans["gpu"][i], slice}].emplace_back(begin, begin + length);
  }
  EXPECT_GE(jobs, summary.jobs);
  for (auto& [slice, all] : by_slice) {
    EXPECT_LT(slice.second, 8);
    std::ranges::sort(all);
    for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i - 1].second, all[i].first);
  }
  EXPECT_EQ(json["timeline"]["jobs"].size(), summary.jobs);
  EXPECT_EQ(json["timeline"]["moves"].size(), summary.migrations);
}

TEST(RunRecorder, ManySpansBecomeMeansOfGroupsOfGpus) {
  Bounds bounds;
  bounds.spans = 50;
  bounds.rows = 3;
  const auto [summary, json] = recorded("8xA100-40GB", "online", day(3), bounds);
  const Json& timeline = json["timeline"];
  EXPECT_FALSE(timeline.contains("spans"));
  ASSERT_EQ(timeline["rows"].size(), 3U);
  EXPECT_EQ(timeline["rows"][2]["last"], 7);
  double held = 0, gpus = 0;
  for (const Json& row : timeline["rows"]) {
    const double of_row = row["last"].get<double>() - row["first"].get<double>() + 1;
    double sum = 0;
    for (const Json& value : row["held"]) sum += value.get<double>();
    held += of_row * sum / static_cast<double>(row["held"].size());
    gpus += of_row;
  }
  EXPECT_EQ(gpus, 8);
  EXPECT_NEAR(held / gpus, summary.compute_utilization, 0.02);
}

TEST(RunRecorder, ARunWithoutEventsHasNoSeries) {
  const FleetFile fleet = *parse_fleet_in_short("1xA30-24GB", {});
  const Workload nothing;
  RunRecorder recorder(fleet, nothing);
  EXPECT_EQ(recorder.finish(), (Json{{"length_ms", 0}}));
}

TEST(Distributions, AreQuantilesOfFinishedJobs) {
  std::vector<JobOutcome> outcomes(4);
  for (std::size_t i = 0; i < 3; ++i) {
    outcomes[i].end = JobOutcome::End::finished;
    outcomes[i].wait = std::chrono::seconds(i);
    outcomes[i].slowdown = 1;
  }
  const Json all = distributions(outcomes);
  EXPECT_EQ(all["jobs"], 3);
  EXPECT_EQ(all["wait_s"].front(), 0);
  EXPECT_EQ(all["wait_s"].back(), 2);
  EXPECT_EQ(all["wait_s"].size(), all["shares"].size());
  EXPECT_FALSE(distributions({}).contains("wait_s"));
}

Report harmful() {
  Report report;
  report.title = "<script>alert(1)</script>";
  report.version = "1";
  report.command = {"cleave", "</script><script>alert(2)</script>"};
  report.asked = {{"jobs", "</script><!--"}};
  RunPart run;
  run.scheduler = "<img src=x onerror=alert(3)>";
  report.runs = {run};
  return report;
}

TEST(Reports, NothingInThemEndsTheirScript) {
  const Report report = harmful();
  const std::string page = page_of(report);
  const auto document = parse_json(document_of(report), "document");
  ASSERT_TRUE(document) << document.error().text();
  EXPECT_EQ((*document)["asked"][0][1], "</script><!--");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  // The document, a script element of data, and the script itself.
  const auto count = [&](std::string_view what) {
    std::size_t all = 0;
    for (auto at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++all;
    return all;
  };
  EXPECT_EQ(count("</script"), 2U);
  EXPECT_NE(page.find("<title>&lt;script>alert(1)&lt;/script></title>"), std::string::npos);
  const auto begin = page.find("id=\"document\">") + std::string_view("id=\"document\">").size();
  const auto read = parse_json(page.substr(begin, page.find("</script>", begin) - begin), "page");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, *document);
}

TEST(Reports, NeedNoNetwork) {
  const std::string_view page = page_text();
  EXPECT_NE(page.find("default-src 'none'"), std::string_view::npos);
  EXPECT_EQ(page.find("unsafe-"), std::string_view::npos);
  EXPECT_EQ(page.find("src=\""), std::string_view::npos);
  EXPECT_EQ(page.find("<link"), std::string_view::npos);
}

}  // namespace
}  // namespace cleave::report
