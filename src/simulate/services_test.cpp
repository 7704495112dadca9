// Services and leases in simulated runs.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "engine/engine_driver_test.hpp"
#include "model/workload_file.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

struct Ran {
  RunSummary summary;
  std::vector<JobOutcome> outcomes;
};

Ran run(std::string_view workload, const std::string& spec, std::string_view fleet = "1xA100-40GB",
        SimulationOptions options = {}) {
  const auto read = parse_workload(workload, "w");
  EXPECT_TRUE(read) << read.error().text();
  Ran ran;
  options.outcomes = &ran.outcomes;
  options.reconfiguration = 0s;
  const auto summary =
      simulate(EngineDriver::in_short(fleet), *read, *parse_scheduler(spec), options);
  EXPECT_TRUE(summary) << summary.error().text();
  if (summary) ran.summary = *summary;
  return ran;
}

/// Of the one service.
double on_target_s(const Ran& ran) {
  return in_seconds(ran.summary.services.at(0).on_target);
}

const std::vector<std::string> takers = {"full-gpu", "static:layout=7g.40gb@0", "scheme-b",
                                         "online"};

TEST(Services, RunAsLongAsOtherJobsAndAreWatched) {
  for (const std::string& spec : takers) {
    SCOPED_TRACE(spec);
    const Ran ran =
        run(R"({"id": "web", "profile": "7g.40gb", "flat": true, "service": {"served_per_s": 50, )"
            R"("load": [{"requests_per_s": 40}, {"from_s": 60, "requests_per_s": 60}, )"
            R"({"from_s": 90, "requests_per_s": 10}]}})"
            "\n"
            R"({"id": "a", "profile": "7g.40gb", "flat": true, "duration_s": 200})",
            spec, "2xA100-40GB");
    ASSERT_EQ(ran.summary.services.size(), 1U);
    EXPECT_EQ(in_seconds(ran.summary.services[0].time), 200);
    EXPECT_EQ(on_target_s(ran), 170);
    EXPECT_EQ(ran.summary.services[0].longest_off, 30s);
    EXPECT_EQ(ran.summary.makespan, 200s);
    EXPECT_EQ(ran.summary.finished, 2U);
    EXPECT_EQ(ran.summary.turnaround.count, 1U) << "of batches";
  }
}

// What changes when a GPU is no longer set aside is waited for.
TEST(Services, AreNoReasonToEndBeforeAReservation) {
  for (const std::string& spec : takers) {
    SCOPED_TRACE(spec);
    SimulationOptions options;
    options.reservations = {{GpuId{1}, Instant{}, Instant{} + 3600s, ""}};
    const Ran ran =
        run(R"({"id": "web", "profile": "7g.40gb", "flat": true, )"
            R"("service": {"served_per_s": 5, "requests_per_s": 5}})"
            "\n"
            R"({"id": "a", "profile": "7g.40gb", "flat": true, "arrival_s": 1, "duration_s": 100, )"
            R"("restartable": false})",
            spec, "2xA100-40GB", options);
    EXPECT_EQ(ran.summary.waiting, 0U);
    EXPECT_EQ(ran.summary.makespan, 3700s);
  }
}

constexpr std::string_view web =
    R"({"id": "web", "profile": "7g.40gb", "flat": true, "duration_s": 100, "arrival_s": 50, )"
    R"("service": {"served_per_s": 5, "requests_per_s": 5}})"
    "\n";

TEST(Services, EndWhenTheySayWhetherTheyRunOrWait) {
  for (const std::string& spec : takers) {
    SCOPED_TRACE(spec);
    const Ran alone = run(web, spec);
    EXPECT_EQ(on_target_s(alone), 100);
    EXPECT_EQ(alone.outcomes[0].end, JobOutcome::End::finished);
    // A batch that may not be stopped is in its way to the end.
    const std::string stays =
        R"({"id": "a", "profile": "7g.40gb", "flat": true, "duration_s": 500, )"
        R"("restartable": false})";
    const Ran beside = run(std::string(web) + stays, spec);
    EXPECT_EQ(on_target_s(beside), 0);
    EXPECT_EQ(beside.summary.services[0].time, 100s);
    EXPECT_EQ(beside.outcomes[1].end, JobOutcome::End::waiting);
    EXPECT_EQ(beside.summary.makespan, 500s);
  }
}

