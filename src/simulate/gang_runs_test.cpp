// Jobs of several places in the simulator, by hand.

#include "simulate/gang_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"
#include "model/workload_file.hpp"
#include "simulate/event_log.hpp"
#include "simulate/least_needs.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;
using Kind = RunEvent::Kind;

/// What a run tells.
class Told final : public RunObserver {
 public:
  void on(const RunEvent& event) override { events.push_back(event); }
  [[nodiscard]] std::vector<RunEvent> of(Kind kind) const {
    std::vector<RunEvent> all;
    std::ranges::copy_if(events, std::back_inserter(all),
                         [&](const RunEvent& event) { return event.kind == kind; });
    return all;
  }
  std::vector<RunEvent> events;
};

struct RanGangs {
  RunSummary summary;
  std::vector<JobOutcome> outcomes;
  Told told;
};

/// `places` are of the jobs, in their order.
RanGangs ran(std::string_view fleet, const std::string& jobs,
             const std::vector<std::uint32_t>& places, SimulationOptions options = {},
             std::string_view scheduler = "online") {
  Workload workload = *parse_workload(jobs, "jobs");
  for (std::size_t i = 0; i < places.size(); ++i) {
    Request request = workload.requests[workload.jobs[i].request];
    request.places = places[i];
    workload.jobs[i].request = workload.intern(request);
  }
  RanGangs result;
  if (!options.reconfiguration) options.reconfiguration = Duration::zero();
  options.observer = &result.told;
  options.outcomes = &result.outcomes;
  const auto summary = simulate(*parse_fleet_in_short(fleet, ProfileChoice::plain()), workload,
                                *parse_scheduler(scheduler), options);
  EXPECT_TRUE(summary) << summary.error().text();
  if (summary) result.summary = *summary;
  return result;
}

std::string job(std::string_view id, std::string_view profile, std::string_view more = "") {
  return fmt::format(R"({{"id": "{}", "profile": "{}", "duration_s": 100{}}})"
                     "\n",
                     id, profile, more);
}

TEST(Processes, HaveNumbersBehindAllJobs) {
  Workload workload =
      *parse_workload(job("a", "1g.5gb") + job("b", "1g.5gb") + job("c", "1g.5gb"), "jobs");
  EXPECT_FALSE(Processes(workload).any_gang());
  EXPECT_EQ(Processes(workload).size(), 3U);
  for (const auto& [at, places] : {std::pair(0U, 3U), {2U, 2U}}) {
    Request request = workload.requests[workload.jobs[at].request];
    request.places = places;
    workload.jobs[at].request = workload.intern(request);
  }
  const Processes processes(workload);
  EXPECT_EQ(processes.size(), count_processes(workload));
  EXPECT_EQ(processes.size(), 6U);
  std::set<JobId> numbers;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Gang gang = processes.gang(static_cast<JobId>(i));
    EXPECT_EQ(gang.size, places_of(workload, workload.jobs[i]));
    for (std::uint32_t rank = 0; rank < gang.size; ++rank) {
      const JobId member = gang.member(rank);
      EXPECT_TRUE(numbers.insert(member).second);
      EXPECT_EQ(processes.job_of(member), static_cast<JobId>(i));
      EXPECT_EQ(processes.rank(member), rank);
      EXPECT_EQ(processes.in_gang(member), gang.size > 1);
      EXPECT_EQ(processes.gang(member).leader, gang.leader);
    }
  }
  EXPECT_EQ(numbers.size(), 6U);
}

