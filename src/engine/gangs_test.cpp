// Jobs of several places and of whole GPUs, by hand: they start, end and are lost together. That
// they start when they can is for queue/backfill_test.cpp.

#include <gtest/gtest.h>

#include <set>

#include "engine/engine_driver_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

Request several(std::string profile, std::uint32_t places, Together together = Together::anywhere) {
  Request request{ByProfile{std::move(profile)}, {}};
  request.places = places;
  request.together = together;
  return request;
}

Request whole(std::uint32_t places, Together together = Together::anywhere) {
  Request request{WholeGpu{}, {}};
  request.places = places;
  request.together = together;
  return request;
}

class GangDriver : public EngineDriver {
 public:
  explicit GangDriver(std::string_view spec, std::string_view fleet = "1xA100-40GB")
      : GangDriver(spec, in_short(fleet)) {}
  GangDriver(std::string_view spec, FleetFile fleet, Forecaster* forecaster = nullptr,
             std::vector<GpuReservation> reservations = {})
      : EngineDriver(spec, std::move(fleet), {true, forecaster, std::move(reservations)}) {}
};

TEST(Gangs, StartAndEndTogether) {
  GangDriver online("online");
  EXPECT_EQ(online.submit(1, several("3g.20gb", 2)),
            "create 0 3g.20gb@4, start 1 on 0 3g.20gb@4, create 0 3g.20gb@0, start 100 on 0 "
            "3g.20gb@0");
  EXPECT_EQ(online.submit(2, several("1g.5gb", 3)), "");
  EXPECT_EQ(online.submit(3, several("3g.20gb", 2)), "");
  EXPECT_EQ(online.finish(1),
            "destroy 0 3g.20gb@4, create 0 1g.5gb@6, start 2 on 0 1g.5gb@6, create 0 1g.5gb@4, "
            "start 200 on 0 1g.5gb@4, create 0 1g.5gb@5, start 201 on 0 1g.5gb@5");
  EXPECT_EQ(online.cancel(3), "");
  EXPECT_EQ(online.finish(2), "");
}

TEST(Gangs, NothingStartsUntilAllFit) {
  for (const char* spec : {"online", "scheme-b", "static:layout=2g.10gb@0+2g.10gb@2+2g.10gb@4"}) {
    SCOPED_TRACE(spec);
    GangDriver engine(spec);
    engine.submit(1, several("2g.10gb", 1));
    EXPECT_EQ(engine.submit(2, several("2g.10gb", 3)), "");
    EXPECT_EQ(engine.submit(3, several("2g.10gb", 1)), "");  // no job overtakes it
    const std::string started = engine.finish(1);
    for (const char* start : {"start 2 on", "start 200 on", "start 201 on"})
      EXPECT_NE(started.find(start), std::string::npos) << started;
    EXPECT_EQ(started.find("start 3 "), std::string::npos) << started;
    EXPECT_NE(engine.finish(2).find("start 3 on"), std::string::npos);
  }
}

TEST(Gangs, WholeGpusUnderFullGpu) {
  GangDriver full("full-gpu", "2xA100-40GB,1xA30-24GB");
  EXPECT_EQ(full.submit(1, whole(3)),
            "start 1 on whole 0, start 100 on whole 1, start 101 on whole 2");
  EXPECT_EQ(full.submit(2, several("1g.5gb", 2)), "");
  EXPECT_EQ(full.finish(1), "start 2 on whole 0, start 200 on whole 1");
  // Its instances are whole GPUs, so none has two.
  EXPECT_EQ(full.submit(3, several("1g.5gb", 2, Together::gpu)), "reject 3");
  EXPECT_EQ(full.reason(), "the fleet never has 2 x 1g.5gb on one GPU at a time");
  EXPECT_EQ(full.submit(4, whole(4)), "reject 4");
  EXPECT_EQ(full.reason(), "the fleet never has 4 whole GPUs at a time");
}

