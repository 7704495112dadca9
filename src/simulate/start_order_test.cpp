// Jobs that wait for others, and tasks of arrays that take turns, under every scheduler.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/format.hpp"
#include "model/start_order.hpp"
#include "model/workload_file.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

FleetFile two_gpus() {
  return *parse_fleet_in_short("2xA100-40GB", ProfileChoice::plain());
}

Workload parsed(std::string_view text) {
  auto workload = parse_workload(text, "jobs");
  EXPECT_TRUE(workload.has_value()) << (workload ? "" : workload.error().text());
  return workload ? *std::move(workload) : Workload{};
}

std::string refusal(std::string_view text) {
  const auto workload = parse_workload(text, "jobs");
  return workload ? "" : workload.error().text();
}

/// Notes when each job first ran and ended, and the most of an array that ran at a time.
class Watch final : public RunObserver {
 public:
  explicit Watch(const Workload& workload) : workload_(workload) {}
  void on(const RunEvent& event) override {
    if (!event.job) return;
    const Job& job = workload_.jobs[index(*event.job)];
    const JobDetails* details = workload_.details_of(job);
    std::set<JobId>* running = details == nullptr ? nullptr : &running_[details->start.task_of];
    switch (event.kind) {
      case RunEvent::Kind::started:
        began.try_emplace(job.id, event.at);
        if (running == nullptr) break;
        running->insert(*event.job);
        most[details->start.task_of] = std::max(most[details->start.task_of], running->size());
        break;
      case RunEvent::Kind::finished:
      case RunEvent::Kind::failed:
        ended[job.id] = event.at;
        [[fallthrough]];
      case RunEvent::Kind::stopped:
      case RunEvent::Kind::checkpointed:
      case RunEvent::Kind::ran_out:
      case RunEvent::Kind::restarted_early:
      case RunEvent::Kind::evicted:
        if (running != nullptr) running->erase(*event.job);
        break;
      default:
        break;
    }
  }
  std::map<std::string, Instant> began, ended;
  std::map<std::string, std::size_t> most;

 private:
  const Workload& workload_;
  std::map<std::string, std::set<JobId>> running_;
};

std::vector<std::string> specs() {
  std::vector<std::string> all;
  for (const SchedulerRow& row : schedulers())
    all.push_back(row.name == "static" ? std::string("static:layout=1g.5gb@0+1g.5gb@1+2g.10gb@2")
                                       : std::string(row.name));
  return all;
}

RunSummary run(const Workload& workload, const std::string& spec, Watch* watch = nullptr) {
  const auto scheduler = parse_scheduler(spec);
  EXPECT_TRUE(scheduler.has_value()) << spec;
  SimulationOptions options;
  options.observer = watch;
  const auto summary = simulate(two_gpus(), workload, *scheduler, options);
  EXPECT_TRUE(summary.has_value()) << spec << (summary ? "" : summary.error().text());
  return summary ? *summary : RunSummary{};
}

constexpr std::string_view chain =
    R"({"id": "sum", "arrival_s": 0, "duration_s": 60, "profile": "1g.5gb", "flat": true,)"
    R"( "after": ["any:sweep", "ok:first"]}
{"id": "first", "arrival_s": 1, "duration_s": 600, "profile": "1g.5gb", "flat": true}
{"id": "sweep", "arrival_s": 2, "duration_s": 100, "profile": "1g.5gb", "flat": true,)"
    R"( "array": "0-9%2"}
{"id": "check", "arrival_s": 2000, "duration_s": 10, "profile": "1g.5gb", "flat": true,)"
    R"( "after": ["ok:sweep_3"]})";

TEST(StartOrder, IsKeptUnderEveryScheduler) {
  const Workload workload = parsed(chain);
  ASSERT_EQ(workload.jobs.size(), 13U);
  for (const std::string& spec : specs()) {
    Watch watch(workload);
    const RunSummary summary = run(workload, spec, &watch);
    EXPECT_EQ(summary.finished, 13U) << spec;
    ASSERT_TRUE(watch.began.contains("sum")) << spec;
    for (const auto& [job, end] : watch.ended) {
      if (job != "first" && !job.starts_with("sweep_")) continue;
      EXPECT_GE(watch.began["sum"], end) << spec << " " << job;
    }
    EXPECT_EQ(watch.most["sweep"], 2U) << spec;
    EXPECT_GE(watch.began["check"], Instant{} + std::chrono::seconds(2000)) << spec;
  }
}

