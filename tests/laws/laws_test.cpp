// The laws of scheduling, for every scheduler of the table and the one of examples/scheduler, under
// random fleets, jobs, options and faults. In a third of the scenarios there are jobs of several
// places and of whole GPUs.
//
// CLEAVE_LAW_EVENTS is the number of events (arrivals and ends of jobs) for each scheduler; default
// 400,000, an eighth for schedulers that search, and a twentieth of that in builds without
// optimisation; `./test.sh --long` has ten million. CLEAVE_LAW_SEED is the first seed, as failures
// name it; with CLEAVE_LAW_EVENTS=1 only that one is run. CLEAVE_LAW_JOBS is the largest number of
// jobs in a scenario, and CLEAVE_LAW_SHOW prints the events of a failed run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "../../examples/scheduler/shortest_first.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/sanitized_test.hpp"
#include "kinds_scenario.hpp"
#include "law_checker.hpp"
#include "scenario.hpp"

namespace cleave::laws {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::uint64_t events_of(const SchedulerRow& row) {
  const bool searches = row.name == "dyna-p" || row.name == "oracle" || &row == &shortest_first;
  const std::uint64_t all = searches ? 50'000 : 400'000;
#ifdef NDEBUG
  return setting("CLEAVE_LAW_EVENTS", all);
#else
  return setting("CLEAVE_LAW_EVENTS", all / 20);
#endif
}

/// Of a scenario. A long queue whose every job has a reservation takes its square in time.
constexpr std::uint64_t most_jobs = sanitized ? 150 : 600;

/// As parse_scheduler, for this row.
Result<SchedulerSpec> spec_of(const SchedulerRow& row, const std::string& text) {
  auto read = read_spec(std::span(&row, 1), text, "scheduler");
  if (!read) return std::unexpected(read.error());
  return SchedulerSpec{read->row, std::move(read->options), text};
}

/// Writes down everything observable of a run.
class Transcript final : public RunObserver {
 public:
  void on(const RunEvent& event) override {
    const auto number = [](const auto& id) { return id ? static_cast<std::int64_t>(*id) : -1; };
    fmt::format_to(std::back_inserter(text_), "{} {} {} {} {} {}\n",
                   event.at.time_since_epoch().count(), name(event.kind), number(event.job),
                   number(event.gpu), number(event.placement),
                   event.until ? event.until->time_since_epoch().count() : -1);
  }
  [[nodiscard]] std::string text() const { return {text_.data(), text_.size()}; }

 private:
  fmt::memory_buffer text_;
};

/// With jobs of several places there are fewer: what is kept for them takes long to find where many
/// wait.
Scenario scenario_of(std::uint64_t seed, std::size_t jobs) {
  if (seed % 3 == 0) return with_gangs(random_scenario(seed, 1 + jobs / 6));
  return random_scenario(seed, jobs);
}

std::string transcript(const Scenario& scenario, const SchedulerSpec& spec, bool use_index) {
  Transcript transcript;
  SimulationOptions options = scenario.options_of(spec);
  options.use_index = use_index;
  options.observer = &transcript;
  const auto summary = simulate(scenario.fleet, scenario.workload, spec, options);
  if (!summary) return summary.error().text();
  return transcript.text() + to_json(*summary).dump();
}

/// The first line in which two texts differ.
std::string difference(const std::string& a, const std::string& b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  const auto from = a.rfind('\n', static_cast<std::size_t>(in_a - a.begin())) + 1;
  return fmt::format("'{}' against '{}'", a.substr(from, 120),
                     b.substr(std::min(from, b.size()), 120));
}

class Laws : public testing::TestWithParam<const SchedulerRow*> {
 protected:
  /// A scheduler that takes batches only says so of each service and lease.
  static void check_kinds_refused(const Scenario& scenario, const SchedulerSpec& spec,
                                  const std::vector<JobOutcome>& outcomes) {
    if (spec.row->kinds) return;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const Job& job = scenario.workload.jobs[i];
      if (scenario.workload.kind_of(job) == JobKind::batch) continue;
      EXPECT_EQ(outcomes[i].end, JobOutcome::End::rejected) << job.id;
    }
  }

