// What limited hosts do to whole runs, and that the simulated hosts give out no more than they
// have.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/json.hpp"
#include "simulate/simulated_hosts.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

FleetFile fleet_with_hosts(const std::string& nodes, int gpus = 2) {
  return *parse_fleet(
      fmt::format(R"({{"gpus": [{{"name": "n0/%d", "model": "A100-40GB", "count": {}}},
                               {{"name": "n1/0", "model": "A100-40GB"}}], "nodes": {}}})",
                  gpus, nodes),
      "fleet", *ProfileChoice::parse("plain"));
}

/// Jobs on instances, one after the other.
struct Jobs {
  Workload workload;
  void add(std::optional<double> cpus, double seconds, const char* profile = "1g.5gb",
           std::optional<MiB> memory = {}, double arrival = 0) {
    JobDetails details;
    details.cpus = cpus;
    details.host_memory = memory;
    details.restartable = details.movable = false;
    workload.details.push_back(details);
    SpeedModel flat;
    flat.flat = true;
    Job job;
    job.id = fmt::format("j{}", workload.jobs.size());
    job.arrival = Instant{} + std::chrono::round<Duration>(std::chrono::duration<double>(arrival));
    job.duration = std::chrono::round<Duration>(std::chrono::duration<double>(seconds));
    job.speed = workload.intern(flat);
    job.request = workload.intern({ByProfile{profile}, {}});
    job.details = static_cast<std::uint32_t>(workload.details.size() - 1);
    workload.jobs.push_back(job);
    workload.read = workload.jobs.size();
  }
};

/// When each job began, in whole seconds.
class Starts final : public RunObserver {
 public:
  void on(const RunEvent& event) override {
    if (event.kind == RunEvent::Kind::started)
      at[index(*event.job)] = static_cast<int>(in_seconds(event.until->time_since_epoch()));
    if (event.kind == RunEvent::Kind::started) gpu[index(*event.job)] = index(*event.gpu);
  }
  std::map<std::size_t, int> at;
  std::map<std::size_t, std::size_t> gpu;
};

RunSummary run_on_hosts(const FleetFile& fleet, const Jobs& jobs, std::string_view spec,
                        Starts& starts) {
  SimulationOptions options;
  options.reconfiguration = Duration{0};
  options.process_start = Duration{0};
  options.observer = &starts;
  auto summary = simulate(fleet, jobs.workload, *parse_scheduler(spec), options);
  EXPECT_TRUE(summary) << spec << ": " << summary.error().text();
  return summary ? *summary : RunSummary{};
}

std::vector<std::string> all_schedulers() {
  std::vector<std::string> names;
  for (const SchedulerRow& row : schedulers()) names.emplace_back(row.name);
  return names;
}

class Hosts : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Scheduler, Hosts, testing::ValuesIn(all_schedulers()),
                         [](const auto& scheduler) {
                           std::string text = scheduler.param;
                           std::ranges::replace(text, '-', '_');
                           return text;
                         });

constexpr const char* eight_cpus = R"([{"name": "n0", "cpus": 8}, {"name": "n1", "cpus": 0}])";

TEST_P(Hosts, MakeAJobWaitThatFindsTooFewCpus) {
  Jobs jobs;
  jobs.add(5, 100);
  jobs.add(5, 100);
  jobs.add(3, 100);
  Starts starts;
  const RunSummary summary = run_on_hosts(fleet_with_hosts(eight_cpus), jobs, GetParam(), starts);
  EXPECT_EQ(summary.finished, 3U);
  EXPECT_EQ(starts.at[0], 0);
  EXPECT_GE(starts.at[1], 100);
  for (const auto& [job, gpu] : starts.gpu) EXPECT_LT(gpu, 2U) << "job " << job;
}

TEST_P(Hosts, RejectAJobThatNoneCouldHold) {
  Jobs jobs;
  jobs.add(9, 100);
  jobs.add({}, 100, "1g.5gb", MiB{1001});
  jobs.add(1, 100, "1g.5gb", MiB{1000});
  Starts starts;
  const FleetFile fleet = fleet_with_hosts(
      R"([{"name": "n0", "cpus": 8, "host_memory_mib": 1000},
          {"name": "n1", "cpus": 4, "host_memory_mib": 1000}])");
  const RunSummary summary = run_on_hosts(fleet, jobs, GetParam(), starts);
  EXPECT_EQ(summary.finished, 1U);
  ASSERT_EQ(summary.rejections.size(), 2U);
  std::string reasons;
  for (const ReasonCount& each : summary.rejections) reasons += each.reason + "\n";
  EXPECT_TRUE(reasons.contains("no node with a GPU for it has 9 CPUs")) << reasons;
  EXPECT_TRUE(reasons.contains("no node with a GPU for it has 1001 MiB of host memory")) << reasons;
}

TEST_P(Hosts, HaveRoomForAllInstancesByDefault) {
  Jobs jobs;
  for (int i = 0; i < 14; ++i) jobs.add({}, 100);
  Jobs same = jobs;
  Starts limited, free;
  const FleetFile fleet = fleet_with_hosts(
      R"([{"name": "n0", "cpus": 3, "host_memory_mib": 100},
          {"name": "n1", "cpus": 1, "host_memory_mib": 100}])");
  run_on_hosts(fleet, jobs, GetParam(), limited);
  run_on_hosts(fleet_with_hosts("[]"), same, GetParam(), free);
  EXPECT_EQ(limited.at, free.at);
}