TEST(Services, BatchesMakeRoomAndLoseOnlyWhatTheySay) {
  for (const std::string& spec : takers) {
    SCOPED_TRACE(spec);
    const auto with = [&](std::string_view batch) {
      return run(fmt::format("{}{}\n", web, batch), spec);
    };
    const Ran restarted =
        with(R"({"id": "a", "profile": "7g.40gb", "flat": true, "duration_s": 60})");
    EXPECT_EQ(on_target_s(restarted), 100);
    EXPECT_EQ(restarted.outcomes[0].turnaround, 210s) << "50 s are lost, it starts again at 150 s";
    EXPECT_EQ(restarted.summary.restarts, 1U);
    const Ran saved = with(R"({"id": "a", "profile": "7g.40gb", "flat": true, "duration_s": 60, )"
                           R"("progress": "checkpoint"})");
    EXPECT_EQ(on_target_s(saved), 85) << "it waits until the checkpoint is written";
    EXPECT_EQ(saved.summary.checkpoints, 1U);
    EXPECT_EQ(saved.outcomes[0].turnaround, 175s) << "15 s to read it, and 10 s of work";
    SimulationOptions never;
    never.may = MayInterrupt::never;
    const Ran forbidden = run(
        std::string(web) + R"({"id": "a", "profile": "7g.40gb", "flat": true, "duration_s": 60})",
        spec, "1xA100-40GB", never);
    EXPECT_EQ(on_target_s(forbidden), 90) << "from 60 s on";
    EXPECT_EQ(forbidden.summary.restarts, 0U);
  }
}

TEST(Services, AreRestartedWhenTheirGpuIsLost) {
  for (const std::string& spec : takers) {
    SCOPED_TRACE(spec);
    SimulationOptions options;
    options.faults.outages.push_back({GpuId{0}, Instant{} + 70s, Instant{} + 80s});
    const Ran ran = run(web, spec, "1xA100-40GB", options);
    EXPECT_EQ(on_target_s(ran), 90);
    EXPECT_EQ(ran.summary.services[0].longest_off, 10s);
  }
}

TEST(Leases, AreGivenBackWhenIdle) {
  for (const std::string& spec : takers) {
    SCOPED_TRACE(spec);
    const Ran ran = run(R"({"id": "nb", "arrival_s": 1, "profile": "7g.40gb", "duration_s": 1000, )"
                        R"("lease": {"idle_after_s": 100, "starts_within_s": 5, )"
                        R"("active": [{"from_s": 10, "to_s": 50}, {"from_s": 120, "to_s": 200}]}})"
                        "\n"
                        R"({"id": "a", "profile": "7g.40gb", "flat": true, "duration_s": 10, )"
                        R"("restartable": false})",
                        spec);
    EXPECT_EQ(ran.summary.makespan, 310s) << "held from 10 s for 300 s";
    EXPECT_EQ(ran.summary.leases, 1U);
    EXPECT_EQ(ran.summary.leases_in_time, 0.0);
    EXPECT_EQ(ran.summary.lease_wait.max, 9s);
    ASSERT_TRUE(ran.summary.lease_given_back_slice_h);
    EXPECT_NEAR(*ran.summary.lease_given_back_slice_h, 7 * 700 / 3600.0, 1e-9);
    EXPECT_EQ(ran.outcomes[1].promised_after, 9s) << "and says when";
    EXPECT_EQ(ran.summary.lease_late_max_s, 0.0);
  }
}