  /// A scheduler that takes no jobs of several places, nor of whole GPUs, says so of each.
  static void check_refused(const Scenario& scenario, const SchedulerSpec& spec,
                            const RunSummary& summary, const std::vector<JobOutcome>& outcomes) {
    if (spec.row->several) return;
    std::size_t asked = 0;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const Job& job = scenario.workload.jobs[i];
      const Request& request = scenario.workload.requests[job.request];
      if (request.places == 1 && !std::holds_alternative<WholeGpu>(request.wanted)) continue;
      asked += resolve(request, scenario.fleet.geometries).impossible.empty() ? 1 : 0;
      EXPECT_EQ(outcomes[i].end, JobOutcome::End::rejected) << job.id;
    }
    std::size_t told = 0;
    for (const ReasonCount& each : summary.rejections)
      if (each.reason.starts_with(fmt::format("scheduler '{}'", spec.row->name)))
        told += each.count;
    EXPECT_GE(told, asked);
  }

  /// The number of events.
  static std::size_t run(const Scenario& scenario, const SchedulerSpec& spec, bool kinds = false) {
    LawOptions laws = scenario.laws(spec);
    if (kinds) {
      laws.fcfs = laws.alike_by_priority = false;
      laws.overtakes.reset();
    }
    LawChecker checker(scenario.fleet, scenario.workload, laws);
    std::vector<JobOutcome> outcomes;
    SimulationOptions options = scenario.options_of(spec);
    options.observer = &checker;
    options.outcomes = &outcomes;
    const auto summary = simulate(scenario.fleet, scenario.workload, spec, options);
    if (summary) {
      checker.finish(*summary, outcomes);
      check_refused(scenario, spec, *summary, outcomes);
      check_kinds_refused(scenario, spec, outcomes);
      for (const double share :
           {summary->compute_utilization, summary->memory_allocated_utilization,
            summary->memory_used_utilization.value_or(0), summary->fragmentation_mean}) {
        EXPECT_GE(share, 0);
        EXPECT_LE(share, 1 + 1e-9);
      }
    } else if (summary.error().kind == ErrorKind::bad_usage) {
      return 0;  // options that exclude each other
    } else {
      ADD_FAILURE() << summary.error().text();
    }
    for (const std::string& each : checker.violations()) ADD_FAILURE() << each;
    if (!checker.violations().empty() && std::getenv("CLEAVE_LAW_SHOW") != nullptr)
      fmt::print("{}\n", transcript(scenario, spec, true));
    return summary ? summary->events : 1;
  }
};

TEST_P(Laws, Hold) {
  const SchedulerRow& row = *GetParam();
  const std::uint64_t events = events_of(row);
  const std::uint64_t first = setting("CLEAVE_LAW_SEED", 1);
  std::uint64_t seen = 0, seed = first;
  for (; seen < events && !HasFailure(); ++seed) {
    const Scenario scenario = scenario_of(seed, setting("CLEAVE_LAW_JOBS", most_jobs));
    const std::string text = random_spec(row, seed);
    SCOPED_TRACE(fmt::format("CLEAVE_LAW_SEED={} {}", seed, text));
    const auto spec = spec_of(row, text);
    ASSERT_TRUE(spec) << spec.error().text();
    seen += run(scenario, *spec);
    if (seed % 4 == 0) {
      const std::string once = transcript(scenario, *spec, true);
      const std::string again = transcript(scenario, *spec, seed % 8 == 0);
      EXPECT_TRUE(once == again) << difference(once, again);
    }
  }
  RecordProperty("events", std::to_string(seen));
  RecordProperty("scenarios", std::to_string(seed - first));
}

// With services and leases, in a third of the scenarios beside jobs of several places, turns are
// others, and a service may never end or find room; all else holds.
TEST_P(Laws, HoldWithServicesAndLeases) {
  const SchedulerRow& row = *GetParam();
  const std::uint64_t events = setting("CLEAVE_LAW_EVENTS", events_of(row) / 20);
  const std::uint64_t first = setting("CLEAVE_LAW_SEED", 1);
  std::uint64_t seen = 0;
  for (std::uint64_t seed = first; seen < events && !HasFailure(); ++seed) {
    Scenario scenario = scenario_of(seed, setting("CLEAVE_LAW_JOBS", most_jobs));
    add_kinds(scenario, seed);
    const std::string text = random_spec(row, seed);
    SCOPED_TRACE(fmt::format("CLEAVE_LAW_SEED={} {}", seed, text));
    const auto spec = spec_of(row, text);
    ASSERT_TRUE(spec) << spec.error().text();
    seen += run(scenario, *spec, true);
    if (seed % 8 != 0) continue;
    const std::string once = transcript(scenario, *spec, true);
    const std::string again = transcript(scenario, *spec, seed % 16 == 0);
    EXPECT_TRUE(once == again) << difference(once, again);
  }
}

