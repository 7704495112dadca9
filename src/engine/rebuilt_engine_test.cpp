// What each scheduler does with jobs that run already, and with GPUs that are drained, refuse or
// rest. That nothing is ever lost is for tests/laws.

#include <gtest/gtest.h>

#include "engine/engine_driver_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

/// An engine on GPUs of which the first has these instances of ours.
class Begun : public EngineDriver {
 public:
  Begun(std::string_view spec, std::string_view instances, std::string_view fleet = "1xA100-40GB")
      : Begun(spec, instances, in_short(fleet)) {}

  PlacementId place(std::string_view text) const {
    const auto written = parse_layout(text, geometry_);
    const auto& [profile, start] = written->front();
    return *geometry_.find(*profile, start);
  }
  std::string adopt(unsigned job, const std::string& profile, std::string_view at) {
    return answer(Adopted{static_cast<JobId>(job), request(profile), GpuId{0}, place(at)});
  }

 private:
  Begun(std::string_view spec, std::string_view instances, FleetFile file)
      : EngineDriver(spec, furnished(file, instances)), geometry_(file.geometries.front()) {}

  static FleetFile furnished(FleetFile file, std::string_view instances) {
    const Geometry& geometry = file.geometries.front();
    const auto written = parse_layout(instances, geometry);
    for (const auto& [profile, start] : *written) {
      InstanceEntry entry;
      entry.placement = *geometry.find(*profile, start);
      file.gpus.front().instances.push_back(entry);
    }
    return file;
  }

  Geometry geometry_;
};

TEST(RebuiltEngine, FullGpuWaitsUntilTheGpuIsEmpty) {
  Begun full("full-gpu", "1g.5gb@6,2g.10gb@4");
  EXPECT_EQ(full.adopt(0, "1g.5gb", "1g.5gb@6"), "");
  EXPECT_EQ(full.adopt(1, "1g.5gb", "2g.10gb@4"), "");
  EXPECT_EQ(full.submit(2, "7g.40gb"), "");
  EXPECT_EQ(full.finish(0), "");
  EXPECT_EQ(full.finish(1), "destroy 0 2g.10gb@4, destroy 0 1g.5gb@6, start 2 on whole 0");
}

TEST(RebuiltEngine, StaticMakesItsLayoutAsFarAsItCanAndTheRestLater) {
  Begun fixed("static:layout=3g.20gb@0+3g.20gb@4", "4g.20gb@0");
  EXPECT_EQ(fixed.adopt(0, "3g.20gb", "4g.20gb@0"), "create 0 3g.20gb@4");
  EXPECT_EQ(fixed.submit(1, "3g.20gb"), "start 1 on 0 3g.20gb@4");
  EXPECT_EQ(fixed.submit(2, "3g.20gb"), "");
  EXPECT_EQ(fixed.finish(0), "destroy 0 4g.20gb@0, create 0 3g.20gb@0, start 2 on 0 3g.20gb@0");
}

TEST(RebuiltEngine, SchemeAGoesOnServingTheClass) {
  Begun scheme("scheme-a", "1g.5gb@0,1g.5gb@1,1g.5gb@2");
  EXPECT_EQ(scheme.adopt(0, "1g.5gb", "1g.5gb@1"), "");
  EXPECT_EQ(scheme.submit(1, "1g.5gb"), "start 1 on 0 1g.5gb@0");
  EXPECT_EQ(scheme.submit(2, "3g.20gb"), "") << "another class";
}

TEST(RebuiltEngine, SchemeACutsAMixedGpuWhenItIsEmpty) {
  Begun scheme("scheme-a", "1g.5gb@0,2g.10gb@4");
  EXPECT_EQ(scheme.adopt(0, "2g.10gb", "2g.10gb@4"), "");
  EXPECT_EQ(scheme.submit(1, "1g.5gb"), "");
  EXPECT_TRUE(scheme.finish(0).ends_with("start 1 on 0 1g.5gb@0"));
}

