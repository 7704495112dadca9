// The scheduler `static` in the simulator: Dyna-P's example by hand, laws under faults, and that
// the predicted schedule by which the best layout is chosen is the one that happens.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/random.hpp"
#include "engine/layout_search.hpp"
#include "model/workload_file.hpp"
#include "simulate/known_jobs.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

/// The order in which jobs begin for the first time.
class FirstStarts final : public RunObserver {
 public:
  void on(const RunEvent& event) override {
    if (event.kind != RunEvent::Kind::started) return;
    if (seen_.size() <= index(*event.job)) seen_.resize(index(*event.job) + 1, false);
    if (!seen_[index(*event.job)]) order.push_back(*event.job);
    seen_[index(*event.job)] = true;
  }
  std::vector<JobId> order;

 private:
  std::vector<bool> seen_;
};

// The jobs of Dyna-P's Figure 7 on the static partition 2g, 1g, 1g: C (2g) waits behind B until
// 120, and D and E behind C although a 1g is free from 30 on; F gets D's place at 170, G then C's,
// H at last G's.
TEST(Static, FigureSevenByHand) {
  std::string text;
  const auto add = [&](const char* id, int arrival, int duration, const char* profile) {
    text += fmt::format(R"({{"id": "{}", "arrival_s": {}, "duration_s": {}, "profile": "{}", )"
                        R"("speed": {{"1g.6gb": 1, "2g.12gb": 1, "4g.24gb": 1}}}})",
                        id, arrival, duration, profile);
    text += '\n';
  };
  add("A", 0, 30, "1g.6gb");
  add("B", 0, 120, "2g.12gb");
  add("C", 5, 50, "2g.12gb");
  add("D", 60, 50, "1g.6gb");
  add("E", 60, 70, "1g.6gb");
  add("F", 120, 70, "1g.6gb");
  add("G", 120, 110, "2g.12gb");
  add("H", 120, 80, "2g.12gb");
  const Workload workload = *parse_workload(text, "jobs");
  const FleetFile fleet = *parse_fleet_in_short("1xA30-24GB", ProfileChoice::plain());
  std::vector<JobOutcome> outcomes;
  SimulationOptions options;
  options.reconfiguration = Duration{};
  options.outcomes = &outcomes;
  const auto summary = simulate(fleet, workload, *parse_scheduler("static"), options);
  ASSERT_TRUE(summary) << summary.error().text();
  const std::vector<std::int64_t> ends = {30, 120, 170, 170, 190, 240, 280, 360};
  for (std::size_t i = 0; i < ends.size(); ++i)
    EXPECT_EQ(workload.jobs[i].arrival + outcomes[i].turnaround,
              Instant{} + std::chrono::seconds(ends[i]))
        << workload.jobs[i].id;
  EXPECT_EQ(summary->makespan, std::chrono::seconds(360)) << "the figure's Dyna-P needs 285";
}

// Two jobs that ask for 1g, on a 1g and a 3g: by default the second takes the larger instance.
TEST(Static, ExactFitWaitsForTheSizeAskedFor) {
  const Workload workload = *parse_workload(
      R"({"id": "a", "duration_s": 100, "profile": "1g.5gb", "speed": {"1g.5gb": 1, "3g.20gb": 1}}
{"id": "b", "duration_s": 100, "profile": "1g.5gb", "speed": {"1g.5gb": 1, "3g.20gb": 1}}
{"id": "c", "duration_s": 100, "memory_mib": 4000, "speed": {"1g.5gb": 1, "3g.20gb": 1}}
)",
      "jobs");
  const FleetFile fleet = *parse_fleet_in_short("1xA100-40GB", ProfileChoice::plain());
  SimulationOptions options;
  options.reconfiguration = Duration{};
  const auto makespan = [&](const char* fit) {
    const auto spec = *parse_scheduler(fmt::format("static:layout=1g.5gb@4+3g.20gb@0;fit={}", fit));
    return simulate(fleet, workload, spec, options)->makespan;
  };
  EXPECT_EQ(makespan("request"), std::chrono::seconds(200));
  EXPECT_EQ(makespan("exact"), std::chrono::seconds(300)) << "the 3g stays empty";
}

TEST(Static, ExactFitRejectsWhatNoInstanceMatches) {
  const Workload workload = *parse_workload(
      R"({"id": "a", "duration_s": 100, "profile": "2g.10gb", "speed": {"2g.10gb": 1}})", "jobs");
  const FleetFile fleet = *parse_fleet_in_short("1xA100-40GB", ProfileChoice::plain());
  const auto spec = *parse_scheduler("static:layout=4g.20gb@0;fit=exact");
  const RunSummary summary = *simulate(fleet, workload, spec);
  ASSERT_EQ(summary.rejections.size(), 1U);
  EXPECT_EQ(summary.rejections[0].reason,
            "no instance of the fixed layout is of the size of 2g.10gb");
}

