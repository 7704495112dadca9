// The checker can fail: one run written by hand that it accepts, and for each law the same run with
// one violation.

#include "law_checker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/format.hpp"
#include "model/workload_file.hpp"

namespace cleave::laws {
namespace {

using Kind = RunEvent::Kind;
using namespace std::chrono_literals;

constexpr std::string_view fleet_text = R"({"gpus": [{"name": "a", "model": "A100-40GB"},
  {"name": "b", "model": "A100-40GB", "instances": [
    {"profile": "1g.5gb", "start": 0, "owned": false},
    {"profile": "1g.5gb", "start": 1, "workload": "w"},
    {"profile": "2g.10gb", "start": 4}]}]})";

constexpr std::string_view jobs_text = R"({"id": "0", "duration_s": 10, "memory_mib": 4000}
{"id": "1", "duration_s": 10, "memory_mib": 4000, "restartable": false, "movable": false}
{"id": "2", "duration_s": 10, "memory_mib": 4000, "deadline_s": 15}
{"id": "3", "arrival_s": 5, "duration_s": 10, "memory_mib": 4000})";

/// The checker's input; `events` are in the order in which it sees them.
struct Told {
  FleetFile fleet = *parse_fleet(fleet_text, "fleet", {});
  Workload workload = *parse_workload(jobs_text, "jobs");
  LawOptions options{
      .fcfs = true, .sharing = false, .must_end = true, .process_start = {}, .checkpoint = 4s};
  std::vector<RunEvent> events;
  RunSummary summary;
  std::vector<JobOutcome> outcomes;

  Told();

  [[nodiscard]] PlacementId place(std::string_view profile, int start) const {
    return *fleet.geometries[0].find(profile, start);
  }
  static RunEvent event(Duration at, Kind kind, std::optional<std::uint32_t> job = {},
                        std::optional<std::uint32_t> gpu = {},
                        std::optional<PlacementId> where = {}, std::optional<Duration> until = {}) {
    RunEvent event{Instant{} + at, kind, {}, {}, where, {}};
    if (job) event.job = static_cast<JobId>(*job);
    if (gpu) event.gpu = static_cast<GpuId>(*gpu);
    if (until) event.until = Instant{} + *until;
    return event;
  }
  /// The last event of this kind, of this job if one is named.
  std::size_t find(Kind kind, std::optional<std::uint32_t> job = {}) const {
    for (std::size_t i = events.size(); i-- > 0;)
      if (events[i].kind == kind && (!job || events[i].job == static_cast<JobId>(*job))) return i;
    throw std::out_of_range("no such event");
  }
  RunEvent& at(Kind kind, std::optional<std::uint32_t> job = {}) { return events[find(kind, job)]; }
  void insert_before(std::size_t where, RunEvent event) {
    event.at = events[where].at;
    events.insert(events.begin() + static_cast<std::ptrdiff_t>(where), event);
  }
  void erase(std::size_t where) {
    events.erase(events.begin() + static_cast<std::ptrdiff_t>(where));
  }

  [[nodiscard]] std::vector<std::string> violations() const {
    LawChecker checker(fleet, workload, options);
    for (const RunEvent& each : events) checker.on(each);
    checker.finish(summary, outcomes);
    return checker.violations();
  }
};