// The only instance that is there is used at once, the others are made in 5 s: all begin then, and
// the job takes 700 s on slices of a seventh.
TEST(Gangs, BeginWhenTheLastPlaceIsThereAndEndTogether) {
  SimulationOptions options;
  options.reconfiguration = seconds(5);
  options.process_start = seconds(2);
  const RanGangs run =
      ran("2xA100-40GB", job("wide", "1g.5gb", R"(, "speed": {"1g.5gb": 0.5}, "user": "u")"), {3},
          options);
  const auto starts = run.told.of(Kind::started), ends = run.told.of(Kind::finished);
  ASSERT_EQ(starts.size(), 3U);
  ASSERT_EQ(ends.size(), 3U);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(starts[rank].rank, rank);
    EXPECT_EQ(starts[rank].job, JobId{0});
    EXPECT_EQ(starts[rank].until, starts[0].until);
    EXPECT_EQ(ends[rank].at, ends[0].at);
  }
  EXPECT_EQ(starts[0].until, Instant{} + run.outcomes[0].wait);
  EXPECT_EQ(run.outcomes[0].execution, seconds(2 + 200));
  EXPECT_EQ(run.outcomes[0].places, 3U);
  EXPECT_EQ(run.summary.events, 2U) << "one job comes and ends";
  EXPECT_EQ(run.summary.several_wait_mean_s, in_seconds(run.outcomes[0].wait));
  const double held_s = in_seconds(run.outcomes[0].turnaround);
  ASSERT_TRUE(run.outcomes[0].held);
  EXPECT_NEAR(run.outcomes[0].held->compute_s, 3 * held_s, 1e-6) << "of each process a slice";
}

// On 7g.40gb alone a process would take 100 s; on the slower GPU it takes longer, and so does the
// job.
TEST(Gangs, GoAtThePaceOfTheSlowest) {
  const std::string speed =
      R"(, "memory_mib": 30000, "speed": {"7g.40gb": 1, "4g.40gb": 0.5, "3g.40gb": 0.4})";
  const std::string jobs = R"({"id": "wide", "duration_s": 100)" + speed + "}\n";
  const RanGangs one = ran("1xA100-40GB", jobs, {1}),
                 both = ran("1xA100-40GB,1xA100-80GB", jobs, {2});
  EXPECT_EQ(one.outcomes[0].execution, seconds(100));
  EXPECT_EQ(both.outcomes[0].execution, seconds(250)) << "on 3g.40gb";
}

// Transfers fill the link of one GPU, where another job comes after 50 s and goes; the process on
// the other GPU waits for the slower one, and both end together.
TEST(Gangs, AreSlowedByTheNeighboursOfOneProcess) {
  const std::string moves_data = R"(, "transfer_share": 1, "speed": {"4g.20gb": 1, "3g.20gb": 1})";
  const std::string wide = job("wide", "4g.20gb", moves_data);
  const RanGangs alone = ran("2xA100-40GB", wide, {2});
  EXPECT_EQ(alone.outcomes[0].execution, seconds(100));
  const RanGangs beside =
      ran("2xA100-40GB",
          wide + R"({"id": "near", "profile": "3g.20gb", "arrival_s": 50, "duration_s": 20)" +
              moves_data + "}\n",
          {2, 1});
  // From 50 s each has half of the link: 20 s of work take 40 s, in which the wide job does 20 s.
  EXPECT_EQ(beside.outcomes[1].execution, seconds(40));
  EXPECT_EQ(beside.outcomes[0].execution, seconds(120));
  EXPECT_EQ(beside.told.of(Kind::finished).size(), 3U);
}

TEST(Gangs, AreLostWithOneGpuAndKeepWhatTheyKeep) {
  for (const auto& [progress, execution] :
       {std::pair("none", 60 + 100), {"stateless", 100}, {"checkpoint", 60 + 100 - 50}}) {
    SimulationOptions options;
    options.stops.checkpoint = seconds(20);
    const Instant lost = Instant{} + seconds(60);
    options.faults.outages.push_back({GpuId{1}, lost, lost + seconds(5)});
    const std::string more = fmt::format(
        R"(, "speed": {{"7g.40gb": 1}}, "progress": "{}"{})", progress,
        progress == std::string_view("checkpoint") ? R"(, "checkpoint_every_s": 25)" : "");
    const RanGangs run = ran("2xA100-40GB", job("wide", "7g.40gb", more), {2}, options);
    const int restore = progress == std::string_view("checkpoint") ? 10 : 0;
    EXPECT_EQ(run.outcomes[0].execution, seconds(execution + restore)) << progress;
    EXPECT_EQ(run.outcomes[0].turnaround, seconds(execution + restore + 5)) << progress;
    EXPECT_EQ(run.summary.evictions, 1U) << "the job once";
    const auto evicted = run.told.of(Kind::evicted);
    ASSERT_EQ(evicted.size(), 2U) << "and each process";
    EXPECT_EQ(evicted[0].at, evicted[1].at);
    EXPECT_EQ(run.outcomes[0].disruptions, 0U) << "losses are not in it";
  }
}