Workload random_workload(std::uint64_t seed, int jobs, bool grows) {
  Random random(seed);
  const char* profiles[] = {"1g.5gb",  "1g.10gb", "2g.10gb", "3g.20gb",
                            "4g.20gb", "7g.40gb", "1g.6gb",  "2g.12gb"};
  Workload workload;
  double now = 0;
  for (int i = 0; i < jobs; ++i) {
    Request request;
    const auto pick = random.below(3);
    if (pick == 0) request.wanted = ByProfile{profiles[random.below(std::size(profiles))]};
    if (pick == 1) request.wanted = BySize{MiB{static_cast<std::int64_t>(random.below(30000))}, {}};
    if (pick == 2) request.wanted = Unknown{};
    Job job;
    job.id = std::to_string(i);
    now += random.below(3) == 0 ? 0 : random.exponential(25);
    job.arrival = Instant{} + *duration_from_seconds(now);
    job.duration = *duration_from_seconds(random.below(10) == 0 ? 0 : random.exponential(60));
    job.request = workload.intern(request);
    job.speed = workload.intern(SpeedModel());
    if (grows && random.below(4) == 0) {
      JobDetails details;
      details.growth =
          MemoryGrowth{MiB{2000}, MiB{static_cast<std::int64_t>(random.below(600))}, MiB{50}, 100};
      job.details = static_cast<std::uint32_t>(workload.details.size());
      workload.details.push_back(details);
    }
    workload.jobs.push_back(std::move(job));
  }
  workload.read = workload.jobs.size();
  return workload;
}