TEST(Gangs, WholeGpusAmongInstances) {
  for (const char* spec : {"online:migration=off", "scheme-b"}) {
    SCOPED_TRACE(spec);
    GangDriver engine(spec, "2xA100-40GB");
    EXPECT_NE(engine.submit(1, "3g.20gb").find("start 1 on 0"), std::string::npos);
    EXPECT_EQ(engine.submit(2, whole(1)), "start 2 on whole 1");
    // No instance is made on it meanwhile.
    EXPECT_NE(engine.submit(3, "3g.20gb").find("start 3 on 0"), std::string::npos);
    EXPECT_EQ(engine.submit(4, "3g.20gb"), "");
    EXPECT_NE(engine.finish(2).find("start 4 on 1"), std::string::npos);
    EXPECT_EQ(engine.submit(5, whole(2)), "");
    EXPECT_EQ(engine.finish(1), "");
    EXPECT_EQ(engine.finish(3), "");
    const std::string started = engine.finish(4);
    // Idle instances go first.
    EXPECT_LT(started.find("destroy 0"), started.find("start 5 on whole 0")) << started;
    EXPECT_LT(started.find("destroy 1"), started.find("start 500 on whole 1")) << started;
    EXPECT_EQ(engine.lose(1), "stop 5");
    EXPECT_NE(engine.submit(6, "1g.5gb"), "reject 6");
    EXPECT_EQ(engine.recover(1), "start 5 on whole 0, start 500 on whole 1");
  }
}

TEST(Gangs, AreLostTogether) {
  GangDriver online("online", "3xA100-40GB");
  EXPECT_NE(online.submit(1, several("7g.40gb", 2)).find("start 100 on 1"), std::string::npos);
  EXPECT_NE(online.submit(2, "7g.40gb").find("start 2 on 2"), std::string::npos);
  EXPECT_EQ(online.submit(3, "1g.5gb"), "");
  // The other process is stopped, and the gang waits ahead of what came later.
  EXPECT_EQ(online.lose(1), "stop 1");
  EXPECT_EQ(online.finish(2), "start 1 on 0 7g.40gb@0, start 100 on 2 7g.40gb@0");
  const auto instance = static_cast<PlacementId>(0);
  EXPECT_EQ(online.answer(InstanceVanished{GpuId{0}, instance}),
            "stop 100, create 0 7g.40gb@0, start 1 on 0 7g.40gb@0, start 100 on 2 7g.40gb@0");
  EXPECT_NE(online.recover(1).find("start 3 on 1"), std::string::npos);
}

TEST(Gangs, WaitAgainWhenAnInstanceIsNotMade) {
  GangDriver online("online", "2xA100-40GB");
  ASSERT_EQ(online.submit(1, several("7g.40gb", 2)),
            "create 0 7g.40gb@0, start 1 on 0 7g.40gb@0, create 1 7g.40gb@0, start 100 on 1 "
            "7g.40gb@0");
  EXPECT_EQ(online.answer(CreateFailed{GpuId{1}, PlacementId{0}}), "wake at 1 s, stop 1");
  EXPECT_EQ(online.answer(Woken{}, Instant{1s}),
            "start 1 on 0 7g.40gb@0, create 1 7g.40gb@0, start 100 on 1 7g.40gb@0");
  GangDriver full("full-gpu", "2xA100-40GB");
  ASSERT_EQ(full.submit(1, whole(2)), "start 1 on whole 0, start 100 on whole 1");
  EXPECT_EQ(full.answer(CreateFailed{GpuId{0}, std::nullopt}), "wake at 1 s, stop 100");
  EXPECT_EQ(full.answer(Woken{}, Instant{1s}), "start 1 on whole 0, start 100 on whole 1");
}

TEST(Gangs, NeedMoreMemoryTogether) {
  GangDriver online("online", "2xA100-40GB");
  ASSERT_NE(online.submit(1, several("1g.5gb", 2)).find("start 100 on 0"), std::string::npos);
  const std::string larger = online.run_out(100, 4864);
  EXPECT_EQ(larger.find("stop 1, "), 0U) << larger;
  for (const char* start : {"start 1 on 0 ", "start 100 on 0 "})
    EXPECT_NE(larger.find(start), std::string::npos) << larger;
  EXPECT_EQ(larger.find("create 0 1g.5gb"), std::string::npos) << larger;
  // Where there is nothing larger, the job has failed, by its own number.
  EXPECT_EQ(online.run_out(100, 80000), "stop 1, fail 1");
  EXPECT_NE(online.submit(2, several("3g.20gb", 4)).find("start 202 on"), std::string::npos);
}

/// Every job will need as much as it reports, and twice that is to be asked for.
class Doubles final : public Forecaster {
 public:
  std::optional<ExpectedPeak> report(JobId /*job*/, const MemoryReport& report) override {
    return ExpectedPeak{report.allocated, MiB{2 * report.allocated.value}};
  }
  void forget(JobId job) override { forgotten.insert(job); }
  std::set<JobId> forgotten;
};

