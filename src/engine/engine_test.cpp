// Schedulers as pure functions of their events: what commands come out.

#include <gtest/gtest.h>

#include "engine/engine_driver_test.hpp"

namespace cleave {
namespace {

TEST(Online, MakesReusesAndDestroysInstances) {
  EngineDriver online("online");
  EXPECT_EQ(online.submit(0, "1g.5gb"), "create 0 1g.5gb@6, start 0 on 0 1g.5gb@6");
  EXPECT_EQ(online.finish(0), "");
  EXPECT_EQ(online.submit(1, "1g.5gb"), "start 1 on 0 1g.5gb@6") << "the idle instance is reused";
  EXPECT_EQ(online.finish(1), "");
  EXPECT_EQ(online.submit(2, "3g.20gb"),
            "destroy 0 1g.5gb@6, create 0 3g.20gb@4, start 2 on 0 3g.20gb@4");
}

TEST(Online, NobodyOvertakesTheQueue) {
  EngineDriver online("online");
  EXPECT_EQ(online.submit(0, "4g.20gb"), "create 0 4g.20gb@0, start 0 on 0 4g.20gb@0");
  EXPECT_EQ(online.submit(1, "7g.40gb"), "") << "waits for the GPU";
  EXPECT_EQ(online.submit(2, "1g.5gb"), "") << "would fit, but does not overtake";
  EXPECT_EQ(online.finish(0), "destroy 0 4g.20gb@0, create 0 7g.40gb@0, start 1 on 0 7g.40gb@0");
  EXPECT_EQ(online.finish(1), "destroy 0 7g.40gb@0, create 0 1g.5gb@6, start 2 on 0 1g.5gb@6");
}

TEST(Online, RejectsWhatCanNeverRun) {
  EngineDriver online("online");
  EXPECT_EQ(online.submit(0, "2g.12gb"), "reject 0") << "a profile of the A30";
  EXPECT_EQ(online.submit(1, "1g.5gb"), "create 0 1g.5gb@6, start 1 on 0 1g.5gb@6");
}

TEST(Online, TakesItsPolicyAsAnOption) {
  EngineDriver online("online:policy=first-fit");
  EXPECT_EQ(online.submit(0, "1g.5gb"), "create 0 1g.5gb@0, start 0 on 0 1g.5gb@0");
}

TEST(Online, OutOfMemoryMeansTheNextSizeAhead) {
  EngineDriver online("online");
  EXPECT_EQ(online.submit(0, "1g.5gb"), "create 0 1g.5gb@6, start 0 on 0 1g.5gb@6");
  EXPECT_EQ(online.submit(1, "7g.40gb"), "");
  const GpuModel& model = **find_gpu_model("A100-40GB");
  const auto had = [&](std::string_view profile) { return model.find(profile)->usable->value; };
  EXPECT_EQ(online.run_out(0, had("1g.5gb")), "create 0 2g.10gb@4, start 0 on 0 2g.10gb@4")
      << "it was there before the job that waits";
  EXPECT_EQ(online.run_out(0, had("2g.10gb")), "create 0 4g.20gb@0, start 0 on 0 4g.20gb@0");
  EXPECT_EQ(online.run_out(0, had("4g.20gb")),
            "destroy 0 4g.20gb@0, destroy 0 2g.10gb@4, destroy 0 1g.5gb@6, create 0 7g.40gb@0, "
            "start 0 on 0 7g.40gb@0");
  EXPECT_EQ(online.run_out(0, had("7g.40gb")), "fail 0, start 1 on 0 7g.40gb@0")
      << "there is nothing larger than the whole GPU";
}

TEST(Online, JobsOfALostGpuWaitAgainInTheirOrder) {
  EngineDriver online("online", "2xA100-40GB");
  EXPECT_EQ(online.submit(0, "7g.40gb"), "create 0 7g.40gb@0, start 0 on 0 7g.40gb@0");
  EXPECT_EQ(online.submit(1, "7g.40gb"), "create 1 7g.40gb@0, start 1 on 1 7g.40gb@0");
  EXPECT_EQ(online.submit(2, "7g.40gb"), "");
  EXPECT_EQ(online.lose(0), "");
  EXPECT_EQ(online.finish(1), "start 0 on 1 7g.40gb@0");
  EXPECT_EQ(online.recover(0), "create 0 7g.40gb@0, start 2 on 0 7g.40gb@0");
}

TEST(SchemeB, UsesMakesAndMergesInThatOrder) {
  EngineDriver b("scheme-b");
  EXPECT_EQ(b.submit(0, "1g.5gb"), "create 0 1g.5gb@6, start 0 on 0 1g.5gb@6");
  EXPECT_EQ(b.submit(1, "1g.5gb"), "create 0 1g.5gb@4, start 1 on 0 1g.5gb@4");
  EXPECT_EQ(b.finish(0), "");
  EXPECT_EQ(b.submit(2, "1g.5gb"), "start 2 on 0 1g.5gb@6") << "the idle one, not a new one";
  EXPECT_EQ(b.finish(1), "");
  EXPECT_EQ(b.submit(3, "4g.20gb"), "create 0 4g.20gb@0, start 3 on 0 4g.20gb@0");
  EXPECT_EQ(b.submit(4, "2g.10gb"),
            "destroy 0 1g.5gb@4, create 0 2g.10gb@4, start 4 on 0 2g.10gb@4");
  EXPECT_EQ(b.submit(5, "7g.40gb"), "");
  EXPECT_EQ(b.finish(4), "");
  EXPECT_EQ(b.submit(6, "2g.10gb"), "") << "its instance is idle, but nobody overtakes";
}

TEST(SchemeA, ServesASizeToItsEndBeforeTheNext) {
  EngineDriver a("scheme-a", "1xA30-24GB");
  EXPECT_EQ(a.submit(0, "2g.12gb"),
            "create 0 2g.12gb@0, create 0 2g.12gb@2, start 0 on 0 2g.12gb@0");
  EXPECT_EQ(a.submit(1, "2g.12gb"), "start 1 on 0 2g.12gb@2") << "no other size waits";
  EXPECT_EQ(a.submit(2, "1g.6gb"), "") << "another size waits";
  EXPECT_EQ(a.submit(3, "4g.24gb"), "");
  EXPECT_EQ(a.finish(0), "") << "drained only when the last has ended (M19)";
  EXPECT_EQ(a.submit(4, "2g.12gb"), "") << "the class is closed to those behind other sizes";
  EXPECT_EQ(a.finish(1),
            "destroy 0 2g.12gb@0, destroy 0 2g.12gb@2, create 0 4g.24gb@0, start 3 on 0 4g.24gb@0")
      << "the next larger";
  EXPECT_EQ(a.finish(3),
            "destroy 0 4g.24gb@0, create 0 1g.6gb@0, create 0 1g.6gb@1, create 0 1g.6gb@2, "
            "create 0 1g.6gb@3, start 2 on 0 1g.6gb@0")
      << "and then the smallest again";
}

TEST(DynaP, MergesIdleInstancesForTheBatch) {
  EngineDriver dyna("dyna-p", "1xA30-24GB");
  EXPECT_EQ(dyna.submit(0, "1g.6gb"), "create 0 1g.6gb@0, start 0 on 0 1g.6gb@0");
  EXPECT_EQ(dyna.submit(1, "1g.6gb"), "create 0 1g.6gb@1, start 1 on 0 1g.6gb@1");
  EXPECT_EQ(dyna.submit(2, "2g.12gb"), "create 0 2g.12gb@2, start 2 on 0 2g.12gb@2");
  EXPECT_EQ(dyna.submit(3, "2g.12gb"), "");
  EXPECT_EQ(dyna.finish(0), "");
  EXPECT_EQ(dyna.finish(1),
            "destroy 0 1g.6gb@0, destroy 0 1g.6gb@1, create 0 2g.12gb@0, start 3 on 0 2g.12gb@0");
}

TEST(DynaP, PrefersTheBatchOfBestThroughput) {
  EngineDriver dyna("dyna-p", "1xA30-24GB");
  EXPECT_EQ(dyna.submit(0, "4g.24gb"), "create 0 4g.24gb@0, start 0 on 0 4g.24gb@0");
  EXPECT_EQ(dyna.submit(1, "1g.6gb"), "");
  EXPECT_EQ(dyna.submit(2, "4g.24gb"), "");
  EXPECT_EQ(dyna.finish(0), "start 2 on 0 4g.24gb@0")
      << "one full GPU (1 x 1) before a quarter of one (1/4 x 1/4)";
}

TEST(FullGpu, OneJobAGpuFirstComeFirstServed) {
  EngineDriver full("full-gpu", "2xA100-40GB");
  EXPECT_EQ(full.submit(0, "1g.5gb"), "start 0 on whole 0");
  EXPECT_EQ(full.submit(1, "7g.40gb"), "start 1 on whole 1");
  EXPECT_EQ(full.submit(2, "1g.5gb"), "");
  EXPECT_EQ(full.submit(3, "1g.5gb"), "");
  EXPECT_EQ(full.finish(1), "start 2 on whole 1");
  EXPECT_EQ(full.finish(0), "start 3 on whole 0");
  EXPECT_EQ(full.submit(4, "9g.90gb"), "reject 4");
}

TEST(FullGpu, OnMixedFleetsOnlyWhereTheRequestFits) {
  EngineDriver full("full-gpu", "1xA30-24GB,1xA100-40GB");
  EXPECT_EQ(full.submit(0, "3g.20gb"), "start 0 on whole 1");
  EXPECT_EQ(full.submit(1, "3g.20gb"), "");
}

/// Says at the second report that the job will need 12,000 MiB, and counts whom it forgets.
class SecondReport final : public Forecaster {
 public:
  std::optional<ExpectedPeak> report(JobId job, const MemoryReport&) override {
    if (++reports[job] < 2) return std::nullopt;
    return ExpectedPeak{MiB{12000}, MiB{12000}};
  }
  void forget(JobId job) override {
    reports[job] = 0;
    ++forgotten;
  }
  std::map<JobId, int> reports;
  int forgotten = 0;
};

class Restartable final : public JobFacts {
  [[nodiscard]] bool restartable(JobId) const override { return true; }
};

TEST(Engine, StopsAJobBeforeItRunsOutAndForgetsWhatItSaid) {
  const FleetFile file = *parse_fleet_in_short("2xA100-40GB", *ProfileChoice::parse("plain"));
  const Fleet fleet(file);
  RequestTable requests(file.geometries);
  const Restartable facts;
  SecondReport forecaster;
  const SchedulerSpec spec = *parse_scheduler("scheme-b");
  Engine engine = *Engine::make(spec, {fleet, requests, true, &facts}, requests, &forecaster);
  std::vector<Command> commands;
  const auto told = [&](const Event& event) {
    commands.clear();
    engine.on(event, Instant{}, commands);
    engine.settle(Instant{}, commands);
    return commands;
  };
  const JobId job{};
  told(Submitted{job, requests.intern({BySize{MiB{4000}, {}}, {}})});
  const MemoryReported held{job, {1, 10, MiB{4100}, MiB{4100}}, MiB{4864}};
  EXPECT_TRUE(told(held).empty());
  // Its GPU is lost: it starts over on the other, and its first report counts as the first.
  EXPECT_EQ(told(GpuLost{GpuId{}}).size(), 2U);
  EXPECT_GE(forecaster.forgotten, 1);
  EXPECT_TRUE(told(held).empty()) << "one report since it started over";
  const auto stopped = told(held);
  ASSERT_FALSE(stopped.empty());
  EXPECT_EQ(std::get<StopJob>(stopped.front()).why, StopJob::Why::forecast);
  const auto* start = std::get_if<StartJob>(&stopped.back());
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(fleet.geometry(fleet[start->gpu])[start->placement].profile->memory.value, 4)
      << "20 GB hold 12,000 MiB";
}

/// Says at each report that the job will need as much as it holds now.
class LastReport final : public Forecaster {
 public:
  std::optional<ExpectedPeak> report(JobId, const MemoryReport& report) override {
    return ExpectedPeak{report.held(), report.held()};
  }
  void forget(JobId) override {}
};

TEST(Engine, WarnsOnceOfEachRunOfMemoryThatNoGpuHas) {
  const FleetFile file =
      *parse_fleet_in_short("1xA30-24GB,1xA100-40GB", *ProfileChoice::parse("plain"));
  const Fleet fleet(file);
  RequestTable requests(file.geometries);
  for (const bool restartable : {false, true}) {
    const Restartable may;
    LastReport forecaster;
    const SchedulerSpec spec = *parse_scheduler("scheme-b");
    Engine engine = *Engine::make(spec, {fleet, requests, true, restartable ? &may : nullptr},
                                  requests, &forecaster);
    const auto told = [&](const Event& event) {
      std::vector<Command> commands;
      engine.on(event, Instant{}, commands);
      engine.settle(Instant{}, commands);
      return CommandWords(fleet).text(commands);
    };
    const JobId job{};
    const auto holds = [&](std::int64_t mib) {
      return told(MemoryReported{job, {1, 10, MiB{mib}, MiB{mib}}, MiB{40192}});
    };
    told(Submitted{job, requests.intern({ByProfile{"7g.40gb"}, {}})});
    EXPECT_EQ(holds(40192), "") << "it holds that where it is";
    EXPECT_EQ(holds(41000), "warn of 41000 MiB for 0");
    EXPECT_EQ(holds(42000), "") << "it was said";
    told(GpuLost{GpuId{1}});
    EXPECT_EQ(told(GpuReturned{GpuId{1}}).find("create 1 7g.40gb"), 0U);
    EXPECT_EQ(holds(43000), "warn of 43000 MiB for 0") << "another run";
    EXPECT_EQ(told(Finished{job}), "");
  }
}

TEST(SchedulerSpec, IsCheckedBeforeAnythingRuns) {
  EXPECT_EQ(parse_scheduler("onlin").error().text(),
            "there is no scheduler 'onlin'; did you mean 'online'?");
  EXPECT_EQ(
      parse_scheduler("online:threshold").error().text(),
      "scheduler 'online:threshold': 'threshold' is not an option; write NAME:key=value;key=value");
  EXPECT_EQ(parse_scheduler("online:treshold=1").error().message,
            "scheduler online has no option 'treshold'");
  EXPECT_EQ(parse_scheduler("online:load=compute;load=memory").error().message,
            "load is given twice");
  EXPECT_EQ(parse_schedulers("online,full-gpu")->size(), 2U);
  EXPECT_FALSE(parse_schedulers("online,online"));
  EXPECT_FALSE(parse_schedulers("online,"));
  const auto bad_value = parse_scheduler("online:threshold=7");
  ASSERT_TRUE(bad_value);
  const FleetFile file = *parse_fleet_in_short("1xA30-24GB", {});
  const Fleet fleet(file);
  const RequestTable requests(file.geometries);
  EXPECT_EQ(make_scheduler(*bad_value, {fleet, requests}).error().text(),
            "scheduler 'online:threshold=7': threshold: '7' is not a number from 0 to 1");
}

}  // namespace
}  // namespace cleave