constexpr std::string_view mixed = R"({"gpus": [
  {"name": "a/%d", "model": "A100-40GB", "count": 2},
  {"name": "b/0", "model": "A30-24GB", "instances": [{"profile": "1g.6gb", "start": 1, )"
                                   R"("owned": false}]},
  {"name": "a/9", "model": "A100-40GB", "instances": [{"profile": "2g.10gb", "start": 2}, )"
                                   R"({"profile": "1g.5gb", "start": 6, "workload": "w"}]}]})";

RunSummary shared_run(const std::string& jobs, const std::string& spec,
                      const std::string& fleet = "1xA100-40GB", SimulationOptions options = {}) {
  const auto workload = parse_workload(jobs, "jobs");
  EXPECT_TRUE(workload) << workload.error().text();
  options.reconfiguration = Duration{};
  const auto summary = simulate(*parse_fleet_in_short(fleet, ProfileChoice::plain()), *workload,
                                *parse_scheduler(spec), options);
  EXPECT_TRUE(summary) << summary.error().text();
  return summary ? *summary : RunSummary{};
}

std::string equal_jobs(int number, const std::string& more) {
  std::string jobs;
  for (int i = 0; i < number; ++i)
    jobs += fmt::format(R"({{"id": "{}", "duration_s": 100, {}}})"
                        "\n",
                        i, more);
  return jobs;
}

// More jobs on a GPU than a byte counts.
TEST(StaticShared, ManyJobsOnAGpuSlowEachOther) {
  const std::string layout =
      "static:layout=1g.5gb@0+1g.5gb@1+1g.5gb@2+1g.5gb@3+1g.5gb@4+1g.5gb@5+1g.5gb@6;"
      "sharing=time-slicing;sharers=48";
  SimulationOptions options;
  options.world.has_power = false;
  options.world.sharing.switch_cost = 0;
  for (const int jobs : {7, 70, 255, 256, 257, 336}) {
    const RunSummary run =
        shared_run(equal_jobs(jobs, R"("memory_mib": 1, "speed": {"1g.5gb": 1, "7g.40gb": 1})"),
                   layout, "1xA100-40GB", options);
    // As many on each as contexts leave room for, and the rest after them.
    EXPECT_EQ(run.finished, static_cast<std::size_t>(jobs));
    const int most_on_one = (jobs + 6) / 7;
    EXPECT_NEAR(in_seconds(run.makespan), 100.0 * most_on_one, 1e-3) << jobs;
  }
}

// What a job would finish alone, it finishes in the end.
TEST(StaticShared, NoJobFailsForWhatOthersNeed) {
  const std::string growing =
      R"("memory_mib": 1000, )"
      R"("memory": {"base_mib": 500, "per_iteration_mib": 25, "iterations": 100})";
  const RunSummary run =
      shared_run(equal_jobs(3, growing), "static:layout=1g.5gb@0;sharing=mps;sharers=3");
  EXPECT_EQ(run.finished, 3U);
  EXPECT_GT(run.oom_restarts, 0U);
  const RunSummary any =
      shared_run(equal_jobs(2, R"("memory_mib": 18000)"),
                 "static:layout=2g.10gb@4+3g.20gb@0;fit=any;sharing=mps;sharers=2");
  EXPECT_EQ(any.finished, 2U);
}

TEST(StaticShared, InstancesOfUnknownMemoryAreNotShared) {
  const RunSummary run = shared_run(equal_jobs(3, R"("profile": "7g.144gb")"),
                                    "static:layout=7g.144gb@0;sharing=mps", "1xGH200-144GB");
  EXPECT_EQ(run.finished, 3U);
  EXPECT_NEAR(in_seconds(run.makespan), 300, 1e-3);
}

TEST(Static, LawsUnderFaults) {
  const FleetFile fleet = *parse_fleet(mixed, "fleet", {});
  std::size_t events = 0, memory_deaths = 0, evictions = 0, failed = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Workload workload = random_workload(seed, 1500, true);
    for (const char* spec :
         {"static", "static:fit=any", "static:layout=file", "static:layout=best",
          "static:layout=1g.5gb@0+A100-40GB:3g.20gb@4+2g.12gb@2+A100-40GB:1g.10gb@2;fit=any"}) {
      FirstStarts starts;
      SimulationOptions options;
      options.seed = seed;
      options.observer = &starts;
      options.faults = {{}, std::chrono::seconds{5000}, std::chrono::seconds{600}, 0.05};
      const auto s = simulate(fleet, workload, *parse_scheduler(spec), options);
      ASSERT_TRUE(s) << spec << " seed " << seed << ": " << s.error().text();
      ASSERT_EQ(s->jobs, s->finished + s->failed + s->rejected + s->waiting) << spec;
      ASSERT_EQ(s->waiting, 0U) << spec << " seed " << seed;
      ASSERT_TRUE(std::ranges::is_sorted(starts.order)) << spec << ": somebody overtook";
      events += s->events + s->oom_restarts + s->evictions + 2 * s->gpu_losses;
      memory_deaths += s->oom_restarts;
      evictions += s->evictions;
      failed += s->failed;
    }
  }
  EXPECT_GT(events, 60'000U);
  EXPECT_GT(memory_deaths, 1000U);
  EXPECT_GT(evictions, 100U);
  EXPECT_GT(failed, 1000U);
}

/// The score of a layout on every GPU, and the simulator's measurement.
void expect_same_schedule(std::uint64_t seed, std::string_view layout,
                          const std::vector<std::string>& names) {
  const FleetFile file = *parse_fleet_in_short("3xA100-40GB", ProfileChoice::plain());
  const Workload workload = random_workload(seed, 400, false);
  const Fleet fleet(file);
  RequestTable requests(file.geometries);
  std::vector<RequestId> ids;
  for (const Request& request : workload.requests) ids.push_back(requests.intern(request));
  const Speeds speeds(workload, fleet, {});
  const KnownJobs facts(workload, speeds, fleet, ids);
  const ExpectedWork work = *expected_work({fleet, requests, true, &facts});
  std::vector<std::size_t> instances(work.groups.size(), 0);
  const GpuModel& model = file.geometries.front().model();
  for (std::size_t group = 0; group < work.groups.size(); ++group)
    instances[group] =
        3 * static_cast<std::size_t>(std::ranges::count(
                names, model.profiles[static_cast<std::size_t>(work.groups[group].profile)].name));
  const LayoutScore score = schedule_first_come(work, instances, LayoutGoal::turnaround);
  SimulationOptions options;
  options.reconfiguration = Duration{};
  const auto summary =
      simulate(file, workload, *parse_scheduler(fmt::format("static:layout={}", layout)), options);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->rejected + summary->failed, score.unserved) << seed;
  const double mean = score.turnaround_s / static_cast<double>(summary->finished);
  EXPECT_NEAR(in_seconds(summary->turnaround.mean), mean, 1e-7 * mean)
      << layout << " seed " << seed;
  EXPECT_NEAR(in_seconds(summary->makespan), score.makespan_s, 1e-7 * score.makespan_s);
}

TEST(BestLayout, IsJudgedByTheActualSchedule) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    expect_same_schedule(seed, "stacon", {"4g.20gb", "2g.10gb", "1g.10gb"});
    expect_same_schedule(seed, "3g.20gb@0+2g.10gb@4+1g.5gb@6", {"3g.20gb", "2g.10gb", "1g.5gb"});
    expect_same_schedule(seed, "7g.40gb@0", {"7g.40gb"});
  }
}

}  // namespace
}  // namespace cleave