TEST(Leases, ShrinkAndGrow) {
  for (const std::string spec : {"online", "scheme-b", "static:layout=3g.20gb@0+3g.20gb@4"}) {
    SCOPED_TRACE(spec);
    SimulationOptions options;
    options.stops.checkpoint = 10s;
    const bool fixed = spec.starts_with("static");
    const Ran ran = run(
        R"({"id": "nb", "profile": "3g.20gb", "duration_s": 1000, "lease": {"idle_after_s": 100, )"
        R"("then": "shrink", "idle_mib": 4000, "active": [{"from_s": 500, "to_s": 600}]}})",
        spec, "1xA100-40GB", options);
    // Idle from 100 s to 500 s and from 700 s to the end of its time.
    EXPECT_EQ(ran.summary.migrations, fixed ? 0U : 3U);
    EXPECT_EQ(ran.summary.makespan, fixed ? 1000s : 1030s) << "each move pauses it";
    // Moves 5 s to write and 5 s to read: two in the first time, one in the second.
    EXPECT_NEAR(*ran.summary.lease_given_back_slice_h, fixed ? 0 : 2 * 720 / 3600.0, 1e-3);
  }
}

/// What is seen of a run from outside.
class Watcher final : public RunObserver {
 public:
  explicit Watcher(const Workload& workload) : workload_(&workload) {}

  void on(const RunEvent& event) override {
    using Kind = RunEvent::Kind;
    if (event.kind != Kind::stopped && event.kind != Kind::checkpointed) return;
    if (kind(*event.job) != JobKind::batch) return;  // a lease that moves is stopped for that
    EXPECT_LE(++stops_[*event.job], 2U);
    ++stops;
  }
  void on_rate(Instant /*now*/, const RateChange& change) override {
    if (kind(change.job) == JobKind::service) rates_[change.job].push_back(change);
  }

  /// For how long the service was on target, by what was seen of the speeds of its replicas.
  [[nodiscard]] Duration on_target(std::uint32_t service, Duration time) const {
    const ServiceTerms& terms = workload_->services[service];
    std::vector<const std::vector<RateChange>*> replicas;
    Instant arrival{};
    std::set<Instant> moments;
    for (std::size_t i = 0; i < workload_->jobs.size(); ++i) {
      const JobDetails* details = workload_->details_of(workload_->jobs[i]);
      if (details == nullptr || details->service != service) continue;
      arrival = workload_->jobs[i].arrival;
      const auto seen = rates_.find(static_cast<JobId>(i));
      if (seen == rates_.end()) continue;
      replicas.push_back(&seen->second);
      for (const RateChange& change : seen->second) moments.insert(change.from);
    }
    const Instant end = arrival + time;
    moments.insert(arrival);
    moments.insert(end);
    for (const auto& step : terms.load) moments.insert(arrival + step.from);
    Duration all{};
    for (auto at = moments.lower_bound(arrival); *at < end; ++at) {
      double served = 0;
      std::size_t serve = 0;
      for (const auto* replica : replicas) {
        double speed = 0;
        for (const RateChange& change : *replica)
          if (change.from <= *at) speed = change.speed;
        served += speed * terms.served_per_s;
        serve += speed > 0 ? 1 : 0;
      }
      if (cleave::on_target(terms, load_at(terms, *at - arrival), served, serve))
        all += *std::next(at) - *at;
    }
    return all;
  }

  std::size_t stops = 0;

 private:
  [[nodiscard]] JobKind kind(JobId job) const {
    return workload_->kind_of(workload_->jobs[index(job)]);
  }

  const Workload* workload_;
  std::map<JobId, std::size_t> stops_;
  std::map<JobId, std::vector<RateChange>> rates_;
};