TEST(RebuiltEngine, ASharedInstanceKeepsTheGpuFromWork) {
  Begun online("online", "7g.40gb@0", "2xA100-40GB");
  EXPECT_EQ(online.adopt(0, "1g.5gb", "7g.40gb@0"), "");
  EXPECT_EQ(online.adopt(1, "1g.5gb", "7g.40gb@0"), "");
  EXPECT_EQ(online.finish(0), "");
  EXPECT_EQ(online.submit(2, "7g.40gb"), "create 1 7g.40gb@0, start 2 on 1 7g.40gb@0");
  EXPECT_EQ(online.submit(3, "7g.40gb"), "");
  EXPECT_EQ(online.finish(1), "start 3 on 0 7g.40gb@0") << "the instance is idle now";
}

TEST(RebuiltEngine, AWholeGpuIsLeftAloneUntilItsJobEnds) {
  for (const char* spec :
       {"online", "scheme-a", "scheme-b", "static", "miso:measure=0", "dyna-p", "oracle"}) {
    Begun engine(spec, "");
    EXPECT_EQ(engine.answer(Adopted{JobId{0}, engine.request("1g.5gb"), GpuId{0}, std::nullopt}),
              "")
        << spec;
    EXPECT_EQ(engine.submit(1, "1g.5gb"), "") << spec;
    EXPECT_NE(engine.finish(0).find("start 1 on 0 "), std::string::npos) << spec;
  }
}

TEST(RebuiltEngine, ADrainedGpuTakesNoWorkUntilItIsUndrained) {
  for (const SchedulerRow& row : schedulers()) {
    Begun engine(row.name, "");
    EXPECT_EQ(engine.answer(GpuDrained{GpuId{0}}), "") << row.name;
    EXPECT_EQ(engine.submit(0, "1g.5gb"), "") << row.name;
    EXPECT_EQ(engine.submit(1, "1g.5gb"), "") << row.name;
    EXPECT_EQ(engine.answer(GpuLost{GpuId{0}}), "") << row.name;
    EXPECT_EQ(engine.answer(GpuReturned{GpuId{0}}), "") << row.name << ": it is drained still";
    EXPECT_EQ(engine.answer(Cancelled{JobId{0}}), "") << row.name;
    const std::string answer = engine.answer(GpuUndrained{GpuId{0}});
    EXPECT_NE(answer.find("start 1 on"), std::string::npos) << row.name << ": " << answer;
    EXPECT_EQ(answer.find("start 0"), std::string::npos) << row.name << ": it was cancelled";
  }
}

TEST(RebuiltEngine, AGpuThatRefusesRestsAndIsTriedAgain) {
  Begun engine("scheme-b", "");
  EXPECT_EQ(engine.submit(0, "7g.40gb"), "create 0 7g.40gb@0, start 0 on 0 7g.40gb@0");
  const CreateFailed refused{GpuId{0}, engine.place("7g.40gb@0")};
  EXPECT_EQ(engine.answer(refused), "wake at 1 s");
  EXPECT_EQ(engine.answer(Woken{}, Instant{} + 1s), "create 0 7g.40gb@0, start 0 on 0 7g.40gb@0");
  EXPECT_EQ(engine.answer(refused, Instant{} + 1s), "wake at 3 s") << "twice as long";
  EXPECT_EQ(engine.answer(Woken{}, Instant{} + 2s), "");
  EXPECT_EQ(engine.answer(Woken{}, Instant{} + 3s), "create 0 7g.40gb@0, start 0 on 0 7g.40gb@0");
}

TEST(RebuiltEngine, AJobOfAVanishedInstanceWaitsAgain) {
  Begun engine("online", "2g.10gb@4");
  EXPECT_EQ(engine.adopt(0, "2g.10gb", "2g.10gb@4"), "");
  EXPECT_EQ(engine.answer(InstanceVanished{GpuId{0}, engine.place("2g.10gb@4")}),
            "create 0 2g.10gb@4, start 0 on 0 2g.10gb@4");
}

TEST(RebuiltEngine, WhatIsPausedGoesOnInItsOrder) {
  Begun engine("online", "", "2xA100-40GB");
  EXPECT_EQ(engine.answer(Paused{}), "");
  EXPECT_EQ(engine.submit(0, "7g.40gb"), "");
  EXPECT_EQ(engine.submit(1, "7g.40gb"), "");
  EXPECT_EQ(
      engine.answer(Resumed{}),
      "create 0 7g.40gb@0, start 0 on 0 7g.40gb@0, create 1 7g.40gb@0, start 1 on 1 7g.40gb@0");
}

}  // namespace
}  // namespace cleave
