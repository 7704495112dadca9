// No scheduler starts a job where its node has too few CPUs or too little memory left, under random
// fleets, jobs, options and faults, and with a checker that shares nothing with engine or
// simulator.
//
// CLEAVE_HOST_EVENTS is the number of events (arrivals and ends of jobs) for each scheduler;
// default 6,000, a tenth of that in builds without optimisation; `./test.sh --long` has more than a
// million in all. CLEAVE_LAW_SEED is the first seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/format.hpp"
#include "base/random.hpp"
#include "host_checker.hpp"
#include "kinds_scenario.hpp"
#include "law_checker.hpp"
#include "scenario.hpp"

namespace cleave::laws {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::uint64_t events_of_each() {
#ifdef NDEBUG
  return setting("CLEAVE_HOST_EVENTS", 6'000);
#else
  return setting("CLEAVE_HOST_EVENTS", 600);
#endif
}

/// Several observers of one run.
class Both final : public RunObserver {
 public:
  Both(RunObserver& a, RunObserver& b) : a_(a), b_(b) {}
  void on(const RunEvent& event) override {
    a_.on(event);
    b_.on(event);
  }

 private:
  RunObserver &a_, &b_;
};

/// The details of this job alone.
JobDetails& details_of(Workload& workload, Job& job) {
  workload.details.push_back(job.details == Job::none ? JobDetails()
                                                      : workload.details[job.details]);
  job.details = static_cast<std::uint32_t>(workload.details.size() - 1);
  return workload.details.back();
}

/// The scenario with hosts: on several nodes, each of which limits CPUs, memory or both, scarce or
/// ample, and with jobs that ask for some of it.
Scenario with_hosts(Scenario scenario, bool named) {
  Random random(scenario.options.seed ^ 0x686f7374);
  FleetFile& fleet = scenario.fleet;
  const std::size_t per_node = 1 + random.below(4);
  for (std::size_t i = 0; i < fleet.gpus.size() && !named; ++i)
    fleet.gpus[i].name = fmt::format("n{}/{}", i / per_node, i % per_node);
  const bool alike = random.uniform() < 0.6;
  const int cpus = static_cast<int>(1 + random.below(64));
  const auto memory = static_cast<std::int64_t>(1000 + random.below(200'000));
  std::vector<std::string> names;
  for (const GpuEntry& gpu : fleet.gpus)
    if (const std::string node(node_of(gpu.name)); std::ranges::find(names, node) == names.end())
      names.push_back(node);
  const double limits = random.uniform();
  for (const std::string& name : names) {
    NodeEntry node{name, {}, {}};
    if (limits < 0.8) node.cpus = alike ? cpus : static_cast<int>(random.below(64));
    if (limits > 0.4)
      node.host_memory = MiB{alike ? memory : static_cast<std::int64_t>(1 + random.below(200'000))};
    if (alike || random.uniform() < 0.8) fleet.nodes.push_back(node);
  }
  if (fleet.nodes.empty()) fleet.nodes.push_back({names.front(), cpus, MiB{memory}});
  if (!alike) scenario.must_end = false;
  const double share = random.uniform();
  for (Job& job : scenario.workload.jobs) {
    if (random.uniform() >= share) continue;
    JobDetails& details = details_of(scenario.workload, job);
    if (random.uniform() < 0.7) details.cpus = std::floor(random.uniform() * cpus * 110) / 100;
    if (random.uniform() < 0.6)
      details.host_memory = MiB{static_cast<std::int64_t>(random.uniform() * random.uniform() *
                                                          1.1 * static_cast<double>(memory))};
  }
  return scenario;
}

class Hosts : public testing::TestWithParam<const SchedulerRow*> {};

TEST_P(Hosts, GiveOutNoMoreThanTheyHave) {
  const SchedulerRow& row = *GetParam();
  const std::uint64_t first = setting("CLEAVE_LAW_SEED", 1);
  std::uint64_t seen = 0, seed = first;
  std::size_t runs = 0, checked = 0, full = 0, rejected = 0;
  for (; seen < events_of_each() && !HasFailure(); ++seed) {
    const bool gangs = seed % 3 == 0, kinds = seed % 5 == 0;
    Scenario scenario = random_scenario(seed, gangs ? 50 : 300);
    if (gangs) scenario = with_gangs(scenario);
    if (kinds) add_kinds(scenario, seed);
    scenario = with_hosts(std::move(scenario), gangs);
    const std::string text = random_spec(row, seed);
    SCOPED_TRACE(fmt::format("CLEAVE_LAW_SEED={} {}", seed, text));
    const auto spec = parse_scheduler(text);
    ASSERT_TRUE(spec) << spec.error().text();
    LawOptions laws = scenario.laws(*spec);
    if (kinds) {
      laws.fcfs = laws.alike_by_priority = false;
      laws.overtakes.reset();
    }
    LawChecker checker(scenario.fleet, scenario.workload, laws);
    HostChecker hosts(scenario.fleet, scenario.workload);
    Both both(checker, hosts);
    std::vector<JobOutcome> outcomes;
    SimulationOptions options = scenario.options_of(*spec);
    options.observer = &both;
    options.outcomes = &outcomes;
    const auto summary = simulate(scenario.fleet, scenario.workload, *spec, options);
    if (!summary && summary.error().kind == ErrorKind::bad_usage) continue;
    ASSERT_TRUE(summary) << summary.error().text();
    checker.finish(*summary, outcomes);
    for (const std::string& each : checker.violations()) ADD_FAILURE() << each;
    for (const std::string& each : hosts.violations()) ADD_FAILURE() << each;
    ++runs;
    seen += summary->events;
    checked += hosts.checked();
    full += hosts.fullest() > 0.9 ? 1 : 0;
    rejected += summary->rejected;
  }
  RecordProperty("events", std::to_string(seen));
  RecordProperty("starts", std::to_string(checked));
  // Laws hold easily if nothing happens.
  if (seen < 5'000) return;
  EXPECT_GT(checked, seen / 8);
  EXPECT_GT(full, runs / 10) << "hosts that were nearly full";
  EXPECT_GT(rejected, 0U);
}

std::vector<const SchedulerRow*> all_schedulers() {
  std::vector<const SchedulerRow*> rows;
  for (const SchedulerRow& row : schedulers()) rows.push_back(&row);
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Scheduler, Hosts, testing::ValuesIn(all_schedulers()),
                         [](const testing::TestParamInfo<const SchedulerRow*>& row) {
                           std::string text(row.param->name);
                           std::ranges::replace(text, '-', '_');
                           return text;
                         });

/// A checker that misses what is wrong would hold everything right. Its node has ten CPUs.
class TheHostChecker : public testing::Test {
 protected:
  TheHostChecker() {
    workload_.jobs.resize(3);
    for (Job& job : workload_.jobs) details_of(workload_, job);
    workload_.details[0].cpus = 4;
    workload_.details[1].cpus = 6;
    workload_.details[2].cpus = 0.5;
  }
  void tell(int at_s, RunEvent::Kind kind, unsigned job, unsigned gpu, int until_s) {
    checker_.on({second(at_s), kind, static_cast<JobId>(job), static_cast<GpuId>(gpu), place_,
                 second(until_s)});
  }
  [[nodiscard]] std::string first() const {
    return checker_.violations().empty() ? "" : checker_.violations().front();
  }

 private:
  static Instant second(int s) { return Instant{} + std::chrono::seconds{s}; }

  FleetFile fleet_ = *parse_fleet(
      R"({"gpus": [{"name": "n0/%d", "model": "A100-40GB", "count": 2}],
          "nodes": [{"name": "n0", "cpus": 10, "host_memory_mib": 1600}]})",
      "fleet", *ProfileChoice::parse("plain"));
  PlacementId place_ = *fleet_.geometries.front().find("1g.5gb", 0);
  Workload workload_;
  HostChecker checker_{fleet_, workload_};
};

TEST_F(TheHostChecker, SeesAnOvercommit) {
  tell(0, RunEvent::Kind::started, 0, 0, 0);
  tell(0, RunEvent::Kind::started, 1, 1, 0);
  EXPECT_EQ(first(), "");
  tell(0, RunEvent::Kind::started, 2, 1, 0);
  EXPECT_TRUE(first().contains("10.5 of 10 CPUs")) << first();
}

TEST_F(TheHostChecker, SeesAJobWhereItWasUntilItHasMoved) {
  tell(0, RunEvent::Kind::started, 1, 0, 0);
  tell(1, RunEvent::Kind::migrated, 1, 1, 20);
  tell(2, RunEvent::Kind::started, 0, 0, 2);
  EXPECT_EQ(first(), "") << "it has what it had";
  tell(3, RunEvent::Kind::started, 2, 0, 3);
  EXPECT_TRUE(first().contains("10.5 of 10 CPUs")) << first();
}

TEST_F(TheHostChecker, SeesNothingOfAJobThatEndedOnItsWay) {
  tell(0, RunEvent::Kind::started, 1, 0, 0);
  tell(1, RunEvent::Kind::migrated, 1, 1, 20);
  tell(2, RunEvent::Kind::finished, 1, 1, 2);
  tell(3, RunEvent::Kind::started, 1, 0, 3);
  tell(3, RunEvent::Kind::started, 0, 0, 3);
  EXPECT_EQ(first(), "");
}

}  // namespace
}  // namespace cleave::laws