// The same jobs without it: both GPUs hold all ten tasks at a time.
TEST(StartOrder, WithoutItAllRunAtOnce) {
  Workload workload = parsed(chain);
  for (JobDetails& details : workload.details) details.start = {};
  Watch watch(workload);
  EXPECT_EQ(run(workload, "online", &watch).finished, 13U);
  EXPECT_LT(watch.began["sum"], watch.ended["first"]);
  EXPECT_GT(watch.most[""], 2U);
}

TEST(StartOrder, WhatCannotComeAnyMoreIsRejectedWithAllThatWaitForIt) {
  const Workload workload = parsed(
      R"({"id": "a", "duration_s": 60, "profile": "1g.5gb", "flat": true, "fails_after": 0.5}
{"id": "b", "duration_s": 60, "profile": "1g.5gb", "flat": true, "after": ["ok:a"]}
{"id": "c", "duration_s": 60, "profile": "1g.5gb", "flat": true, "after": ["ok:b"]}
{"id": "d", "duration_s": 60, "profile": "1g.5gb", "flat": true, "after": ["failed:a", "any:c"]}
{"id": "e", "arrival_s": 500, "duration_s": 60, "profile": "1g.5gb", "flat": true,)"
      R"( "after": ["ok:a"]})");
  for (const std::string& spec : specs()) {
    const RunSummary summary = run(workload, spec);
    EXPECT_EQ(summary.failed, 1U) << spec;
    EXPECT_EQ(summary.rejected, 3U) << spec;
    EXPECT_EQ(summary.finished, 1U) << spec << ": d, after what was rejected";
    ASSERT_EQ(summary.rejections.size(), 1U) << spec;
    EXPECT_NE(summary.rejections[0].reason.find("ended otherwise"), std::string::npos);
  }
}

TEST(StartOrder, IsReadAndWrittenInWorkloads) {
  const Workload workload = parsed(chain);
  EXPECT_EQ(workload_text(parsed(workload_text(workload))), workload_text(workload));
  EXPECT_NE(workload_text(workload).find(R"("task_of":"sweep")"), std::string::npos);
  EXPECT_EQ(
      parsed(R"({"id": "a", "duration_s": 1, "after": ["ok:12"]})").notes.at("awaited_elsewhere"),
      1U);
  const Workload table = parsed("id,duration_s,array\na,60,1-3%2\n");
  EXPECT_EQ(table.jobs.size(), 3U);
  EXPECT_EQ(table.jobs[2].id, "a_3");
}

TEST(StartOrder, WhatMeansNothingIsRefused) {
  const auto says = [](const char* keys, std::string_view what) {
    const std::string error = refusal(fmt::format(R"({{"id": "a", "duration_s": 1, {}}})", keys));
    EXPECT_NE(error.find(what), std::string::npos) << keys << ": " << error;
  };
  says(R"("after": ["ok:a"])", "the job 'a' waits for itself");
  says(R"("after": ["well:b"])", "does not say how a job must have ended");
  says(R"("after": ["ok:"])", "does not say how a job must have ended");
  says(R"("array": "1-")", "array");
  says(R"("array": "1-3", "task_of": "b")", "task of another array");
  says(R"("at_once": 3)", "a task of no array");
  says(R"("service": {"requests_per_s": 1, "served_per_s": 2}, "after": ["ok:b"])",
       "waits for no other job");
  EXPECT_NE(refusal(R"({"id": "a", "duration_s": 1, "after": ["ok:b"]}
{"id": "b", "duration_s": 1, "array": "1-2", "after": ["any:a"]})")
                .find("wait for one another"),
            std::string::npos);
}

}  // namespace
}  // namespace cleave