/// Counts what happens to jobs of several places.
class OfSeveral final : public RunObserver {
 public:
  void on(const RunEvent& event) override {
    if (event.rank == 1U) ++counts[event.kind];
    if (event.rank && !event.placement) ++whole;
  }
  std::map<RunEvent::Kind, std::size_t> counts;
  std::size_t whole = 0;
};

/// Counts starts by kind, and of jobs of several places or of whole GPUs.
class OfKinds final : public RunObserver {
 public:
  explicit OfKinds(const Workload& workload) : workload_(workload) {}
  void on(const RunEvent& event) override {
    if (event.kind != RunEvent::Kind::started || event.rank.value_or(1) != 1) return;
    ++started[workload_.kind_of(workload_.jobs[index(*event.job)])];
    together += event.rank || !event.placement ? 1 : 0;
  }
  std::map<JobKind, std::size_t> started;
  std::size_t together = 0;

 private:
  const Workload& workload_;
};

TEST(Scenarios, HoldServicesAndLeasesBesideGangs) {
  std::size_t of_all = 0;
  for (std::uint64_t seed = 3; seed <= 300; seed += 3) {
    Scenario scenario = scenario_of(seed, 600);
    add_kinds(scenario, seed);
    OfKinds seen(scenario.workload);
    scenario.options.observer = &seen;
    const auto spec = parse_scheduler("adaptive");
    const auto run = simulate(scenario.fleet, scenario.workload, *spec, scenario.options_of(*spec));
    ASSERT_TRUE(run) << run.error().text();
    of_all +=
        seen.together > 0 && seen.started[JobKind::service] > 0 && seen.started[JobKind::lease] > 0
            ? 1
            : 0;
  }
  EXPECT_GT(of_all, 20U);
}

// Laws hold easily if nothing happens.
TEST(Scenarios, HoldGangsToWhichThingsHappen) {
  OfSeveral seen;
  std::size_t rejected = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Scenario scenario = with_gangs(random_scenario(seed, 200));
    scenario.options.observer = &seen;
    const auto s =
        simulate(scenario.fleet, scenario.workload, *parse_scheduler("online"), scenario.options);
    ASSERT_TRUE(s) << s.error().text();
    rejected += s->rejected;
  }
  using Kind = RunEvent::Kind;
  EXPECT_GT(seen.counts[Kind::finished], 1000U);
  for (const Kind kind : {Kind::failed, Kind::evicted, Kind::ran_out, Kind::restarted_early})
    EXPECT_GT(seen.counts[kind], 10U) << name(kind);
  EXPECT_GT(seen.whole, 1000U);
  EXPECT_GT(rejected, 100U);
}

TEST(Scenarios, HoldWhatTheyPromise) {
  RunSummary all;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Scenario scenario = random_scenario(seed, 200);
    const auto s =
        simulate(scenario.fleet, scenario.workload, *parse_scheduler("scheme-b"), scenario.options);
    ASSERT_TRUE(s) << s.error().text();
    all.finished += s->finished;
    all.failed += s->failed;
    all.rejected += s->rejected;
    all.waiting += s->waiting;
    all.deadline_misses += s->deadline_misses;
    all.oom_restarts += s->oom_restarts;
    all.early_restarts += s->early_restarts;
    all.evictions += s->evictions;
    all.gpu_losses += s->gpu_losses;
    all.destroys += s->destroys;
  }
  EXPECT_GT(all.finished, 10'000U);
  for (const std::size_t count : {all.failed, all.rejected, all.deadline_misses, all.oom_restarts,
                                  all.early_restarts, all.evictions, all.gpu_losses, all.destroys})
    EXPECT_GT(count, 50U) << to_json(all).dump();
}

std::vector<const SchedulerRow*> all_schedulers() {
  std::vector<const SchedulerRow*> rows;
  for (const SchedulerRow& row : schedulers()) rows.push_back(&row);
  rows.push_back(&shortest_first);
  return rows;
}

std::string test_name(const testing::TestParamInfo<const SchedulerRow*>& row) {
  std::string text(row.param->name);
  std::ranges::replace(text, '-', '_');
  return text;
}

INSTANTIATE_TEST_SUITE_P(Scheduler, Laws, testing::ValuesIn(all_schedulers()), test_name);

}  // namespace
}  // namespace cleave::laws