TEST(Gangs, FailAndRunOutOfMemoryTogether) {
  const RanGangs failed =
      ran("2xA100-40GB", job("wide", "2g.10gb", R"(, "speed": {"2g.10gb": 1}, "fails_after": 0.4)"),
          {4});
  EXPECT_EQ(failed.summary.failed, 1U);
  EXPECT_EQ(failed.told.of(Kind::failed).size(), 4U);
  // It holds 5,000 MiB at first and 10,000 in the end: on 1g.5gb it dies at once, on 2g.10gb later.
  const std::string grows =
      R"({"id": "wide", "duration_s": 100, "profile": "1g.5gb", )"
      R"("speed": {"1g.5gb": 1, "2g.10gb": 1, "3g.20gb": 1}, )"
      R"("memory": {"base_mib": 4000, "per_iteration_mib": 100, "iterations": 60}})"
      "\n";
  const RanGangs grown = ran("2xA100-40GB", grows, {3});
  EXPECT_EQ(grown.summary.finished, 1U);
  EXPECT_GE(grown.summary.oom_restarts, 1U);
  EXPECT_EQ(grown.outcomes[0].disruptions, grown.summary.oom_restarts)
      << "the job, not each process";
  EXPECT_EQ(grown.told.of(Kind::ran_out).size(), 3 * grown.summary.oom_restarts);
}

TEST(Gangs, EnergyIsThatOfAllProcesses) {
  const std::string one = job("one", "7g.40gb", R"(, "speed": {"7g.40gb": 1})");
  const RanGangs alone = ran("4xA100-40GB", one, {1}), four = ran("4xA100-40GB", one, {4});
  ASSERT_TRUE(alone.outcomes[0].energy_j && four.outcomes[0].energy_j);
  EXPECT_NEAR(*four.outcomes[0].energy_j, 4 * *alone.outcomes[0].energy_j, 1e-6);
  EXPECT_DOUBLE_EQ(four.summary.compute_utilization, 1);
  EXPECT_DOUBLE_EQ(alone.summary.compute_utilization, 0.25);
}

TEST(Gangs, NeedTheirPlacesAtLeast) {
  Workload workload =
      *parse_workload(job("wide", "1g.5gb", R"(, "speed": {"1g.5gb": 0.5, "7g.40gb": 1})"), "jobs");
  const FleetFile file = *parse_fleet_in_short("2xA100-40GB", ProfileChoice::plain());
  const Fleet fleet(file);
  const auto least = [&](const Request& request) {
    workload.jobs[0].request = workload.intern(request);
    const Speeds speeds(workload, fleet, {});
    const LeastNeeds needs(workload, fleet, speeds);
    return std::pair(needs.least(workload.jobs[0], 0), *needs.shortest(workload.jobs[0]));
  };
  Request request = workload.requests[workload.jobs[0].request];
  EXPECT_EQ(least(request), std::pair(200.0, Duration(seconds(100))));
  request.places = 3;
  EXPECT_EQ(least(request), std::pair(600.0, Duration(seconds(100))));
  request.wanted = WholeGpu{};
  EXPECT_EQ(least(request), std::pair(3 * 700.0, Duration(seconds(100))));
}

TEST(Gangs, TooManyProcessesAreRefused) {
  Workload workload = *parse_workload(job("a", "1g.5gb"), "jobs");
  Request request = workload.requests.front();
  request.places = most_places;
  const std::uint32_t wide = workload.intern(request);
  for (int i = 0; i < 1001; ++i) {
    workload.jobs.push_back(workload.jobs.front());
    workload.jobs.back().request = wide;
  }
  const auto refused =
      simulate(*parse_fleet_in_short("1xA100-40GB", {}), workload, *parse_scheduler("online"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::infeasible);
}

}  // namespace
}  // namespace cleave