std::string random_workload(Random& random) {
  const std::string profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb"};
  std::string lines;
  const auto any = [&] { return profiles[random.below(3)]; };
  for (int i = 0; i < 3; ++i)
    lines += fmt::format(
        R"({{"id": "s{}", "arrival_s": {}, "profile": "{}", {}"service": {{"replicas": {}, )"
        R"("served_per_s": 10, "latency_s": 0.5, "load": [{{"requests_per_s": {}}}, )"
        R"({{"from_s": {}, "requests_per_s": {}}}]}}}})"
        "\n",
        i, random.below(100), any(), i == 0 ? R"("duration_s": 3000, )" : "", 1 + random.below(3),
        random.below(20), 1 + random.below(500), random.below(20));
  for (int i = 0; i < 10; ++i)
    lines += fmt::format(
        R"({{"id": "l{}", "arrival_s": {}, "profile": "{}", "duration_s": {}, "lease": {{)"
        R"("starts_within_s": 60, "idle_after_s": 60, "then": "{}", {}"active": [)"
        R"({{"from_s": {}, "to_s": {}}}]}}}})"
        "\n",
        i, random.below(2000), any(), 1 + random.below(1000), i % 2 == 0 ? "give-back" : "shrink",
        i % 2 == 0 ? "" : R"("idle_mib": 1000, )", random.below(200), 300 + random.below(500));
  for (int i = 0; i < 80; ++i)
    lines += fmt::format(R"({{"id": "b{}", "arrival_s": {}, "profile": "{}", "duration_s": {}, )"
                         R"("restartable": {}, "movable": false, "progress": "{}"}})"
                         "\n",
                         i, random.below(2000), any(), 1 + random.below(400), random.below(4) > 0,
                         random.below(2) == 0 ? "checkpoint" : "none");
  return lines;
}

/// What is measured of services is what was seen; services keep their places, batches are stopped
/// no more often than they may be; and everything ends.
TEST(Services, AreMeasuredAsSeenAmongLeasesBatchesAndFaults) {
  std::size_t stops = 0, in_part = 0;
  for (const std::string spec :
       {"full-gpu:evict=2", "scheme-b:evict=2", "online:evict=2", "online:evict=2;backfill=easy",
        "scheme-b:evict=2;backfill=conservative", "online:evict=2;order=fair-share",
        "static:evict=2;layout=3g.20gb@0+2g.10gb@4+1g.5gb@6"})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(fmt::format("{} {}", spec, seed));
      Random random(seed);
      const auto workload = parse_workload(random_workload(random), "w");
      ASSERT_TRUE(workload) << workload.error().text();
      Watcher watcher(*workload);
      SimulationOptions options;
      options.observer = &watcher;
      options.process_start = 3s;
      options.faults.between_losses = 2000s;
      options.faults.repair = 100s;
      options.seed = seed;
      const auto summary = simulate(EngineDriver::in_short("4xA100-40GB"), *workload,
                                    *parse_scheduler(spec), options);
      ASSERT_TRUE(summary) << summary.error().text();
      ASSERT_EQ(summary->services.size(), workload->services.size());
      for (std::uint32_t i = 0; i < summary->services.size(); ++i) {
        const ServiceSummary& service = summary->services[i];
        EXPECT_EQ(service.on_target, watcher.on_target(i, service.time)) << service.id;
        EXPECT_LE(service.on_target + service.longest_off, service.time);
        in_part += service.on_target > 0s && service.on_target < service.time ? 1 : 0;
      }
      EXPECT_EQ(summary->services[0].time, 3000s);
      stops += watcher.stops;
    }
  EXPECT_GT(stops, 100U);
  EXPECT_GT(in_part, 50U);
}

TEST(Services, WithoutAnythingElseDoNotEnd) {
  const auto workload = parse_workload(
      R"({"id": "s", "profile": "1g.5gb", "service": {"served_per_s": 1, "latency_s": 2}})", "w");
  const auto ran =
      simulate(EngineDriver::in_short("1xA100-40GB"), *workload, *parse_scheduler("online"));
  ASSERT_FALSE(ran);
  EXPECT_NE(ran.error().text().find("duration_s"), std::string::npos);
}

}  // namespace
}  // namespace cleave