Told::Told() {
  workload.speeds = {
      SpeedModel{.table = {}, .phases = {}, .law = {}, .reference = nullptr, .flat = true}};
  const PlacementId small = place("1g.5gb", 0), next = place("1g.5gb", 1),
                    pair = place("2g.10gb", 4), half = place("3g.20gb", 4);
  events = {event(0s, Kind::submitted, 0),
            event(0s, Kind::created, {}, 0, small, 1s),
            event(0s, Kind::started, 0, 0, small, 1s),
            event(0s, Kind::submitted, 1),
            event(0s, Kind::started, 1, 1, pair, 0s),
            event(0s, Kind::submitted, 2),
            event(0s, Kind::created, {}, 0, half, 2s),
            event(0s, Kind::started, 2, 0, half, 2s),
            event(5s, Kind::submitted, 3),
            event(5s, Kind::created, {}, 0, next, 6s),
            event(5s, Kind::started, 3, 0, next, 6s),
            event(10s, Kind::finished, 1, 1, pair),
            event(10s, Kind::destroyed, {}, 1, pair),
            event(10s, Kind::created, {}, 1, half, 11s),
            event(10s, Kind::migrated, 2, 1, half, 11s),
            event(11s, Kind::finished, 0, 0, small),
            event(12s, Kind::finished, 2, 1, half),
            event(13s, Kind::gpu_lost, {}, 0),
            event(13s, Kind::evicted, 3, 0, next),
            event(14s, Kind::gpu_returned, {}, 0),
            event(14s, Kind::created, {}, 0, small, 15s),
            event(14s, Kind::started, 3, 0, small, 15s),
            event(25s, Kind::finished, 3, 0, small)};
  using End = JobOutcome::End;
  outcomes = {{End::finished, 1s, 11s, 10s},
              {End::finished, 0s, 10s, 10s},
              {End::finished, 2s, 12s, 10s},
              {End::finished, 3s, 20s, 17s}};
  summary.jobs = summary.finished = 4;
  summary.creates = 5;
  summary.destroys = summary.migrations = summary.gpu_losses = summary.evictions = 1;
  summary.events = 8;
  summary.makespan = 25s;
  summary.wait.max = 3s;
  summary.turnaround.max = 20s;
  summary.execution.max = 17s;
}

struct Wrong {
  const char* words;
  std::function<void(Told&)> make;
};

void expect_refused(const std::vector<Wrong>& all) {
  for (const Wrong& wrong : all) {
    Told run;
    wrong.make(run);
    const auto found = run.violations();
    EXPECT_TRUE(std::ranges::any_of(
        found,
        [&](const std::string& each) { return each.find(wrong.words) != std::string::npos; }))
        << "'" << wrong.words << "' is not among: " << fmt::format("{}", fmt::join(found, "; "));
  }
}

TEST(LawChecker, AcceptsTheRunByHand) {
  EXPECT_EQ(Told().violations(), std::vector<std::string>());
}