// A job that takes the whole host leaves none to those that ask for their share.
TEST_P(Hosts, GiveOutWhatJobsAskForBeforeDefaults) {
  Jobs jobs;
  jobs.add(8, 100);
  jobs.add({}, 100, "1g.5gb", {}, 1);
  Starts starts;
  const RunSummary summary =
      run_on_hosts(fleet_with_hosts(eight_cpus, 1), jobs, GetParam(), starts);
  EXPECT_EQ(summary.finished, 2U);
  // On the other node its share of no CPU is none, and it may have that.
  if (starts.gpu[1] == 0) {
    EXPECT_GE(starts.at[1], 100);
  }
}

// What is not limited changes nothing, whatever jobs ask for.
TEST_P(Hosts, ChangeNothingWhereTheyAreNotLimited) {
  Jobs asking, silent;
  for (int i = 0; i < 60; ++i) {
    asking.add(i % 7, 50 + i, i % 3 == 0 ? "3g.20gb" : "1g.5gb", MiB{i}, i);
    silent.add({}, 50 + i, i % 3 == 0 ? "3g.20gb" : "1g.5gb", {}, i);
  }
  Starts a, b;
  const RunSummary one = run_on_hosts(fleet_with_hosts("[]"), asking, GetParam(), a);
  const RunSummary other =
      run_on_hosts(fleet_with_hosts(R"([{"name": "n0"}])"), silent, GetParam(), b);
  EXPECT_EQ(a.at, b.at);
  EXPECT_EQ(to_json(one).dump(), to_json(other).dump());
}

class Queues : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Scheduler, Queues,
                         testing::Values("full-gpu", "static:layout=1g.5gb@0+1g.5gb@1", "scheme-b",
                                         "online", "adaptive"),
                         [](const auto& scheduler) {
                           std::string text = scheduler.param.substr(0, scheduler.param.find(':'));
                           std::ranges::replace(text, '-', '_');
                           return text;
                         });

std::string with_option(const std::string& spec, const char* option) {
  return spec + (spec.contains(':') ? ";" : ":") + option;
}

// The job that waits for six CPUs has them when the first ends. One that would take some of them
// longer waits behind it; one that has ended by then does not.
TEST_P(Queues, KeepAPartOfTheHostWithAReservation) {
  Jobs jobs;
  jobs.add(6, 100, "1g.5gb", {}, 0);
  jobs.add(6, 100, "1g.5gb", {}, 1);
  jobs.add(2.5, 500, "1g.5gb", {}, 2);
  jobs.add(2, 50, "1g.5gb", {}, 3);
  Starts starts;
  run_on_hosts(fleet_with_hosts(eight_cpus, 4), jobs,
               with_option(GetParam(), "backfill=easy;order=submission"), starts);
  EXPECT_EQ(starts.at[1], 100);
  EXPECT_GE(starts.at[2], 200);
  EXPECT_LT(starts.at[3], 100);
}

// Its scheduler never heard of the job, and has no time to promise.
TEST(LeasesOnHosts, AreTurnedAwayWithoutAPromise) {
  Jobs jobs;
  jobs.add(9, 100);
  jobs.workload.details.back().lease = LeaseTerms{};
  Starts starts;
  EXPECT_EQ(run_on_hosts(fleet_with_hosts(eight_cpus), jobs, "online", starts).rejected, 1U);
}

// What it plans for one GPU of a node is not done as it was planned when jobs have started or grown
// on another since.
TEST(AdaptiveOnHosts, PlansAgainForTheGpusOfANode) {
  Jobs jobs;
  jobs.add(10, 3000, "3g.20gb");
  jobs.add({}, 1000, "3g.20gb");
  jobs.add({}, 300, "3g.20gb");
  for (const std::size_t grows : {0, 1}) {
    jobs.workload.jobs[grows].speed = jobs.workload.intern(SpeedModel{});
    jobs.workload.details[grows].restartable = jobs.workload.details[grows].movable = true;
  }
  jobs.workload.details[2].restartable = jobs.workload.details[2].movable = true;
  Starts starts;
  const FleetFile fleet =
      fleet_with_hosts(R"([{"name": "n0", "cpus": 16}, {"name": "n1", "cpus": 0}])");
  EXPECT_EQ(run_on_hosts(fleet, jobs, "adaptive", starts).finished, 3U);
}

TEST(SimulatedHosts, RefuseWhatTheyDoNotHave) {
  SimulatedHosts hosts{Fleet(fleet_with_hosts(eight_cpus))};
  EXPECT_TRUE(hosts.take(GpuId{0}, {5000, {}}, Instant{}));
  EXPECT_TRUE(hosts.take(GpuId{1}, {3000, {}}, Instant{}));
  const auto refused = hosts.take(GpuId{1}, {1, {}}, Instant{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::internal);
  EXPECT_FALSE(hosts.take(GpuId{2}, {1, {}}, Instant{}));  // of another node, which has none
}

TEST(SimulatedHosts, GiveOutAgainWhenAProcessHasLeft) {
  SimulatedHosts hosts{Fleet(fleet_with_hosts(eight_cpus))};
  const Instant start{};
  ASSERT_TRUE(hosts.take(GpuId{0}, {4000, {}}, start));
  ASSERT_TRUE(hosts.take(GpuId{0}, {4000, {}}, start));
  hosts.free(GpuId{0}, {4000, {}}, start + 30s);
  hosts.free(GpuId{0}, {4000, {}}, start + 10s);
  EXPECT_EQ(*hosts.take(GpuId{1}, {3000, {}}, start), start + 10s);
  EXPECT_EQ(*hosts.take(GpuId{1}, {1000, {}}, start), start + 10s);
  EXPECT_EQ(*hosts.take(GpuId{1}, {4000, {}}, start), start + 30s);
}

}  // namespace
}  // namespace cleave