TEST(Gangs, AreStoppedEarlyTogether) {
  Doubles forecaster;
  GangDriver online("online", EngineDriver::in_short("2xA100-40GB"), &forecaster);
  ASSERT_NE(online.submit(1, several("1g.5gb", 3)).find("start 101 on 0"), std::string::npos);
  MemoryReport report;
  report.allocated = MiB{8000};
  forecaster.forgotten.clear();
  const std::string larger = online.answer(MemoryReported{JobId{101}, report, MiB{4864}});
  EXPECT_EQ(larger.find("stop 101, stop 1, stop 100, "), 0U) << larger;
  for (const char* start : {"start 1 on", "start 100 on", "start 101 on"})
    EXPECT_NE(larger.find(start), std::string::npos) << larger;
  EXPECT_NE(larger.find("3g.20gb"), std::string::npos) << larger;
  EXPECT_EQ(forecaster.forgotten.size(), 3U);
}

TEST(Gangs, KeepToReservations) {
  const GpuReservation of_ann{GpuId{0}, Instant{}, Instant{100s}, "ann"};
  GangDriver full("full-gpu", EngineDriver::in_short("3xA100-40GB"), nullptr, {of_ann});
  EXPECT_EQ(full.submit(1, whole(3), 0, "bob"), "wake at 100 s");
  // Hers does not wait for his, on her own GPU alone.
  EXPECT_EQ(full.submit(2, whole(1), 0, "ann"), "start 2 on whole 0");
  EXPECT_EQ(full.submit(3, whole(2), 0, "ann"), "");
  EXPECT_EQ(full.finish(2), "");
  EXPECT_EQ(full.answer(Woken{}, Instant{100s}),
            "start 1 on whole 0, start 100 on whole 1, start 101 on whole 2");
  EXPECT_EQ(full.answer(Finished{JobId{1}}, Instant{101s}),
            "start 3 on whole 0, start 300 on whole 1");
  GangDriver online("online", EngineDriver::in_short("2xA100-40GB"), nullptr, {of_ann});
  EXPECT_NE(online.submit(1, several("1g.5gb", 9), 0, "ann").find("start 107 on 1"),
            std::string::npos);
  EXPECT_NE(online.submit(2, several("1g.5gb", 4), 0, "bob").find("start 202 on 1"),
            std::string::npos);
  EXPECT_EQ(online.submit(3, several("1g.5gb", 2), 0, "bob"), "");
}

TEST(Gangs, AreAdoptedWholeOrNotAtAll) {
  const auto furnished = [] {
    FleetFile file = EngineDriver::in_short("2xA100-40GB");
    InstanceEntry instance;
    instance.placement = PlacementId{0};  // 7g.40gb@0
    for (GpuEntry& gpu : file.gpus) gpu.instances.push_back(instance);
    return file;
  };
  for (const bool all : {true, false}) {
    SCOPED_TRACE(all);
    GangDriver online("online", furnished());
    online.know_gang(1, 2);
    const RequestId request = online.request(several("7g.40gb", 2));
    std::vector<Command> commands;
    online.tell(Adopted{JobId{1}, request, GpuId{0}, PlacementId{0}}, commands);
    if (all) online.tell(Adopted{JobId{100}, request, GpuId{1}, PlacementId{0}}, commands);
    EXPECT_TRUE(commands.empty());
    EXPECT_EQ(online.submit(2, "7g.40gb"),
              all ? "" : "stop 1, start 1 on 0 7g.40gb@0, start 100 on 1 7g.40gb@0");
    EXPECT_NE(online.finish(1).find("start 2 on 0"), std::string::npos);
  }
}

TEST(Gangs, OnWholeGpusAreAdopted) {
  GangDriver online("online", "2xA100-40GB");
  online.know_gang(1, 2);
  const RequestId request = online.request(whole(2));
  std::vector<Command> commands;
  online.tell(Adopted{JobId{1}, request, GpuId{0}, std::nullopt}, commands);
  online.tell(Adopted{JobId{100}, request, GpuId{1}, std::nullopt}, commands);
  EXPECT_EQ(online.submit(2, "1g.5gb"), "");
  EXPECT_EQ(online.finish(1), "create 0 1g.5gb@6, start 2 on 0 1g.5gb@6");
}