TEST(LawChecker, WarningsChangeNothingAndComeOnce) {
  const auto warn = [](Told& run, std::size_t before, std::int64_t mib) {
    RunEvent warning = run.events[2];
    warning.kind = Kind::warned;
    warning.until.reset();
    warning.memory = MiB{mib};
    run.insert_before(before, warning);
  };
  Told run;
  warn(run, 8, 1'000'000);
  EXPECT_EQ(run.violations(), std::vector<std::string>());
  expect_refused(
      {{"it was warned of before", [&](Told& r) { warn(r, 8, 1'000'000), warn(r, 9, 1'000'000); }},
       {"a GPU has as much memory", [&](Told& r) { warn(r, 8, 4'000); }},
       {"it does not run", [&](Told& r) { warn(r, 16, 1'000'000); }}});
}

TEST(LawChecker, RefusesImpossibleInstances) {
  expect_refused({
      {"its memory slices are taken",
       [](Told& r) { r.events[9].placement = r.place("1g.5gb", 0); }},
      {"its memory slices are taken",
       [](Told& r) { r.events[9].placement = r.place("7g.40gb", 0); }},
      {"more compute slices than there are",
       [](Told& r) {
         r.insert_before(8, Told::event({}, Kind::created, {}, 0, r.place("4g.20gb", 0), 5s));
       }},
      {"a second instance with media",
       [](Told& r) {
         r.insert_before(8, Told::event({}, Kind::created, {}, 0, r.place("1g.5gb+me", 1), 5s));
         r.insert_before(8, Told::event({}, Kind::created, {}, 0, r.place("1g.5gb+me", 2), 5s));
       }},
      {"it is usable before it is made", [](Told& r) { r.at(Kind::created).until.reset(); }},
      {"the instance is in use",
       [](Told& r) {
         r.events[12].at = Instant{} + 5s,
         std::rotate(r.events.begin() + 11, r.events.begin() + 12, r.events.begin() + 13);
       }},
      {"there is no such instance", [](Told& r) { r.erase(1); }},
      {"there is no such instance",
       [](Told& r) { r.at(Kind::destroyed).placement = r.place("1g.5gb", 6); }},
      {"the instance is not ours to destroy",
       [](Told& r) { r.at(Kind::destroyed).placement = r.place("1g.5gb", 0); }},
      {"the instance is not ours to destroy",
       [](Told& r) { r.at(Kind::destroyed).placement = r.place("1g.5gb", 1); }},
      {"the instance is not ours",
       [](Told& r) { r.at(Kind::started, 1).placement = r.place("1g.5gb", 0); }},
      {"a process still uses its slices", [](Told& r) { r.events[11].kind = Kind::checkpointed; }},
  });
}

TEST(LawChecker, RefusesImpossibleJobs) {
  expect_refused({
      {"time falls", [](Told& r) { r.at(Kind::gpu_lost).at -= 5s; }},
      {"not submitted when it arrives", [](Told& r) { r.at(Kind::submitted, 3).at += 1ns; }},
      {"not submitted in their order", [](Told& r) { r.insert_before(9, r.events[5]); }},
      {"no such job", [](Told& r) { r.at(Kind::submitted, 3).job = static_cast<JobId>(4); }},
      {"no such GPU", [](Told& r) { r.at(Kind::created).gpu = static_cast<GpuId>(2); }},
      {"it does not wait", [](Told& r) { r.erase(0); }},
      {"it runs already", [](Told& r) { r.insert_before(8, r.events[7]); }},
      {"it does not wait", [](Told& r) { r.insert_before(17, r.events[4]); }},
      {"the instance has a job",
       [](Told& r) {
         r.events[7].gpu = static_cast<GpuId>(1), r.events[7].placement = r.place("2g.10gb", 4);
       }},
      {"it begins before the instance is made",
       [](Told& r) { r.at(Kind::started, 3).until = Instant{} + 14s; }},
      {"it begins before the instance is made",
       [](Told& r) { r.at(Kind::migrated).until = Instant{} + 10s; }},
      {"it begins before it is started",
       [](Told& r) { r.at(Kind::started, 1).until = Instant{} - 1ns; }},
      {"it does not run there",
       [](Told& r) { r.at(Kind::finished, 2).gpu = static_cast<GpuId>(0); }},
      {"it does not run", [](Told& r) { r.insert_before(17, r.events[16]); }},
      {"it ends before it begins", [](Told& r) { r.at(Kind::finished, 3).at = Instant{} + 14s; }},
      {"of its work", [](Told& r) { r.at(Kind::finished, 3).at -= 1s; }},
      {"of its work", [](Told& r) { r.workload.jobs[2].duration = 9s; }},
      {"its process had to fail",
       [](Told& r) { r.workload.details[r.workload.jobs[1].details].fails_after = 0.5; }},
      {"its memory does not fit there",
       [](Told& r) {
         r.workload.jobs[0].request = r.workload.intern({BySize{MiB{9000}, {}}, {}, {}});
       }},
      {"it may not be restarted", [](Told& r) { r.at(Kind::finished, 1).kind = Kind::stopped; }},
      {"it may not be restarted",
       [](Told& r) { r.at(Kind::finished, 1).kind = Kind::restarted_early; }},
      {"it may not be stopped",
       [](Told& r) {
         r.options.most_disruptions = 6;
         r.at(Kind::finished, 1).kind = Kind::checkpointed;
       }},
      {"a service or lease makes room",
       [](Told& r) {
         r.options.most_disruptions = 6;
         r.workload.details[r.workload.jobs[1].details].lease = LeaseTerms{};
         r.at(Kind::finished, 1).kind = Kind::checkpointed;
       }},
      {"it may not be moved",
       [](Told& r) { r.at(Kind::migrated).job = static_cast<JobId>(1), r.erase(11); }},
      {"it has not run out of memory",
       [](Told& r) { r.events[2] = Told::event(0s, Kind::failed, 0); }},
      {"it failed on as much memory before",
       [](Told& r) {
         r.events[17] = Told::event(13s, Kind::ran_out, 3, 0, r.place("1g.5gb", 1));
         r.events.erase(r.events.begin() + 18, r.events.begin() + 20);
         r.events[18].placement = r.events[19].placement = r.place("1g.5gb", 2);
       }},
  });
}

TEST(LawChecker, RefusesJobsOutOfTurn) {
  expect_refused({
      {"it overtakes job 0",
       [](Told& r) {
         std::rotate(r.events.begin() + 1, r.events.begin() + 3, r.events.begin() + 5);
       }},
      {"it overtakes job 3",
       [](Told& r) {
         // Evicted before another begins for the first time.
         r.workload.jobs.push_back(r.workload.jobs[3]);
         r.workload.jobs[4].arrival = Instant{} + 13s;
         r.insert_before(19, Told::event({}, Kind::started, 4, 1, r.place("3g.20gb", 4), 13s));
         r.insert_before(19, Told::event({}, Kind::submitted, 4));
         r.events[19].at = r.events[20].at = Instant{} + 13s;
       }},
      {"it overtakes job 2, which waits",
       [](Told& r) {
         r.workload.details[r.workload.jobs[2].details].priority = 1;
         std::rotate(r.events.begin() + 3, r.events.begin() + 5, r.events.begin() + 6);
       }},
      {"it overtakes job 1, which is like it",
       [](Told& r) {
         r.options.fcfs = false;
         r.options.alike_by_priority = true;
         r.workload.details[r.workload.jobs[1].details].priority = 1;
         std::rotate(r.events.begin() + 1, r.events.begin() + 3, r.events.begin() + 4);
       }},
  });
}

TEST(LawChecker, RefusesAWaitThatNothingExplains) {
  // Job 0 waits from the beginning; all others run and leave, and another starts.
  const auto starve = [](Told& r) {
    r.options.fcfs = false;
    r.workload.jobs.push_back(r.workload.jobs[3]);
    r.workload.jobs[4].arrival = Instant{} + 12s;
    r.erase(2);
    r.erase(r.find(Kind::finished, 0));
    r.erase(r.find(Kind::gpu_lost));
    r.erase(r.find(Kind::evicted));
    r.erase(r.find(Kind::gpu_returned));
    r.events.resize(r.find(Kind::finished, 2) + 1);
    r.events.push_back(Told::event(15s, Kind::finished, 3, 0, r.place("1g.5gb", 1)));
    r.events.push_back(Told::event(15s, Kind::submitted, 4));
    r.events.push_back(Told::event(15s, Kind::started, 4, 0, r.place("1g.5gb", 1), 15s));
  };
  expect_refused({
      {"job 0 has waited for all that were before it",
       [&](Told& r) { starve(r), r.options.overtakes = 0; }},
      {"job 0 has waited for all that were before it",
       [&](Told& r) { starve(r), r.options.overtakes = 3; }},
  });
  for (const std::optional<std::size_t> overtakes : {std::optional<std::size_t>{}, {4}}) {
    Told run;
    starve(run);
    run.options.overtakes = overtakes;
    for (const std::string& each : run.violations())
      EXPECT_EQ(each.find("has waited"), std::string::npos) << each;
  }
}

TEST(LawChecker, RefusesEventsOnLostGpus) {
  expect_refused({
      {"the GPU is absent", [](Told& r) { r.erase(r.find(Kind::gpu_returned)); }},
      {"jobs are still on a lost GPU", [](Told& r) { r.erase(r.find(Kind::evicted)); }},
      {"no GPU of its job is lost", [](Told& r) { r.events[11].kind = Kind::evicted; }},
      {"the GPU is absent", [](Told& r) { r.insert_before(19, r.events[17]); }},
      {"it is there", [](Told& r) { r.insert_before(20, r.events[19]); }},
      {"there is no such instance",  // the former ones are gone
       [](Told& r) { r.erase(20); }},
      {"the GPU has instances", [](Told& r) { r.at(Kind::started, 3).placement.reset(); }},
      {"a process still uses the instance",
       [](Told& r) {
         r.events[11].kind = Kind::checkpointed;
         r.events[12] = Told::event(10s, Kind::started, 1, 1, r.place("2g.10gb", 4), 11s);
       }},
  });
}

TEST(LawChecker, RefusesAWrongSummary) {
  expect_refused({
      {"1 jobs wait for ever, the first is 3", [](Told& r) { r.events.resize(21); }},
      {"1 jobs still run at the end", [](Told& r) { r.events.resize(22); }},
      {"1 jobs were never submitted",
       [](Told& r) { r.workload.jobs.push_back(r.workload.jobs[3]); }},
      {"finished: the summary says 3, the events 4", [](Told& r) { --r.summary.finished; }},
      {"failed: the summary says 1, the events 0", [](Told& r) { ++r.summary.failed; }},
      {"rejected", [](Told& r) { ++r.summary.rejected; }},
      {"waiting", [](Told& r) { ++r.summary.waiting; }},
      {"jobs: ", [](Told& r) { ++r.summary.jobs; }},
      {"creates", [](Told& r) { ++r.summary.creates; }},
      {"destroys", [](Told& r) { ++r.summary.destroys; }},
      {"migrations", [](Told& r) { ++r.summary.migrations; }},
      {"oom_restarts", [](Told& r) { ++r.summary.oom_restarts; }},
      {"early_restarts", [](Told& r) { ++r.summary.early_restarts; }},
      {"restarts", [](Told& r) { ++r.summary.restarts; }},
      {"checkpoints", [](Told& r) { ++r.summary.checkpoints; }},
      {"gpu_losses", [](Told& r) { ++r.summary.gpu_losses; }},
      {"evictions", [](Told& r) { ++r.summary.evictions; }},
      {"events: ", [](Told& r) { ++r.summary.events; }},
      {"makespan", [](Told& r) { r.summary.makespan += 1ns; }},
      {"longest wait", [](Told& r) { r.summary.wait.max += 1ns; }},
      {"longest turnaround", [](Told& r) { r.summary.turnaround.max += 1ns; }},
      {"longest execution", [](Told& r) { r.summary.execution.max += 1ns; }},
      {"deadline_misses", [](Told& r) { ++r.summary.deadline_misses; }},
      {"deadline_misses",
       [](Told& r) { r.workload.details[r.workload.jobs[2].details].deadline = 11s; }},
      {"job 3: another execution", [](Told& r) { r.outcomes[3].execution = 10s; }},
      {"job 3: another turnaround", [](Told& r) { r.outcomes[3].turnaround -= 1ns; }},
      {"job 3: another wait", [](Told& r) { r.outcomes[3].wait = 10s; }},
      {"job 1: its outcome is another",
       [](Told& r) { r.outcomes[1].end = JobOutcome::End::failed; }},
      {"not every job has an outcome", [](Told& r) { r.outcomes.pop_back(); }},
  });
}

TEST(LawChecker, InstancesMayBeSharedWhereTheSchedulerSaysSo) {
  for (const bool sharing : {false, true}) {
    Told run;
    run.options.sharing = sharing;
    run.events[7].gpu = static_cast<GpuId>(1);
    run.events[7].placement = run.place("2g.10gb", 4);
    run.events.resize(8);
    const std::string found = fmt::format("{}", fmt::join(run.violations(), "; "));
    EXPECT_EQ(found.find("the instance has a job") == std::string::npos, sharing) << found;
  }
}

}  // namespace
}  // namespace cleave::laws
