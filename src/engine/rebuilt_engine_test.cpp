// What each scheduler does with jobs that run already, and with GPUs that are drained, refuse or
// rest. That nothing is ever lost is for tests/laws.

#include <gtest/gtest.h>

#include "engine/command_words_test.hpp"
#include "engine/engine.hpp"
#include "model/layout_text.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

/// An engine on GPUs of which the first has these instances of ours. Answers as text.
class Begun {
 public:
  explicit Begun(std::string_view spec, std::string_view instances,
                 std::string_view fleet = "1xA100-40GB")
      : file_(furnished(fleet, instances)),
        fleet_(file_),
        requests_(file_.geometries),
        engine_(*Engine::make(*parse_scheduler(spec), {fleet_, requests_}, requests_, nullptr)) {}

  RequestId request(std::string profile) {
    return requests_.intern({ByProfile{std::move(profile)}, {}});
  }
  PlacementId place(std::string_view text) const {
    const Geometry& geometry = file_.geometries.front();
    const auto written = parse_layout(text, geometry);
    const auto& [profile, start] = written->front();
    return *geometry.find(*profile, start);
  }

  std::string adopt(unsigned job, const std::string& profile, std::string_view at) {
    return answer(Adopted{static_cast<JobId>(job), request(profile), GpuId{0}, place(at)});
  }
  std::string submit(unsigned job, const std::string& profile) {
    return answer(Submitted{static_cast<JobId>(job), request(profile)});
  }
  std::string finish(unsigned job) { return answer(Finished{static_cast<JobId>(job)}); }

  std::string answer(const Event& event, Instant now = {}) {
    std::vector<Command> commands;
    engine_.on(event, now, commands);
    engine_.settle(now, commands);
    return CommandWords(fleet_).text(commands);
  }

 private:
  static FleetFile furnished(std::string_view fleet, std::string_view instances) {
    FleetFile file = *parse_fleet_in_short(fleet, *ProfileChoice::parse("plain"));
    const Geometry& geometry = file.geometries.front();
    const auto written = parse_layout(instances, geometry);
    for (const auto& [profile, start] : *written) {
      InstanceEntry entry;
      entry.placement = *geometry.find(*profile, start);
      file.gpus.front().instances.push_back(entry);
    }
    return file;
  }

  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  Engine engine_;
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