TEST(Gangs, ThatASchedulerDoesNotTakeAreTurnedAway) {
  for (const char* spec : {"miso", "dyna-p", "scheme-a"}) {
    GangDriver engine(spec);
    EXPECT_EQ(engine.submit(1, several("1g.5gb", 2)), "reject 1");
    EXPECT_EQ(engine.reason(), std::string("scheduler '") + spec +
                                   "' takes no jobs of several GPUs or instances, nor of whole "
                                   "GPUs");
    EXPECT_EQ(engine.submit(2, whole(1)), "reject 2");
  }
  GangDriver fixed("static", "2xA100-40GB");
  EXPECT_EQ(fixed.submit(1, whole(1)).find("reject 1"), 0U);
  EXPECT_EQ(fixed.reason(), "its instances are fixed: no GPU has MIG off");
  EXPECT_EQ(fixed.submit(2, several("4g.20gb", 3)), "reject 2");
  GangDriver standing("online:dynamic=off");
  EXPECT_EQ(standing.submit(1, whole(1)), "reject 1");
  EXPECT_EQ(standing.reason(), "instances stay as they are, so no GPU is whole");
  GangDriver online("online");
  EXPECT_EQ(online.submit(1, several("1g.5gb", 9, Together::gpu)), "reject 1");
  EXPECT_EQ(online.submit(2, several("1g.5gb", 2, Together::spread)), "reject 2");
  EXPECT_NE(online.submit(3, several("1g.5gb", 7, Together::gpu)).find("start 305 on 0"),
            std::string::npos);
}

TEST(Gangs, CountOnceForTheLimitOfTheirUser) {
  GangDriver full("full-gpu:user-jobs=1", "4xA100-40GB");
  EXPECT_EQ(full.submit(1, whole(2), 0, "ann"), "start 1 on whole 0, start 100 on whole 1");
  EXPECT_EQ(full.submit(2, whole(1), 0, "ann"), "");
  EXPECT_EQ(full.submit(3, whole(1), 0, "bob"), "start 3 on whole 2");
  EXPECT_TRUE(full.outlook(2).user_at_limit);
  // It goes on before her other job.
  EXPECT_EQ(full.lose(0), "stop 100, start 1 on whole 1, start 100 on whole 3");
  EXPECT_EQ(full.recover(0), "");
  EXPECT_EQ(full.finish(1), "start 2 on whole 0");
}

TEST(Gangs, AreChargedForAllTheirSlices) {
  GangDriver full("full-gpu:order=fair-share", "4xA100-40GB");
  EXPECT_EQ(full.submit(1, whole(3), 0, "ann"),
            "start 1 on whole 0, start 100 on whole 1, start 101 on whole 2");
  EXPECT_EQ(full.submit(2, whole(1), 0, "bob"), "start 2 on whole 3");
  EXPECT_EQ(full.submit(3, whole(1), 0, "ann"), "");
  EXPECT_EQ(full.submit(4, whole(1), 0, "bob"), "");
  EXPECT_EQ(full.answer(Finished{JobId{2}}, Instant{10s}), "start 4 on whole 3");
}

TEST(Gangs, OfHigherPriorityGoFirst) {
  GangDriver full("full-gpu", "2xA100-40GB");
  EXPECT_EQ(full.submit(1, whole(1)), "start 1 on whole 0");
  EXPECT_EQ(full.submit(2, whole(2)), "");
  EXPECT_EQ(full.submit(3, whole(2), 1), "");
  EXPECT_EQ(full.finish(1), "start 3 on whole 0, start 300 on whole 1");
}

TEST(Gangs, HaveAPlaceKeptForEachProcess) {
  GangDriver full("full-gpu:backfill=easy", "3xA100-40GB");
  EXPECT_EQ(full.submit(1, whole(1)), "start 1 on whole 0");
  EXPECT_EQ(full.submit(2, whole(3)), "");
  EXPECT_EQ(full.submit(3, whole(1)), "");  // its time is not known
  ASSERT_TRUE(full.outlook(2).kept);
  EXPECT_EQ(full.outlook(2).kept->places, 3U);
  EXPECT_FALSE(full.outlook(2).kept->from);
  EXPECT_EQ(full.cancel(2), "start 3 on whole 1");
}

}  // namespace
}  // namespace cleave
